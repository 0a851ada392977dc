"""The version of this code, and whether the database is of the same.

The last process that brought the tables up to date wrote its version (`Release`). A process of
another version must not work on the rows: it would read and write them by other rules.
"""

from __future__ import annotations

import logging
import shutil
import subprocess
from functools import cache

from django.conf import settings
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.models.functions import Now

from benchmarks.models import Host, Release

logger = logging.getLogger(__name__)


@cache
def code_commit() -> str:
    """Return the commit this process runs, with `+changes` if the tree differs; "" outside git."""
    commit = head_commit()
    return f"{commit}+changes" if commit and _git("status", "--porcelain") else commit


@cache
def head_commit() -> str:
    """Return the commit that is checked out, whatever was changed since; "" outside git."""
    return _git("rev-parse", "HEAD")[:12]


def code_version() -> str:
    """Return "0.6.0 1a2b3c4d5e6f", without the commit if git does not know it."""
    return f"{settings.CODE_VERSION} {head_commit()}".strip()


def write_release() -> None:
    """Note that this code has brought the tables up to date."""
    Release.objects.update_or_create(
        pk=1, defaults={"version": code_version(), "migrated_at": Now()}
    )


def is_released() -> bool:
    """Whether it was this very version that brought the tables up to date last."""
    return Release.objects.filter(version=code_version()).exists()


def say_version(host_id: int) -> str:
    """Store why the host's worker, this process, takes no work, and return it; "" if it does."""
    version = code_version()
    why = "" if is_released() else difference()
    hosts = Host.objects.filter(pk=host_id).exclude(idle_reason=why, code_version=version)
    if hosts.update(idle_reason=why, code_version=version):
        if why:
            logger.error("this worker takes no work: %s", why)
        else:
            logger.info("this worker takes work: its version, %s, is the database's", version)
    return why


def tables_lack() -> str:
    """Return in a line which migrations the database lacks; "" if none. Raises Error."""
    of_code, applied = _migrations()
    if not (missing := sorted(of_code - applied)):
        return ""
    return (
        f"the database lacks migrations of this code, {code_version()} (such as "
        f"{'.'.join(missing[0])}): run `.venv/bin/python manage.py migrate` where the "
        "dashboard runs"
    )


def tables_differ() -> str:
    """Return why this code cannot use the tables, in one line; "" if it can. Raises Error."""
    of_code, applied = _migrations()
    apps = {app for app, _ in of_code}  # one that was removed since leaves its rows behind
    newer = sorted(key for key in applied - of_code if key[0] in apps)
    if newer and not (of_code - applied):
        return (
            f"the database has migrations of a newer version (such as {'.'.join(newer[-1])}): "
            f"update this code, {code_version()}"
        )
    return tables_lack()


def difference() -> str:
    """Like `tables_differ`, also for code of another version with the same tables."""
    if found := tables_differ():
        return found
    release, ours = Release.objects.first(), code_version()
    theirs = release.version if release else ours
    # Where one of the two has no commit, their numbers are compared.
    if all(one == other for one, other in zip(theirs.split(), ours.split(), strict=False)):
        return ""
    return (
        f"the database was migrated by version {theirs}, this code is {ours}: update it and start "
        "it again, or run `.venv/bin/python manage.py migrate` with this version"
    )


def _migrations() -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """Return the migrations of this code, and those that the database has; (app, name) each."""
    loader = MigrationLoader(connection)
    return set(loader.disk_migrations), set(loader.applied_migrations)


def _git(*arguments: str) -> str:
    """Return git's answer; "" where there is no git or it fails."""
    git = shutil.which("git")
    if git is None:
        return ""
    # safe.directory: a worker that is root runs the code of this checkout, so it trusts its owner.
    # No locks: an index that root wrote may be closed to the owner.
    options = "--no-optional-locks", "-c", f"safe.directory={settings.BASE_DIR}"
    try:
        done = subprocess.run(
            [git, *options, *arguments],
            cwd=settings.BASE_DIR,
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
        )
    except subprocess.SubprocessError:
        return ""
    return done.stdout.strip()

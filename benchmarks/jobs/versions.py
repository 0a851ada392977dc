"""Whether this code and the database are of one version.

The last process that brought the tables up to date wrote its version (`Release`). A process of
another version must not work on the rows: it would read and write them by other rules.
"""

from __future__ import annotations

import logging

from django.conf import settings
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.models.functions import Now

from benchmarks.jobs.provenance import head_commit
from benchmarks.models import Host, Release

logger = logging.getLogger(__name__)


def code_version() -> str:
    """Return "0.6.0 1a2b3c4d5e6f", without the commit if git does not know it."""
    return f"{settings.CODE_VERSION} {head_commit()}".strip()


def write_release() -> None:
    """The tables are those of this code now."""
    Release.objects.update_or_create(
        pk=1, defaults={"version": code_version(), "migrated_at": Now()}
    )


def is_released() -> bool:
    """Whether it was this very version that brought the tables up to date last."""
    return Release.objects.filter(version=code_version()).exists()


def say_version(host_id: int) -> str:
    """Why the host's worker, this process, takes no work; "" if it does. Stored with the host."""
    version = code_version()
    why = "" if is_released() else difference()
    there = Host.objects.filter(pk=host_id).exclude(idle_reason=why, code_version=version)
    if there.update(idle_reason=why, code_version=version):
        if why:
            logger.error("this worker takes no work: %s", why)
        else:
            logger.info("this worker takes work: its version, %s, is the database's", version)
    return why


def tables_lack() -> str:
    """Which migrations the database lacks, in one line for people; "" if none. Raises Error."""
    of_code, applied = _migrations()
    if missing := sorted(of_code - applied):
        return (
            f"the database lacks migrations of this code, {code_version()} (such as "
            f"{'.'.join(missing[0])}): run `.venv/bin/python manage.py migrate` where the "
            "dashboard runs"
        )
    return ""


def tables_differ() -> str:
    """Why this code cannot use the tables, in one line for people; "" if it can. Raises Error."""
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
    release = Release.objects.first()
    if release is None or _agree(release.version, code_version()):
        return ""
    return (
        f"the database was migrated by version {release.version}, this code is "
        f"{code_version()}: update it and start it again, or run "
        "`.venv/bin/python manage.py migrate` with this version"
    )


def _agree(one: str, other: str) -> bool:
    """Compare numbers only where one of the two versions has no commit."""
    parts = min(len(one.split()), len(other.split()))
    return one.split()[:parts] == other.split()[:parts]


def _migrations() -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """The migrations of this code, and those that the database has; (app, name) each."""
    loader = MigrationLoader(connection)
    return set(loader.disk_migrations), set(loader.applied_migrations)

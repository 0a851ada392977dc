"""The version of the code that measured: the git commit, if there is one."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache

from django.conf import settings


@cache
def code_commit() -> str:
    """The commit this process runs, with `+changes` when the tree differs; "" outside git."""
    commit = head_commit()
    return f"{commit}+changes" if commit and _git("status", "--porcelain") else commit


@cache
def head_commit() -> str:
    """The commit that is checked out, whatever was changed since; "" outside git."""
    return _git("rev-parse", "HEAD")[:12]


def _git(*arguments: str) -> str:
    """Return git's answer; "" where there is no git or it fails."""
    git = shutil.which("git")
    if git is None:
        return ""
    # Whoever runs the code of a checkout trusts it, as its worker does that is root; it only reads
    # there: an index that root wrote may be closed to the checkout's owner.
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

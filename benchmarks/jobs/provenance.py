"""The version of the code that measured: the git commit, if there is one."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache

from django.conf import settings


@cache
def code_commit() -> str:
    """The commit this process runs, with `+changes` when the tree differs; "" outside git."""
    git = shutil.which("git")
    if git is None:
        return ""
    try:
        commit = _git(git, "rev-parse", "HEAD")
        return f"{commit[:12]}+changes" if _git(git, "status", "--porcelain") else commit[:12]
    except subprocess.SubprocessError:
        return ""


def _git(*command: str) -> str:
    done = subprocess.run(
        command,
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        check=True,
        timeout=10,
    )
    return done.stdout.strip()

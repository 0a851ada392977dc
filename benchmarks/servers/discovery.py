"""Finds servers: on PATH, or installed by set-up."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

# Packages put mysqld where an ordinary user's PATH does not look.
_SERVER_FOLDERS = ("/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/usr/local/mysql/bin")
_INSTALLED = (Path("mysql") / "mysqld", Path("mariadb") / "mariadbd")


def server_candidates(installed_dir: Path, search_path: str | None = None) -> list[Path]:
    """Paths that are probably server programs, the one that studies use by default first.

    `search_path` defaults to PATH and the usual server folders.
    """
    if search_path is None:
        search_path = os.pathsep.join([os.environ.get("PATH", ""), *_SERVER_FOLDERS])
    found = [
        Path(there)
        for name in ("mysqld", "mariadbd")
        if (there := shutil.which(name, path=search_path)) is not None
    ]
    installed = [installed_dir / path for path in _INSTALLED]
    return [*found, *(path for path in installed if path.exists())]

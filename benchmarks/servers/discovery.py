"""Finds the server: named by the user, on PATH, or installed by set-up."""

from __future__ import annotations

import logging
import os
import shutil
from pathlib import Path

from benchmarks.errors import NoServerFound, NotAServer
from benchmarks.servers.binary import ServerBinary, identify

log = logging.getLogger(__name__)

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
    installed = [installed_dir / place for place in _INSTALLED]
    return [*found, *(place for place in installed if place.exists())]


def find_server(
    named: Path | None, installed_dir: Path, search_path: str | None = None
) -> ServerBinary:
    """The server to measure: `named`, else one on `search_path`, else one in `installed_dir`.

    `search_path` as for `server_candidates`. Raises NotAServer when `named` is none (another
    server is never taken instead), NoServerFound when there is none at all.
    """
    if named is not None:
        return identify(named)
    refused: list[str] = []
    for candidate in server_candidates(installed_dir, search_path):
        try:
            return identify(candidate)
        except NotAServer as error:
            log.warning("ignoring a server: %s", error)
            refused.append(str(error))
    why = f" ({'; '.join(refused)})" if refused else ""
    raise NoServerFound(
        f"no mysqld on PATH and none in {installed_dir}{why}; run `make setup`, "
        "or name one with --server"
    )

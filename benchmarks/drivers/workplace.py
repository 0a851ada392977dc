"""The folder that a driver's program works in, as the unprivileged user that servers run as.

That user's server could put anything there. Nothing in it is relied on but plain files of that
user, and deleting it follows no links, as `tempfile.TemporaryDirectory` did.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from benchmarks.ownership import delete, give, open_plain
from benchmarks.processes.users import server_user, uid_of


@contextmanager
def workplace(work_dir: Path) -> Iterator[Path]:
    """A new folder in `work_dir`, which is ours; gone afterwards with all that is in it.

    Write what the program is to find, then `hand_over`.
    """
    work_dir.mkdir(parents=True, exist_ok=True)
    directory = Path(tempfile.mkdtemp(prefix="driver-", dir=work_dir))
    try:
        yield directory
    finally:
        delete(directory)


def hand_over(directory: Path) -> None:
    """Give the folder to the program."""
    give(directory)


def open_result(path: Path) -> IO[bytes]:
    """A file that the program wrote; OSError for anything but its own plain file."""
    return open_plain(path, uid_of(server_user()))

"""Where the worker's processes have the memory that they share.

multiprocessing makes a folder for that in the temporary directory of the machine, and deletes it
when its process ends. One that is killed would leave a folder there each time.
"""

from __future__ import annotations

import secrets
import tempfile
from multiprocessing.util import get_temp_dir
from pathlib import Path

from benchmarks.ownership import delete, free_folders, hold


def share_in(directory: Path) -> None:
    """Have this process, a home's worker, share memory in a folder of its own in `directory`.

    Deletes the folders there of processes that are no more: one that ended by itself left its
    folder empty. To be called before this process shares any memory.
    """
    directory.mkdir(mode=0o700, exist_ok=True)
    for left in free_folders(directory):
        delete(left)
    ours = directory / secrets.token_hex(4)
    ours.mkdir(mode=0o700)
    hold(ours)  # until this process ends
    usual, tempfile.tempdir = tempfile.tempdir, str(ours)
    try:
        get_temp_dir()  # which is made once
    finally:
        tempfile.tempdir = usual

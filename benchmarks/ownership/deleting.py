"""Deleting a tree in which another user may have put anything."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

from benchmarks.ownership.handover import seize
from benchmarks.ownership.walking import opened_directory


def delete(path: Path) -> None:
    """Delete a file, a link or a whole tree, whatever is in it; a link is deleted, not followed.

    The parent must be ours. What cannot be deleted (a mount, a foreign directory where we are not
    root) is left, like anything that is not there; the caller looks if it must know.
    """
    with contextlib.suppress(OSError), opened_directory(path.parent) as parent:
        if not _is_directory(path.name, parent):
            os.unlink(path.name, dir_fd=parent)
            return
        with _seized(path.name, parent) as top:
            _empty(top)
        os.rmdir(path.name, dir_fd=parent)


def _empty(top: int) -> None:
    """Delete everything in an open directory that is ours.

    Folders are first moved up into it, so that neither their depth nor the length of their path
    matters. Each is made ours before its names are read: nobody adds to it afterwards.
    """
    waiting = _unlink_files(top)
    moved = secrets.token_hex(8)  # no name that is there already
    count = 0
    while waiting:
        name = waiting.pop()
        with contextlib.suppress(OSError), _seized(name, top) as folder:
            for inner in _unlink_files(folder):
                count += 1
                # Moving a folder changes its "..", for which it must be writable.
                with contextlib.suppress(OSError), _seized(inner, folder):
                    os.rename(inner, f"{moved}.{count}", src_dir_fd=folder, dst_dir_fd=top)
                    waiting.append(f"{moved}.{count}")
        with contextlib.suppress(OSError):
            os.rmdir(name, dir_fd=top)


@contextlib.contextmanager
def _seized(name: str, parent: int) -> Iterator[int]:
    """A directory, opened and made ours alone."""
    if os.geteuid() != 0:  # root needs no permission; a mode of 0 locks out anybody else
        os.chmod(name, 0o700, dir_fd=parent)
    with opened_directory(name, parent) as directory:
        seize(directory)
        yield directory


def _unlink_files(directory: int) -> list[str]:
    """Delete what is no folder in an open directory, and give the names of those that are."""
    folders = []
    for name in os.listdir(directory):
        if _is_directory(name, directory):
            folders.append(name)
        else:
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=directory)
    return folders


def _is_directory(name: str, parent: int) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False

"""Giving a tree of files to another user, and taking it back.

Given is only what is ours to the last name, so nobody can slip a link in. Taken back is a
directory after the other: from the moment it is ours, nobody else can change the names in it.
"""

from __future__ import annotations

import contextlib
import os
import stat

from benchmarks.errors import LoadFailed
from benchmarks.ownership.walking import MAX_DEPTH, opened, opened_directory


def give(path: str | os.PathLike[str], uid: int, gid: int) -> None:
    """Make a file or a tree of ours another user's, what is innermost first.

    What is that user's already is left as it is: its names are not ours to rely on. The parent
    must be ours. Raises OSError.
    """
    if os.lstat(path).st_uid != uid:
        _give(path, None, uid, gid)


def _give(name: str | os.PathLike[str], parent: int | None, uid: int, gid: int) -> None:
    found = os.stat(name, dir_fd=parent, follow_symlinks=False)
    if stat.S_ISDIR(found.st_mode):
        with opened_directory(name, parent) as directory:
            for inner in os.listdir(directory):
                _give(inner, directory, uid, gid)
            os.fchown(directory, uid, gid)
    elif stat.S_ISREG(found.st_mode):
        with opened(name, os.O_RDONLY, parent) as file:
            os.fchown(file, uid, gid)


def take_back(path: str | os.PathLike[str], uid: int) -> None:
    """Make the tree of the user `uid` ours alone: folders get mode 0700, files 0600.

    The parent must be ours. Raises LoadFailed for what is neither a folder nor a plain file of
    that user under one name: links of both kinds, pipes, sockets, devices, foreign files.
    """
    try:
        _take_back(path, None, uid, str(os.fspath(path)), 0)
    except OSError as error:
        raise LoadFailed(f"{os.fspath(path)} cannot be taken back: {error}") from error


def _take_back(
    name: str | os.PathLike[str], parent: int | None, uid: int, shown: str, depth: int
) -> None:
    found = os.stat(name, dir_fd=parent, follow_symlinks=False)
    if stat.S_ISDIR(found.st_mode) and depth < MAX_DEPTH:
        with opened_directory(name, parent) as directory:
            seize(directory, uid)
            for inner in os.listdir(directory):
                _take_back(inner, directory, uid, f"{shown}/{inner}", depth + 1)
        return
    if not stat.S_ISREG(found.st_mode):
        raise _odd(shown)
    with opened(name, os.O_RDONLY, parent) as file:
        found = os.fstat(file)
        is_its_own = found.st_uid in (uid, os.geteuid())
        if not (stat.S_ISREG(found.st_mode) and is_its_own and found.st_nlink == 1):
            raise _odd(shown)
        os.fchown(file, os.geteuid(), -1)
        os.fchmod(file, 0o600)


def _odd(shown: str) -> LoadFailed:
    return LoadFailed(f"the server left {shown}, which is not a plain file of its own")


def seize(directory: int, uid: int | None = None) -> None:
    """Make an open directory ours alone; of the user `uid` if that is given, else PermissionError.

    Who has it open already can no longer change it either: the right is checked at each change.
    """
    owner = os.fstat(directory).st_uid
    if uid is not None and owner not in (uid, os.geteuid()):
        raise PermissionError(f"a directory belongs to the user {owner}")
    if owner != os.geteuid():
        with contextlib.suppress(PermissionError):  # only root may; else what follows says so
            os.fchown(directory, os.geteuid(), -1)
    os.fchmod(directory, 0o700)

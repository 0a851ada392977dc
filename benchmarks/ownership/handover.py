"""Giving a tree of files to another user, and taking it back.

Given is only what is ours to the last name, so nobody can slip a link in. Taken back is a
directory after the other: from the moment it is ours, nobody else can change the names in it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import time

from benchmarks.errors import LoadFailed
from benchmarks.ownership.walking import MAX_DEPTH, opened, opened_directory
from benchmarks.processes.users import server_user

#: The kernel may let go of the files of a process some moments after its end.
_LAST_WRITES_S = 5.0


def give(path: str | os.PathLike[str]) -> None:
    """Give a file or a tree of ours to the servers' user, what is innermost first.

    What belongs to that user already is left as it is: its names are not ours to rely on. The
    parent must be ours. Raises OSError, NoServerUser.
    """
    user = server_user()
    if user is not None and os.lstat(path).st_uid != user.uid:
        _give(path, None, user.uid, user.gid)


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

    The parent must be ours. Raises LoadFailed for a file that somebody can still write to and for
    what is neither a folder nor a plain file of that user under one name: links of both kinds,
    pipes, sockets, devices, foreign files.
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
        deadline = time.monotonic() + _LAST_WRITES_S
        while _has_a_writer(file):
            if time.monotonic() < deadline:
                time.sleep(0.05)
                continue
            raise LoadFailed(f"{shown} is still open for writing, by a process the server left")


def _has_a_writer(file: int) -> bool:
    """Whether a process can write to a file, opened to read here; False where none can tell.

    The kernel grants a lease for reading only while nobody has the file open for writing.
    """
    try:
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        return error.errno == errno.EAGAIN
    fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return False


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

"""Files between two users: nothing that a server or driver may write is trusted by the worker.

A name is relied on only where nobody but this user and root can change it. Everywhere else files
are used by descriptors, opened without following a link.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import pwd
import secrets
import shlex
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from benchmarks.errors import DeviceUnusable, LoadFailed
from benchmarks.processes.users import server_user, tool

_MAX_LINKS = 40  # as in Linux
#: Servers need three levels of folders; one descriptor is open for each.
_MAX_DEPTH = 32
#: Seconds in which the kernel may still let go of the files of a process that has ended.
_LAST_WRITES_S = 5.0


def trusted_path(path: Path) -> Path:
    """Return `path` without links, if nobody but this user and root can change what is there.

    Judges every directory and link on the way: a user who may write in a directory can rename
    what is in it. Raises DeviceUnusable, with the command that fixes it; OSError if it is not
    there.
    """
    here, links = Path("/"), 0
    left = list(reversed(path.absolute().parts))
    while left:
        name = left.pop()
        if name == "..":  # of a link; a path's own are taken as they are
            here = here.parent
            continue
        here = here / name
        found = here.lstat()
        if stat.S_ISLNK(found.st_mode):
            links += 1
            if links > _MAX_LINKS:
                raise DeviceUnusable(f"{path}: a loop of symbolic links")
            # In /tmp anybody can make a link that leads to a directory of ours.
            _check_owner(here, found, f"rm {shlex.quote(str(here))}")
            left += reversed(here.readlink().parts)
            here = here.parent
            continue
        is_directory = stat.S_ISDIR(found.st_mode)
        if left and not is_directory:
            raise DeviceUnusable(f"{here}: not a directory")
        quoted = shlex.quote(str(here))
        _check_owner(here, found, "" if left else f"chown {_user_name(os.geteuid())}: {quoted}")
        # In a sticky directory such as /tmp others cannot rename or delete what is ours.
        is_sticky = is_directory and found.st_mode & stat.S_ISVTX
        if not is_sticky and found.st_mode & _others_write(found):
            raise _unsafe(f"{here} can be written to by other users", f"chmod go-w {quoted}")
    return here


def check_ours(folder: Path) -> None:
    """Raise DeviceUnusable if others could change or replace a folder; see `trusted_path`."""
    if not trusted_path(folder).is_dir():
        raise DeviceUnusable(f"{folder}: not a directory")


def make_ours(folder: Path) -> None:
    """Make a folder that all may enter and only we can write in, if it is not there.

    Its parent must exist. Raises DeviceUnusable, see `trusted_path`; OSError if it cannot be made.
    """
    check_ours(folder.parent)
    with contextlib.suppress(FileExistsError):  # perhaps only since a moment ago
        folder.mkdir()
        folder.chmod(0o755)  # whatever our umask is
    check_ours(folder)


def delete(path: Path) -> None:
    """Delete a file, a link or a whole tree, whatever is in it; a link is deleted, not followed.

    The parent must be ours. What cannot be deleted is left, like anything that is not there; the
    caller looks if it must know.
    """
    with contextlib.suppress(OSError):
        if not stat.S_ISDIR(path.lstat().st_mode):
            path.unlink()
            return
        with _opened(path, os.O_DIRECTORY) as folder:
            _seize(folder)  # from now on nobody else reaches what is below it by name
        # shutil.rmtree holds a descriptor for each level, and another user decides how many.
        command = [tool("rm"), "-rf", "--", str(path)]
        subprocess.run(command, stderr=subprocess.DEVNULL, check=False)


def give(path: Path) -> None:
    """Give a file or a tree of ours to the servers' user, what is innermost first.

    What belongs to that user already is left as it is: its names are not ours to rely on. The
    parent must be ours. Raises OSError, NoServerUser.
    """
    user = server_user()
    if user is None or path.lstat().st_uid == user.uid:
        return
    for _, _, files, directory in os.fwalk(path, topdown=False):
        for name in files:
            os.chown(name, user.uid, user.gid, dir_fd=directory, follow_symlinks=False)
        os.chown(directory, user.uid, user.gid)
    os.chown(path, user.uid, user.gid, follow_symlinks=False)


def take_back(path: Path, uid: int) -> None:
    """Make the tree of the user `uid` ours alone: folders get mode 0700, files 0600.

    The parent must be ours. Raises LoadFailed for what is neither a folder nor a plain file of
    that user under one name (links of both kinds, pipes, sockets, devices, foreign files), and for
    a file that a process can still write to.
    """
    _take_back(path, None, uid, str(path), 0)


def _take_back(name: str | Path, parent: int | None, uid: int, shown: str, depth: int) -> None:
    odd = LoadFailed(f"the server left {shown}, which is not a plain file of its own")
    try:
        with _opened(name, os.O_RDONLY, parent) as file:
            found = os.fstat(file)
            is_folder = stat.S_ISDIR(found.st_mode) and depth < _MAX_DEPTH
            is_plain = stat.S_ISREG(found.st_mode) and found.st_nlink == 1
            if found.st_uid not in (uid, os.geteuid()) or not (is_folder or is_plain):
                raise odd
            if is_folder:
                _seize(file)  # before its names are read: nobody adds to it afterwards
                for inner in os.listdir(file):
                    _take_back(inner, file, uid, f"{shown}/{inner}", depth + 1)
                return
            os.fchown(file, os.geteuid(), -1)
            os.fchmod(file, 0o600)
            deadline = time.monotonic() + _LAST_WRITES_S
            while _has_writer(file):
                if time.monotonic() > deadline:
                    raise LoadFailed(f"the server left {shown}, which is still open for writing")
                time.sleep(0.05)
    except OSError as error:
        raise LoadFailed(f"{odd}: {error.strerror}") from error


def _has_writer(file: int) -> bool:
    """Whether a process can write to a file that is open to read; False where none can tell.

    The kernel grants a lease for reading only while nobody has the file open for writing.
    """
    try:
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        return error.errno == errno.EAGAIN
    fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return False


def _seize(directory: int) -> None:
    """Make an open directory ours alone.

    Who has it open already can no longer change it either: the right is checked at each change.
    """
    if os.fstat(directory).st_uid != os.geteuid():
        os.fchown(directory, os.geteuid(), -1)
    os.fchmod(directory, 0o700)


def open_plain(path: str | Path, uid: int, parent: int | None = None) -> IO[bytes]:
    """Open a plain file of the user `uid` to read; its folder, or the open `parent`, is safe.

    Raises OSError for anything else: a link of either kind, a pipe, a device, another's file.
    """
    with _opened(path, os.O_RDONLY, parent) as file:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1 or found.st_uid != uid:
            raise PermissionError(f"{path} is not a plain file of the user {uid}")
        return os.fdopen(os.dup(file), "rb")


def forget_cached(folder: Path) -> None:
    """Write back all plain files below `folder` and drop them from the page cache.

    Else an emulated device would not hold back reads of a clone that the worker has just written.
    """
    for _, _, files, directory in os.fwalk(folder):
        for name in files:
            # It may be gone, or something else by now.
            with contextlib.suppress(OSError), _opened(name, os.O_RDONLY, directory) as file:
                if stat.S_ISREG(os.fstat(file).st_mode):
                    os.fsync(file)  # dirty pages cannot be dropped
                    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)


@contextlib.contextmanager
def held_folder(folder: Path) -> Iterator[None]:
    """Make an empty folder, hold it for the block, and delete it afterwards.

    The lock is on the folder itself. The kernel releases it when the holder dies, and all
    containers of a machine see it: a folder that nobody holds is a leftover. NFS locks no folders:
    there, every folder counts as held. Raises OSError: BlockingIOError if the folder is in use.
    """
    if folder.exists() and not is_free(folder):
        raise BlockingIOError(f"{folder} is in use")
    delete(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Nobody ever sees the folder without its lock.
    draft = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}")
    draft.mkdir(mode=0o700)
    held = hold(draft)
    try:
        try:
            draft.rename(folder)
            yield
        finally:
            delete(draft if draft.exists() else folder)
    finally:
        # Explicit, because close() is not enough: a forked process has the same open file.
        if held is not None:
            fcntl.flock(held, fcntl.LOCK_UN)
            os.close(held)


def hold(folder: Path) -> int | None:
    """Hold a folder until the returned descriptor is closed; None if another process holds it."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def is_free(folder: Path) -> bool:
    """Whether no process holds the folder; False if that cannot be told."""
    descriptor = hold(folder)
    if descriptor is not None:
        os.close(descriptor)
    return descriptor is not None


def free_folders(parent: Path, pattern: str = "*") -> Iterator[Path]:
    """Yield the folders in `parent` that nobody holds; none if it cannot be read.

    Each is held until the next one is asked for, so that nobody takes it meanwhile. Links and
    drafts are left out.
    """
    try:
        found = sorted(path for path in parent.glob(pattern) if not path.name.startswith("."))
    except OSError:
        return
    for path in found:
        if (held := hold(path)) is not None:
            try:
                yield path
            finally:
                os.close(held)


@contextlib.contextmanager
def _opened(name: str | Path, flags: int, parent: int | None = None) -> Iterator[int]:
    """Open `name` itself: neither is a link followed nor a FIFO waited for."""
    flags |= os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(name, flags, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _others_write(found: os.stat_result) -> int:
    """Return the bits of a mode that let another user change a file or directory of ours."""
    # With ACLs the bits of the group are the most that any of them allows.
    is_own_group = os.geteuid() != 0 and found.st_gid == os.getegid()
    return stat.S_IWOTH if is_own_group else stat.S_IWOTH | stat.S_IWGRP


def _check_owner(path: Path, found: os.stat_result, fix: str) -> None:
    if found.st_uid not in (0, os.geteuid()):
        raise _unsafe(f"{path} belongs to {_user_name(found.st_uid)}", fix)


def _unsafe(who: str, fix: str) -> DeviceUnusable:
    # No command gives away the directories above, which others live in.
    made = f"install -d -o {_user_name(os.geteuid())} -m 755 /srv/oltp"
    choose = f"choose a directory that nobody else can change, such as one made by `{made}`"
    ways = f"fix it with `{fix}`, or {choose}" if fix else choose
    return DeviceUnusable(f"{who}, who could replace what we use there; {ways}")


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)

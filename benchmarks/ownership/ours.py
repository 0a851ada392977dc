"""Folders that nobody but this user and root can change, replace or rename.

Below such a folder names can be relied on: whoever looks twice sees the same. That takes every
directory on the way to it, because a directory can be renamed by whoever may write in its parent.
"""

from __future__ import annotations

import os
import pwd
import shlex
import stat
from pathlib import Path

from benchmarks.errors import DeviceUnusable

MAX_LINKS = 40  # as in Linux


def make_ours(folder: Path) -> None:
    """Make a folder that all may enter and only we can write in, if it is not there.

    Its parent must exist. Raises DeviceUnusable, with the command that fixes it, when others could
    change it or replace it; OSError when it cannot be made.
    """
    check_ours(folder.parent)
    try:
        folder.mkdir()
    except FileExistsError:  # perhaps only since a moment ago: others make it too
        if not folder.is_dir():
            raise
    else:
        folder.chmod(0o755)  # whatever our umask is
    check_ours(folder)


def check_ours(folder: Path) -> None:
    """Raise DeviceUnusable, with the command that fixes it, when others could change the folder
    or put another in its place. OSError when it is not there.
    """
    here, links = "/", 0
    _check_directory(here, os.lstat(here), is_last=False)
    left = list(reversed(folder.absolute().parts[1:]))
    while left:
        name = left.pop()
        if name == "..":  # of a link; a path's own are taken as they are
            here = os.path.dirname(here)
            continue
        path = os.path.join(here, name)
        found = os.lstat(path)
        if stat.S_ISLNK(found.st_mode):
            links += 1
            if links > MAX_LINKS:
                raise DeviceUnusable(f"{folder}: a loop of symbolic links")
            # In /tmp anybody can make a link that leads to a directory of ours.
            _check_owner(path, found, f"rm {shlex.quote(path)}")
            target = Path(os.readlink(path))
            left += [part for part in reversed(target.parts) if part != "/"]
            here = "/" if target.is_absolute() else here
            continue
        _check_directory(path, found, is_last=not left)
        here = path


def is_ours(found: os.stat_result) -> bool:
    """Whether a file or directory belongs to this user or to root."""
    return found.st_uid in (0, os.geteuid())


def others_may_write(found: os.stat_result) -> bool:
    """Whether its mode lets another user change a file or directory of ours."""
    # With ACLs the bits of the group are the most that any of them allows.
    is_own_group = os.geteuid() != 0 and found.st_gid == os.getegid()
    others = stat.S_IWOTH if is_own_group else stat.S_IWOTH | stat.S_IWGRP
    return bool(found.st_mode & others)


def _check_directory(path: str, found: os.stat_result, *, is_last: bool) -> None:
    if not stat.S_ISDIR(found.st_mode):
        raise DeviceUnusable(f"{path}: not a directory")
    quoted = shlex.quote(path)
    _check_owner(path, found, f"chown {_name(os.geteuid())}: {quoted}" if is_last else "")
    if found.st_mode & stat.S_ISVTX:
        return  # like /tmp: others may add to it, but not rename or delete what is ours
    if others_may_write(found):
        who = f"{path} can be written to by other users"
        raise DeviceUnusable(_unsafe(who, f"chmod go-w {quoted}"))


def _check_owner(path: str, found: os.stat_result, fix: str) -> None:
    if not is_ours(found):
        raise DeviceUnusable(_unsafe(f"{path} belongs to {_name(found.st_uid)}", fix))


def _unsafe(who: str, fix: str) -> str:
    # No command gives away the directories above, which others live in.
    made = f"install -d -o {_name(os.geteuid())} -m 755 /srv/oltp"
    choose = f"choose a directory that nobody else can change, such as one made by `{made}`"
    ways = f"fix it with `{fix}`, or {choose}" if fix else choose
    return f"{who}, who could replace what we keep there; {ways}"


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)

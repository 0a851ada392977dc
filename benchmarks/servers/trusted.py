"""Judges a program's file before it is run: who may change it, and whether it is a program."""

from __future__ import annotations

import stat
from pathlib import Path

from benchmarks.errors import DeviceUnusable, NotAServer
from benchmarks.ownership.ours import MAX_LINKS, check_ours, is_ours, others_may_write

_ELF = b"\x7fELF"


def trusted_program(path: Path) -> Path:
    """The ELF program that `path` runs, without links; for a digest.

    That is the file itself, or for a script the mysqld or mariadbd in usr/sbin beside it: set-up's
    own servers are started by such a wrapper, with the libraries that came with them. Raises
    NotAServer unless script and program are plain executable files that only root and this user
    can change or replace.
    """
    try:
        real = trusted_file(path)
        if _is_elf(real):
            return real
        for name in ("mysqld", "mariadbd"):
            inner = real.parent / "usr" / "sbin" / name
            if inner.exists() and _is_elf(found := trusted_file(inner)):
                return found
    except DeviceUnusable as error:
        raise NotAServer(f"{path} is not started: {error}") from error
    except OSError as error:
        raise NotAServer(f"{path} cannot be read: {error.strerror}") from error
    raise NotAServer(f"{path} is a script; name the server program itself (an ELF binary)")


def trusted_file(path: Path) -> Path:
    """Follow the links of `path` to a plain file that only root and this user can change.

    Judges each link on the way. Raises NotAServer, DeviceUnusable and OSError.
    """
    named, here = path, path
    for _ in range(MAX_LINKS):
        check_ours(here.parent)
        found = here.lstat()
        if not is_ours(found):
            raise NotAServer(f"{named} is not started: {here} belongs to another user{_FIX}")
        if not stat.S_ISLNK(found.st_mode):
            break
        here = here.parent / here.readlink()
    else:
        raise NotAServer(f"{named} is not started: a loop of symbolic links")
    if not stat.S_ISREG(found.st_mode):
        raise NotAServer(f"{named} is not started: {here} is not a file")
    if others_may_write(found):
        raise NotAServer(
            f"{named} is not started: {here} can be written to by other users; fix it with "
            f"`chmod go-w {here}`"
        )
    return here.resolve()


_FIX = "; it must be root's or that of the user who runs the worker"


def _is_elf(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_ELF)) == _ELF

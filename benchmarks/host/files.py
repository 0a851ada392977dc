"""The files in which the kernel describes a host: /sys, and the list of its mounts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

MOUNTINFO = Path("/proc/self/mountinfo")

# Layers of an overlay distinguish two containers, not two ways to mount.
_LAYER_OPTIONS = ("lowerdir", "upperdir", "workdir")


def read_text(path: Path) -> str:
    """Return a file of /sys without blanks around it; "" when it cannot be read."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""  # these files come and go with the driver


@dataclass(frozen=True)
class HostFiles:
    """`/sys` and `/proc` below `root`; any other root than "/" is a recorded host."""

    root: Path = Path("/")

    @property
    def sys(self) -> Path:
        return self.root / "sys"

    @property
    def mountinfo(self) -> Path:
        return self.root / "proc/self/mountinfo"

    def locate(self, path: Path) -> Path:
        """Our path of the file that this host calls `path`."""
        return self.root / path.absolute().relative_to("/")

    def resolve(self, path: Path, *, strict: bool = False) -> Path:
        """`path` without symbolic links, as this host spells it.

        Raises OSError, or RuntimeError for a loop of links, when `strict`.
        """
        real = self.locate(path).resolve(strict=strict)
        return Path("/") / real.relative_to(self.root.resolve())


@dataclass(frozen=True)
class Mount:
    """One line of mountinfo (`man 5 proc_pid_mountinfo`).

    `device` is "major:minor", `source` what was mounted (/dev/vda1), `root` the directory of it
    that is the mount's top.
    """

    id: int
    parent: int
    device: str
    root: str
    mount_point: str
    file_system: str
    source: str
    options: tuple[str, ...]
    super_options: tuple[str, ...]

    def stable_options(self) -> str:
        """Options of the mount, then those of its file system, comma-separated, each once."""
        wanted = dict.fromkeys((*self.options, *self.super_options))
        return ",".join(o for o in wanted if o.partition("=")[0] not in _LAYER_OPTIONS)


def read_mounts(mountinfo: Path = MOUNTINFO) -> list[Mount]:
    """Return all mounts that this process can see, in the kernel's order; none without /proc."""
    try:
        lines = mountinfo.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return []
    return [_parse(line) for line in lines]


def mount_of(path: Path, mounts: list[Mount]) -> Mount | None:
    """Return the mount that holds `path` (absolute, without links); None in an unlisted chroot.

    Walks down the path as the kernel does: at each directory step onto what is mounted there on
    top of the mount we are in. So bind mounts count, the last of several mounts on one directory
    wins, and a mount that a later one covers is not found, which "longest prefix" gets wrong.
    """
    ids = {mount.id for mount in mounts}
    tops = [
        m for m in mounts if m.mount_point == "/" and (m.parent not in ids or m.parent == m.id)
    ]
    current = tops[0] if tops else None
    upper = {(m.parent, m.mount_point): m for m in mounts if m.id != m.parent}
    pure = PurePosixPath(path)
    for directory in (*reversed(pure.parents), pure):
        while current is not None and (current.id, str(directory)) in upper:
            current = upper[current.id, str(directory)]
    return current


def _parse(line: str) -> Mount:
    fields = line.split(" ")
    # Any number of optional fields stand before the lone dash.
    dash = fields.index("-", 6)
    file_system, source, super_options = fields[dash + 1 : dash + 4]
    return Mount(
        id=int(fields[0]),
        parent=int(fields[1]),
        device=fields[2],
        root=_unescape(fields[3]),
        mount_point=_unescape(fields[4]),
        file_system=file_system,
        source=_unescape(source),
        options=tuple(fields[5].split(",")),
        super_options=tuple(_unescape(option) for option in super_options.split(",")),
    )


def _unescape(text: str) -> str:
    """Undo the kernel's octal escapes for space, tab, newline and backslash."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), text)

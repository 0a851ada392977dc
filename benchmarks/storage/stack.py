"""Follows a path down to its disks: mounts, btrfs, loop, device mapper, md, partitions.

Everything is read from /sys and not from `lsblk`, which knows serial numbers and UUIDs only where
udev runs: in a container another disk could not be told from the right one.
md: Documentation/admin-guide/md.rst, section "md devices in sysfs"; device mapper: `dm/name` and
`dm/uuid` in Documentation/ABI/testing/sysfs-block-dm.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from benchmarks.host.files import HostFiles, Mount, mount_of, read_text
from benchmarks.storage.disk import device_name, read_disk, size_bytes
from benchmarks.storage.identity import DeviceIdentity, Member
from benchmarks.storage.kinds import DeviceKind, Transport

_MEMORY = ("tmpfs", "ramfs")
# The last three are a host's folder shown to a virtual machine: no disk of ours either.
_NETWORK = (
    *("nfs", "nfs4", "cifs", "smb3", "ceph", "afs", "lustre", "beegfs", "gpfs"),
    *("9p", "virtiofs", "vboxsf"),
)
# FUSE programs that only show local files in another way; most others go over the network.
_LOCAL_FUSE = (
    *("fuse.bindfs", "fuse.mergerfs", "fuse.gocryptfs", "fuse.encfs", "fuse.fuse-overlayfs"),
    *("fuse.unionfs", "fuse.lxcfs", "fuse.portal"),
)
_DM_WORDS = {
    "LVM-": "LVM volume",
    "CRYPT-": "dm-crypt",
    "mpath-": "multipath",
    "DMRAID-": "firmware RAID",
}


class Stack:
    """Resolves the layers of one host with its current mounts."""

    def __init__(self, host: HostFiles, mounts: list[Mount]) -> None:
        self._host = host
        self._mounts = mounts

    def behind_mount(
        self, mount: Mount | None, loops: frozenset[str] = frozenset()
    ) -> DeviceIdentity:
        """Return the device that stores what is written to this mount.

        `loops` are the loop devices above it: one that lies on itself has no bottom.
        """
        if mount is None:
            return _unseen("The mount of this path is not in /proc/self/mountinfo.")
        name = mount.file_system
        if name in _MEMORY:
            return _unseen("The data is in memory, not on a device.", DeviceKind.TMPFS)
        if name in _NETWORK or (name.startswith("fuse.") and name not in _LOCAL_FUSE):
            note = f"{name} from {mount.source}: the device is on another machine."
            return _unseen(note, DeviceKind.NETWORK)
        if name == "overlay":
            return _unseen(
                "An overlay (a container's own file system): the disk below cannot be seen from "
                "inside. Give the container a volume."
            )
        directory = self._block_directory(mount)
        if directory is None:
            return _unseen(f"No block device is known for {name} from {mount.source}.")
        number = self._btrfs_disks(directory) if name == "btrfs" else 1
        if number > 1:
            return _unseen(
                f"btrfs spreads its data over {number} disks; no single device counts its traffic."
            )
        found = self.behind_block(directory, loops)
        return replace(found, file_system_uuid=self._file_system_uuid(directory))

    def behind_block(self, directory: Path, loops: frozenset[str]) -> DeviceIdentity:
        """Return the disk or array below a block device, given its real directory in /sys."""
        name = device_name(directory)
        if (directory / "partition").exists():
            # The disk's counters hold the flushes as well, and everything that competes for the
            # same head or flash channels.
            return self.behind_block(directory.parent, loops).below(f"partition {name}")
        links = sorted((directory / "slaves").glob("*"))
        slaves = [link.resolve() for link in links if link.exists()]
        below = {slave: self.behind_block(slave, loops) for slave in slaves}
        if (directory / "md").is_dir() or re.match(r"md[\d_]", name):
            return _md_array(directory, below)
        if below:
            return _on_slaves(directory, below)
        backing_file = read_text(directory / "loop/backing_file")
        return (
            self._behind_loop(name, backing_file, loops) if backing_file else read_disk(directory)
        )

    def _behind_loop(self, name: str, backing_file: str, loops: frozenset[str]) -> DeviceIdentity:
        file, found = Path(backing_file), _unseen(f"{backing_file} cannot be seen from here.")
        # The kernel spells the path as the process that made the device sees it.
        if name not in loops and self._host.locate(file).exists():
            mount = mount_of(self._host.resolve(file), self._mounts)
            found = self.behind_mount(mount, loops | {name})
        return found.below(f"loop device {name} on {backing_file}")

    def _block_directory(self, mount: Mount) -> Path | None:
        """The /sys directory of what was mounted; some file systems show a number of their own."""
        directory = self._host.sys / "dev/block" / mount.device
        if not directory.exists() and mount.source.startswith("/dev/"):
            name = self._host.resolve(Path(mount.source)).name
            directory = self._host.sys / "class/block" / name
        return directory.resolve() if directory.exists() else None

    def _file_system_uuid(self, directory: Path) -> str:
        """The UUID that udev found on this block device; "" where udev does not run."""
        for link in sorted((self._host.root / "dev/disk/by-uuid").glob("*")):
            if link.is_symlink() and link.readlink().name == directory.name:
                return link.name
        return ""

    def _btrfs_disks(self, directory: Path) -> int:
        for volume in (self._host.sys / "fs/btrfs").glob("*-*"):
            devices = [link.resolve() for link in (volume / "devices").glob("*")]
            if directory in devices:
                return len(devices)
        return 1


def _unseen(note: str, kind: DeviceKind = DeviceKind.OTHER) -> DeviceIdentity:
    return DeviceIdentity(kind=kind, notes=(note,))


def _md_array(directory: Path, below: Mapping[Path, DeviceIdentity]) -> DeviceIdentity:
    md, array = directory / "md", read_disk(directory)
    members = tuple(
        _member(leg, disk, read_text(md / f"dev-{leg.name}" / "state"))
        for leg, disk in below.items()
    )
    # Without spares and failed members; states read "in_sync,write_mostly".
    working = [member for member in members if "in_sync" in member.state.split(",")]
    level, disks = read_text(md / "level"), read_text(md / "raid_disks")
    missing, action = read_text(md / "degraded"), read_text(md / "sync_action")
    notes = []
    if missing not in ("", "0"):
        notes.append(
            f"{array.block_device} is degraded: {missing} of its disks missing or failed."
        )
    if action not in ("", "idle", "frozen"):
        notes.append(f"{array.block_device} is busy with {action}: figures taken now are too low.")
    return replace(
        array,
        kind=DeviceKind.RAID,
        transport=_common_transport(members),
        model=_describe(level, working or members),
        raid_level=level,
        raid_disks=int(disks) if disks.isdigit() else len(members),
        members=members,
        notes=tuple(notes),
        serial=read_text(md / "uuid"),
    )


def _on_slaves(directory: Path, below: Mapping[Path, DeviceIdentity]) -> DeviceIdentity:
    """A device-mapper volume or bcache: on one device, or on several that md does not join."""
    name, uuid = device_name(directory), read_text(directory / "dm/uuid")
    layer = name
    if (directory / "dm").is_dir():
        words = (word for start, word in _DM_WORDS.items() if uuid.startswith(start))
        word = next(words, "mapping")
        layer = f"{word} {read_text(directory / 'dm/name') or name} ({name})"
    if uuid.startswith("mpath-"):  # each path's own counters show a part of the traffic
        path = next(iter(below.values()))
        return replace(path, block_device=name).below(layer)
    distinct = {disk.block_device or leg.name: (leg, disk) for leg, disk in below.items()}
    if len(distinct) == 1:  # two partitions of one disk are one device
        ((_, disk),) = distinct.values()
        encrypted = ("Encrypted: every request costs CPU time.",)
        return disk.below(layer, *(encrypted if uuid.startswith("CRYPT-") else ()))
    # The second partition of a disk that is a member already does not count.
    disks: dict[str, Member] = {}
    for leg, disk in distinct.values():
        for member in disk.members or (_member(leg, disk),):
            disks.setdefault(member.disk or member.name, member)
    members, kinds = tuple(disks.values()), {disk.kind for disk in below.values()}
    note = (
        f"{name} is on {len(members)} disks; /sys does not show how it uses them "
        "(`lvs -o +segtype,stripes` does)."
    )
    return replace(
        read_disk(directory),
        kind=kinds.pop() if len(kinds) == 1 else DeviceKind.OTHER,
        transport=_common_transport(members),
        model=_describe("volume", members),
        members=members,
        notes=(note,),
        serial=uuid,
    ).below(layer)


def _common_transport(members: Iterable[Member]) -> Transport:
    transports = {member.transport for member in members}
    return transports.pop() if len(transports) == 1 else Transport.UNKNOWN


def _member(leg: Path, disk: DeviceIdentity, state: str = "") -> Member:
    return Member(
        name=device_name(leg),
        disk=disk.block_device or "",
        kind=disk.kind,
        transport=disk.transport,
        model=disk.model,
        rotational=disk.rotational,
        total_bytes=size_bytes(leg),
        state=state,
    )


def _describe(what: str, members: Iterable[Member]) -> str:
    """Return a model name for several disks: "raid1 of 2 x SAMSUNG PM1725"."""
    counts = Counter(member.model or member.disk or member.name for member in members)
    disks = " + ".join(f"{count} x {model}" for model, count in counts.items())
    return f"{what} of {disks}" if disks else what

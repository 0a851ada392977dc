"""From a path down to its disks: mounts, overlay, btrfs, loop, device mapper, md, partitions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from benchmarks.host.files import HostFiles, read_text
from benchmarks.host.mounts import Mount, mount_of
from benchmarks.storage.composites import (
    btrfs_volume,
    dm_layer,
    is_md,
    md_array,
    md_states,
    spread,
)
from benchmarks.storage.disk import device_name, read_disk, size_bytes
from benchmarks.storage.identity import DeviceIdentity, Member
from benchmarks.storage.kinds import DeviceKind

_MEMORY_FILE_SYSTEMS = frozenset({"tmpfs", "ramfs"})
# The last three are a host's folder shown to a virtual machine: no disk of ours either.
_NETWORK_FILE_SYSTEMS = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "ceph", "afs", "lustre", "beegfs", "gpfs"}
    | {"9p", "virtiofs", "vboxsf"}
)
# FUSE programs that only show local files in another way; most others go over the network.
_LOCAL_FUSE = frozenset(
    {"fuse.bindfs", "fuse.mergerfs", "fuse.gocryptfs", "fuse.encfs", "fuse.fuse-overlayfs"}
    | {"fuse.unionfs", "fuse.lxcfs", "fuse.portal"}
)
_DEEPEST = 16  # layers; a loop device on itself has no bottom


class Stack:
    """Resolves the layers of one host with its current mounts."""

    def __init__(self, host: HostFiles, mounts: list[Mount]) -> None:
        self._host = host
        self._mounts = mounts

    def behind_mount(self, mount: Mount, depth: int = 0) -> DeviceIdentity:
        """The device that stores what is written to this mount."""
        kind = mount.file_system
        if depth > _DEEPEST:
            return _unseen(f"more than {_DEEPEST} layers above the disk")
        if kind in _MEMORY_FILE_SYSTEMS:
            return _unseen("The data is in memory, not on a device.", DeviceKind.TMPFS)
        if kind in _NETWORK_FILE_SYSTEMS or (kind.startswith("fuse.") and kind not in _LOCAL_FUSE):
            return _unseen(
                f"{kind} from {mount.source}: the device is on another machine.",
                DeviceKind.NETWORK,
            )
        if kind == "overlay":
            return self._behind_overlay(mount, depth)
        if kind == "zfs":
            pool = mount.source.partition("/")[0]
            return _unseen(
                f"ZFS pool {pool}: /sys does not show its disks (`zpool status {pool}` does)."
            )
        directory = self._block_directory(mount)
        if directory is None:
            return _unseen(f"No block device is known for {kind} from {mount.source}.")
        several = self._btrfs_devices(directory) if kind == "btrfs" else None
        if several is not None and len(several[1]) > 1:
            profile, legs = several
            found = btrfs_volume(profile, self._members(legs, {}, depth))
        else:
            legs, found = [directory], self.behind_block(directory, depth)
        return replace(found, file_system_uuid=self._file_system_uuid(legs))

    def behind_block(self, directory: Path, depth: int = 0) -> DeviceIdentity:
        """The disk or array below a block device, given its real directory in /sys."""
        if depth > _DEEPEST:
            return _unseen(f"more than {_DEEPEST} layers above the disk")
        if (directory / "partition").exists():
            # The disk's counters hold the flushes as well, and everything that competes for the
            # same head or flash channels.
            whole = self.behind_block(directory.parent, depth + 1)
            return whole.below(f"partition {device_name(directory)}")
        if is_md(directory):
            states = md_states(directory)
            return md_array(directory, self._members(self._slaves(directory), states, depth))
        slaves = self._slaves(directory)
        if slaves:
            return self._behind_slaves(directory, slaves, depth)
        backing_file = read_text(directory / "loop/backing_file")
        if backing_file:
            return self._behind_loop(device_name(directory), backing_file, depth)
        return read_disk(directory)

    def _behind_slaves(self, directory: Path, slaves: list[Path], depth: int) -> DeviceIdentity:
        layer = dm_layer(directory) if (directory / "dm").is_dir() else device_name(directory)
        layer = f"{layer} ({device_name(directory)})"
        below = {slave.name: self.behind_block(slave, depth + 1) for slave in slaves}
        distinct = {backing.block_device or name: backing for name, backing in below.items()}
        if layer.startswith("multipath"):  # each path's own counters show a part of the traffic
            path = next(iter(below.values()))
            return replace(path, block_device=device_name(directory)).below(layer)
        if len(distinct) == 1:  # two partitions of one disk are one device
            (single,) = distinct.values()
            notes = ("Encrypted: every request costs CPU time.",) if "dm-crypt" in layer else ()
            return single.below(layer, *notes)
        members = [member for backing in distinct.values() for member in backing.members]
        singles = [slave for slave in slaves if not below[slave.name].members]
        members += self._members(singles, {}, depth)
        kinds = {backing.kind for backing in distinct.values()}
        return spread(directory, kinds, _one_per_disk(members)).below(layer)

    def _behind_loop(self, name: str, backing_file: str, depth: int) -> DeviceIdentity:
        layer = f"loop device {name} on {backing_file}"
        file = Path(backing_file)
        # The kernel spells the path as the process that made the device sees it.
        mount = (
            mount_of(self._host.resolve(file), self._mounts)
            if self._host.locate(file).exists()
            else None
        )
        if mount is None:
            return _unseen(f"{backing_file} cannot be seen from here.").below(layer)
        return self.behind_mount(mount, depth + 1).below(layer)

    def _behind_overlay(self, mount: Mount, depth: int) -> DeviceIdentity:
        """An overlay writes to its upper layer; inside a container that path leads nowhere."""
        upper = mount.option("upperdir")
        below = None
        if upper is not None and self._host.locate(Path(upper)).is_dir():
            below = mount_of(self._host.resolve(Path(upper)), self._mounts)
        # An overlay cannot have its upper layer on itself; such a path is another's by accident.
        if below is None or below.file_system == "overlay":
            return _unseen(
                "An overlay (a container's own file system): the disk below cannot be seen from "
                "inside. Give the container a volume."
            )
        return self.behind_mount(below, depth + 1).below("overlay")

    def _members(self, legs: list[Path], states: dict[str, str], depth: int) -> tuple[Member, ...]:
        members = []
        for leg in legs:
            disk = self.behind_block(leg, depth + 1)
            members.append(
                Member(
                    name=device_name(leg),
                    disk=disk.block_device or "",
                    kind=disk.kind,
                    transport=disk.transport,
                    model=disk.model,
                    rotational=disk.rotational,
                    total_bytes=size_bytes(leg),
                    state=states.get(leg.name, ""),
                )
            )
        return tuple(members)

    def _slaves(self, directory: Path) -> list[Path]:
        links = sorted((directory / "slaves").glob("*"))
        return [link.resolve() for link in links if link.exists()]

    def _block_directory(self, mount: Mount) -> Path | None:
        """The /sys directory of what was mounted; some file systems show a number of their own."""
        directory = self._host.sys / "dev/block" / mount.device
        if not directory.exists():
            if not mount.source.startswith("/dev/"):
                return None
            name = self._host.resolve(Path(mount.source)).name
            directory = self._host.sys / "class/block" / name.replace("/", "!")
            if not directory.exists():
                return None
        return directory.resolve()

    def _file_system_uuid(self, directories: list[Path]) -> str:
        """The UUID that udev found on one of these block devices; "" where udev does not run."""
        names = {directory.name for directory in directories}
        for link in sorted((self._host.root / "dev/disk/by-uuid").glob("*")):
            if link.is_symlink() and link.readlink().name in names:
                return link.name
        return ""

    def _btrfs_devices(self, directory: Path) -> tuple[str, list[Path]] | None:
        """How btrfs stores data, and every device of the file system that has this one."""
        for volume in sorted((self._host.sys / "fs/btrfs").glob("*-*")):
            devices = [link.resolve() for link in sorted((volume / "devices").glob("*"))]
            if directory in devices:
                profiles = [p.name for p in (volume / "allocation/data").glob("*") if p.is_dir()]
                return "+".join(sorted(profiles)), devices
        return None


def _unseen(note: str, kind: DeviceKind = DeviceKind.OTHER) -> DeviceIdentity:
    """No device is visible from here; `note` says why."""
    return DeviceIdentity(kind=kind, notes=(note,))


def _one_per_disk(members: list[Member]) -> tuple[Member, ...]:
    """Without the second partition of a disk that is a member already."""
    by_disk: dict[str, Member] = {}
    for member in members:
        by_disk.setdefault(member.disk or member.name, member)
    return tuple(by_disk.values())

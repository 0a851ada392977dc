"""The storage behind a path: a disk, an array or neither, and the layers above it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from benchmarks.storage.disk import Disk
from benchmarks.storage.kinds import DeviceKind, Transport


@dataclass(frozen=True)
class Member:
    """One disk of an array or of a volume over several.

    `name` is what the array uses, perhaps a partition ("sda2"), `disk` the whole disk below it.
    `state` is the kernel's word for an md member (in_sync, spare, faulty), else "".
    """

    name: str
    disk: str
    kind: DeviceKind
    transport: Transport
    model: str
    rotational: bool | None
    total_bytes: int
    state: str = ""


@dataclass(frozen=True)
class Backing:
    """The device that takes the writes, with the layers between it and the path.

    `block_device` is the device whose counters have the traffic: the whole disk, also below a
    partition, LVM, dm-crypt or loop; the array (md0); a volume that lies on several disks (dm-0).
    `layers` name what lies above, from the top; `notes` are sentences for people. `raid_disks` is
    how many disks the array is meant to have, without spares. `serial` is the disk's World Wide
    Name or serial number, or the UUID of an array or volume. `serial` and `file_system_uuid` are
    "" where the host does not show them.
    """

    kind: DeviceKind
    block_device: str | None = None
    transport: Transport = Transport.UNKNOWN
    model: str = ""
    rotational: bool | None = None
    scheduler: str = ""
    write_cache: str = ""
    raid_level: str = ""
    raid_disks: int = 0
    members: tuple[Member, ...] = ()
    layers: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    serial: str = ""
    file_system_uuid: str = ""

    def below(self, layer: str, note: str = "") -> Backing:
        """Return the device with one more layer above it."""
        notes = (note, *self.notes) if note else self.notes
        return replace(self, layers=(layer, *self.layers), notes=notes)


def unknown(note: str) -> Backing:
    """No device is visible from here; `note` says why."""
    return Backing(DeviceKind.OTHER, notes=(note,))


def of_disk(disk: Disk) -> Backing:
    """A single disk, or the single thing a hardware controller shows of its array."""
    notes: tuple[str, ...] = ()
    if disk.raid_controller:
        notes = (
            f"{disk.name} is an array behind a hardware RAID controller ({disk.model}): only the "
            "controller's own tool shows its level, members and cache.",
        )
    elif disk.kind is DeviceKind.OTHER:
        notes = (
            f"The medium of {disk.name} ({disk.model or 'no model'}) cannot be detected, as "
            "with most virtual disks; set the kind if you know it.",
        )
    return Backing(
        kind=disk.kind,
        block_device=disk.name,
        transport=disk.transport,
        model=disk.model,
        rotational=disk.rotational,
        scheduler=disk.scheduler,
        write_cache=disk.write_cache,
        raid_level="hardware" if disk.raid_controller else "",
        notes=notes,
        serial=disk.serial,
    )


def member_of(name: str, backing: Backing, total_bytes: int, state: str = "") -> Member:
    """Make a member of an array from the device below it."""
    return Member(
        name=name,
        disk=backing.block_device or "",
        kind=backing.kind,
        transport=backing.transport,
        model=backing.model,
        rotational=backing.rotational,
        total_bytes=total_bytes,
        state=state,
    )


def common_kind(members: tuple[Member, ...]) -> DeviceKind:
    """The kind of all members, OTHER where they differ."""
    kinds = {member.kind for member in members}
    return kinds.pop() if len(kinds) == 1 else DeviceKind.OTHER


def common_transport(members: tuple[Member, ...]) -> Transport:
    """The transport of all members, UNKNOWN where they differ."""
    transports = {member.transport for member in members}
    return transports.pop() if len(transports) == 1 else Transport.UNKNOWN


def describe(what: str, members: tuple[Member, ...]) -> str:
    """A model name for several disks: "raid1 of 2 x SAMSUNG PM1725"."""
    if not members:
        return what
    counts: dict[str, int] = {}
    for member in members:
        model = member.model or member.disk or member.name
        counts[model] = counts.get(model, 0) + 1
    return f"{what} of " + " + ".join(f"{count} x {model}" for model, count in counts.items())

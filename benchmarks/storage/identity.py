"""The identity of what stores a path, as it is stored, shown and put into fingerprints."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from benchmarks.documents import Document
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
class DeviceIdentity(Document):
    """The device that stores the data of a path.

    `kind` counts: the user's where they corrected it; then `discovered_kind` is what was found,
    else None. `block_device` is the device whose counters have the traffic: "vda", also when the
    mount is on vda1 or on LVM over it; "md0" of an array. It is None where there is no such device
    (tmpfs, network, btrfs over several disks) or it cannot be seen (overlay).
    `model`, `scheduler` and `write_cache` are "", `rotational` None where unknown.
    `mount_options` is comma-separated. `total_bytes` and `free_bytes` are the file system's; free
    is what an ordinary user may fill. `raid_level` is md's word ("raid10"), "hardware" or "" for
    no array; `raid_disks` is how many disks the array is meant to have, without spares.
    `layers` name what lies between file system and device, from the top; `notes` are sentences.
    `serial` is the disk's World Wide Name or serial number, or the UUID of an array or volume;
    `serial` and `file_system_uuid` are "" where the host does not show them.
    """

    path: Path = Path()
    kind: DeviceKind = DeviceKind.OTHER
    block_device: str | None = None
    model: str = ""
    scheduler: str = ""
    file_system: str = ""
    mount_options: str = ""
    total_bytes: int = 0
    free_bytes: int = 0
    discovered_kind: DeviceKind | None = None
    transport: Transport = Transport.UNKNOWN
    rotational: bool | None = None
    write_cache: str = ""
    raid_level: str = ""
    raid_disks: int = 0
    members: tuple[Member, ...] = ()
    layers: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    serial: str = ""
    file_system_uuid: str = ""

    @property
    def unique_name(self) -> str:
        """A name that no other device has and that a reboot keeps; "" where none is known."""
        return self.serial or self.file_system_uuid

    def below(self, layer: str, *notes: str) -> Self:
        """Return the device with one more layer above it."""
        return replace(self, layers=(layer, *self.layers), notes=(*notes, *self.notes))

    def corrected(self, kind: DeviceKind | None) -> Self:
        """Return the device with the kind that the user gives it; None takes a correction back."""
        found = self.discovered_kind or self.kind
        if kind is None or kind is found:
            return replace(self, kind=found, discovered_kind=None)
        return replace(self, kind=kind, discovered_kind=found)

    def is_same_device(self, other: DeviceIdentity) -> bool:
        """Whether both are findings of one device; names of block devices may change.

        Serial number and UUID of the file system count where both findings have them: disks of
        one model, and partitions of one disk, differ in nothing else.
        """
        known = ((self.serial, other.serial), (self.file_system_uuid, other.file_system_uuid))
        contradicted = any(one and two and one != two for one, two in known)
        return not contradicted and self._nature() == other._nature()

    def _nature(self) -> tuple[object, ...]:
        found = self.discovered_kind or self.kind
        array = (self.raid_level, self.raid_disks)
        return (found, self.transport, self.model, *array, self.file_system)

"""The words for what a device is."""

from __future__ import annotations

from enum import StrEnum


class DeviceKind(StrEnum):
    """Kind of a device; studies rank per kind."""

    HDD = "hdd"
    SATA_SSD = "sata-ssd"
    SAS_SSD = "sas-ssd"
    NVME = "nvme"
    RAID = "raid"
    TMPFS = "tmpfs"
    NETWORK = "network"
    OTHER = "other"


class Transport(StrEnum):
    """How the host talks to a disk. Of a disk in a virtual machine: to its hypervisor."""

    NVME = "nvme"
    SATA = "sata"
    SAS = "sas"
    VIRTIO = "virtio"
    USB = "usb"
    NETWORK = "network"
    UNKNOWN = "unknown"


_WORDS: dict[str, str] = {
    DeviceKind.HDD: "HDD",
    DeviceKind.SATA_SSD: "SATA SSD",
    DeviceKind.SAS_SSD: "SAS SSD",
    DeviceKind.NVME: "NVMe",
    DeviceKind.RAID: "RAID",
    Transport.SATA: "SATA",
    Transport.SAS: "SAS",
    Transport.USB: "USB",
}


def kind_words(kind: str) -> str:
    """A kind or a transport as people write it: "SATA SSD" for `sata-ssd`; else unchanged."""
    return _WORDS.get(kind, kind)

"""The words for what a device is."""

from __future__ import annotations

from enum import StrEnum


class DeviceKind(StrEnum):
    """What a path stores to; studies rank per kind."""

    HDD = "hdd"
    SATA_SSD = "sata-ssd"
    SAS_SSD = "sas-ssd"
    NVME = "nvme"
    RAID = "raid"
    TMPFS = "tmpfs"
    NETWORK = "network"
    OTHER = "other"


_WORDS = {
    "hdd": "HDD",
    "sata-ssd": "SATA SSD",
    "sas-ssd": "SAS SSD",
    "nvme": "NVMe",
    "raid": "RAID",
}


def kind_words(kind: str) -> str:
    """A kind as people write it: "SATA SSD" for `sata-ssd`; any other text unchanged."""
    return _WORDS.get(kind, kind)


class Transport(StrEnum):
    """How the host talks to a disk. Of a disk in a virtual machine: to its hypervisor."""

    NVME = "nvme"
    SATA = "sata"
    SAS = "sas"
    VIRTIO = "virtio"
    USB = "usb"
    NETWORK = "network"
    UNKNOWN = "unknown"

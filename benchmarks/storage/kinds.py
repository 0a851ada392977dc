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


class Transport(StrEnum):
    """How the host talks to a disk. Of a disk in a virtual machine: to its hypervisor."""

    NVME = "nvme"
    SATA = "sata"
    SAS = "sas"
    VIRTIO = "virtio"
    USB = "usb"
    NETWORK = "network"
    UNKNOWN = "unknown"

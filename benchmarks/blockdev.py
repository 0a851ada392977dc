"""What /sys tells of one block device: its whole disk, kind, model and I/O scheduler.

Only what a plain disk or partition shows. Stacks (LVM, md, loop, dm-crypt) are named and kept as
they are, not looked through; that belongs in `read_block_device`, where the disks below a device
are its `slaves/`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


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


@dataclass(frozen=True)
class BlockDevice:
    """One disk. `name` as /proc/diskstats spells it; `model`, `scheduler` are "" where unknown."""

    name: str
    kind: DeviceKind
    model: str
    scheduler: str


# Words in "vendor model", lower case. A virtual disk's rotational flag and transport are the
# hypervisor's choice and say nothing about the medium.
_REMOTE = ("elastic block store", "nvme_card-pd", "persistentdisk")
_VIRTUAL = ("qemu", "vmware", "vbox", "msft", "virtual disk", "virtual nvme", "google")
_RAID = ("perc", "megaraid", "mr9", "serveraid", "logical volume", "smart array", "avago")


def find_block_device(device: str, source: str, sys_root: Path) -> Path | None:
    """The /sys directory of the whole disk behind a mount, None when there is none.

    `device` is the mount's "major:minor"; `source` serves for file systems that show a number of
    their own (btrfs). A partition leads to its disk: the disk's counters hold the flushes as well
    and everything that competes for the same head or flash channels.
    """
    directory = sys_root / "dev" / "block" / device
    if not directory.exists():
        if not source.startswith("/dev/"):
            return None
        directory = sys_root / "class" / "block" / Path(source).resolve().name.replace("/", "!")
        if not directory.exists():
            return None
    directory = directory.resolve()
    return directory.parent if (directory / "partition").exists() else directory


def read_block_device(directory: Path) -> BlockDevice:
    """Identity of the disk whose /sys directory this is."""
    return BlockDevice(
        name=directory.name.replace("!", "/"),
        kind=_kind(directory),
        model=_model(directory),
        scheduler=_scheduler(directory),
    )


def _kind(directory: Path) -> DeviceKind:
    name = directory.name
    label = f"{_text(directory / 'device/vendor')} {_model(directory)}".lower()
    path = f"{directory}/"
    if re.match(r"(nbd|rbd|drbd)\d", name) or any(word in label for word in _REMOTE):
        return DeviceKind.NETWORK
    if name.startswith("md") or any(word in label for word in _RAID):
        return DeviceKind.RAID
    if any(word in label for word in _VIRTUAL):
        return DeviceKind.OTHER
    if name.startswith("nvme"):
        # NVMe over TCP, RDMA or Fibre Channel; absent with native multipath
        transport = _text(directory / "device/transport")
        return DeviceKind.NETWORK if transport not in ("", "pcie") else DeviceKind.NVME
    if name.startswith("sd"):
        return _scsi_kind(directory, path)
    return DeviceKind.OTHER


def _scsi_kind(directory: Path, path: str) -> DeviceKind:
    if re.search(r"/session\d+/", path):  # iSCSI
        return DeviceKind.NETWORK
    if re.search(r"/usb\d+/", path):
        return DeviceKind.OTHER
    rotational = _text(directory / "queue/rotational")
    if rotational == "1":
        return DeviceKind.HDD
    if rotational == "0" and _text(directory / "device/vendor") == "ATA":
        # also a SATA disk behind a SAS controller: the translation layer calls itself ATA
        return DeviceKind.SATA_SSD
    on_sas = "/end_device-" in path or (directory / "device/sas_address").exists()
    if rotational == "0" and on_sas:
        return DeviceKind.SAS_SSD
    return DeviceKind.OTHER


def _model(directory: Path) -> str:
    model = _text(directory / "device/model")
    vendor = _text(directory / "device/vendor")
    if model:
        # "ATA" is the bus, and PCI or virtio put a number there
        prefix = "" if vendor in ("", "ATA") or vendor.startswith("0x") else f"{vendor} "
        return " ".join(f"{prefix}{model}".split())
    bus = directory / "device/subsystem"
    if bus.exists():
        return f"{bus.resolve().name} disk"  # virtio tells nothing more
    return ""


def _scheduler(directory: Path) -> str:
    """The one in brackets of "none [mq-deadline] kyber"; without brackets all there is."""
    text = _text(directory / "queue/scheduler")
    chosen = re.search(r"\[(\S+)\]", text)
    return chosen.group(1) if chosen else text


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""  # /sys files come and go with the driver

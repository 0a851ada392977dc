"""One disk as /sys shows it: kind, transport, model, write cache and I/O scheduler.

The names are the kernel's: Documentation/ABI/stable/sysfs-block and, for the links between
devices, Documentation/admin-guide/sysfs-rules.rst.
"""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.host.files import read_text
from benchmarks.storage.identity import DeviceIdentity
from benchmarks.storage.kinds import DeviceKind, Transport

_SECTOR = 512  # the unit of every size in /sys, whatever the disk's own sector

# Words in "vendor model", lower case. A virtual disk's rotational flag and transport are the
# hypervisor's choice and say nothing about the medium.
_REMOTE = ("elastic block store", "nvme_card-pd", "persistentdisk")
_VIRTUAL = ("qemu", "vmware", "vbox", "msft", "virtual disk", "virtual nvme", "google")
_RAID_CONTROLLERS = (
    "perc",
    "megaraid",
    "mr9",
    "serveraid",
    "logical volume",  # HP and HPE Smart Array
    "smart array",
    "avago",
    "dellboss",
    "adaptec",
    "aacraid",
)


def read_disk(directory: Path) -> DeviceIdentity:
    """Return the disk, array or volume whose /sys directory (symlinks resolved) this is.

    Its serial number is the World Wide Name if it has one.
    """
    label, name = _label(directory), device_name(directory)
    model, kind = _model(directory), _kind(directory, label)
    is_controller = any(word in label for word in _RAID_CONTROLLERS)
    notes: tuple[str, ...] = ()
    if is_controller:
        notes = (
            f"{name} is an array behind a hardware RAID controller ({model}): only the "
            "controller's own tool shows its level, members and cache.",
        )
    elif kind is DeviceKind.OTHER:
        notes = (
            f"The medium of {name} ({model or 'no model'}) cannot be detected, as "
            "with most virtual disks; set the kind if you know it.",
        )
    return DeviceIdentity(
        kind=kind,
        block_device=name,
        transport=_transport(directory),
        model=model,
        rotational=_rotational(directory),
        scheduler=_scheduler(directory),
        write_cache=read_text(directory / "queue/write_cache"),
        raid_level="hardware" if is_controller else "",
        notes=notes,
        serial=_serial(directory),
    )


def device_name(directory: Path) -> str:
    """The name in /proc/diskstats; /sys cannot have its slashes (cciss/c0d0)."""
    return directory.name.replace("!", "/")


def size_bytes(directory: Path) -> int:
    """The capacity of a disk, array or partition; 0 where unknown."""
    size = read_text(directory / "size")
    return int(size) * _SECTOR if size.isdigit() else 0


def _label(directory: Path) -> str:
    return f"{read_text(directory / 'device/vendor')} {_model(directory)}".lower()


def _kind(directory: Path, label: str) -> DeviceKind:
    transport = _transport(directory)
    if transport is Transport.NETWORK or any(word in label for word in _REMOTE):
        return DeviceKind.NETWORK
    if any(word in label for word in _RAID_CONTROLLERS):
        return DeviceKind.RAID
    if any(word in label for word in _VIRTUAL):
        return DeviceKind.OTHER
    if transport is Transport.NVME:
        return DeviceKind.NVME
    if transport is Transport.USB or not directory.name.startswith("sd"):
        return DeviceKind.OTHER
    rotational = _rotational(directory)
    if rotational:
        return DeviceKind.HDD
    if rotational is False and transport is Transport.SATA:
        return DeviceKind.SATA_SSD
    if rotational is False and transport is Transport.SAS:
        return DeviceKind.SAS_SSD
    return DeviceKind.OTHER


def _transport(directory: Path) -> Transport:
    name, path = directory.name, f"{directory}/"
    # network block devices by name, iSCSI and Fibre Channel by their place
    if re.match(r"(nbd|rbd|drbd)\d", name) or re.search(r"/(session\d+|rport-[^/]+)/", path):
        return Transport.NETWORK
    if name.startswith("nvme"):
        # over TCP, RDMA or Fibre Channel; with native multipath the paths are listed below
        controllers = [directory / "device", *sorted((directory / "device").glob("nvme*"))]
        named = {read_text(controller / "transport") for controller in controllers} - {""}
        return Transport.NETWORK if named - {"pcie"} else Transport.NVME
    if re.search(r"/usb\d+/", path):
        return Transport.USB
    if re.search(r"/virtio\d+/", path):
        return Transport.VIRTIO
    if re.search(r"/ata\d+/", path) or read_text(directory / "device/vendor") == "ATA":
        # also a SATA disk behind a SAS controller: the translation layer calls itself ATA
        return Transport.SATA
    if "/end_device-" in path or (directory / "device/sas_address").exists():
        return Transport.SAS
    return Transport.UNKNOWN


def _rotational(directory: Path) -> bool | None:
    return {"0": False, "1": True}.get(read_text(directory / "queue/rotational"))


def _model(directory: Path) -> str:
    model = read_text(directory / "device/model")
    vendor = read_text(directory / "device/vendor")
    if model:
        # "ATA" is the bus, and PCI or virtio put a number there
        prefix = "" if vendor in ("", "ATA") or vendor.startswith("0x") else f"{vendor} "
        return " ".join(f"{prefix}{model}".split())
    bus = directory / "device/subsystem"
    if bus.exists():
        return f"{bus.resolve().name} disk"  # virtio reports nothing more
    return ""


def _serial(directory: Path) -> str:
    # NVMe has both names on the namespace and the controller, SCSI and virtio have one of them.
    places = ("wwid", "device/wwid", "serial", "device/serial")
    found = (" ".join(read_text(directory / place).split()) for place in places)
    return next(filter(None, found), "")


def _scheduler(directory: Path) -> str:
    """The one in brackets of "none [mq-deadline] kyber"; without brackets all there is."""
    text = read_text(directory / "queue/scheduler")
    chosen = re.search(r"\[(\S+)\]", text)
    return chosen.group(1) if chosen else text

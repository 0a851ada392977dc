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
_KIND_OF_WORDS = {
    DeviceKind.NETWORK: ("elastic block store", "nvme_card-pd", "persistentdisk"),
    DeviceKind.RAID: (
        *("perc", "megaraid", "mr9", "serveraid", "avago", "dellboss", "adaptec", "aacraid"),
        *("logical volume", "smart array"),  # HP and HPE
    ),
    DeviceKind.OTHER: ("qemu", "vmware", "vbox", "msft", "virtual disk", "virtual nvme", "google"),
}
_SSDS = {Transport.SATA: DeviceKind.SATA_SSD, Transport.SAS: DeviceKind.SAS_SSD}


def read_disk(directory: Path) -> DeviceIdentity:
    """Return the disk, array or volume whose /sys directory (symlinks resolved) this is.

    Its serial number is the World Wide Name if it has one.
    """
    name, model, transport = device_name(directory), _model(directory), _transport(directory)
    rotational = {"0": False, "1": True}.get(read_text(directory / "queue/rotational"))
    kind = _kind(directory, transport, rotational)
    notes: tuple[str, ...] = ()
    if kind is DeviceKind.RAID:
        notes = (
            f"{name} is an array behind a hardware RAID controller ({model}): only the "
            "controller's own tool shows its level, members and cache.",
        )
    elif kind is DeviceKind.OTHER:
        notes = (
            f"The medium of {name} ({model or 'no model'}) cannot be detected, as "
            "with most virtual disks; set the kind if you know it.",
        )
    schedulers = read_text(directory / "queue/scheduler")  # "none [mq-deadline] kyber", or one
    chosen = re.search(r"\[(\S+)\]", schedulers)
    return DeviceIdentity(
        kind=kind,
        block_device=name,
        transport=transport,
        model=model,
        rotational=rotational,
        scheduler=chosen.group(1) if chosen else schedulers,
        write_cache=read_text(directory / "queue/write_cache"),
        raid_level="hardware" if kind is DeviceKind.RAID else "",
        notes=notes,
        serial=_serial(directory),
    )


def device_name(directory: Path) -> str:
    """Return the name in /proc/diskstats; /sys cannot have its slashes (cciss/c0d0)."""
    return directory.name.replace("!", "/")


def size_bytes(directory: Path) -> int:
    """Return the capacity of a disk, array or partition; 0 where unknown."""
    size = read_text(directory / "size")
    return int(size) * _SECTOR if size.isdigit() else 0


def _kind(directory: Path, transport: Transport, rotational: bool | None) -> DeviceKind:
    if transport is Transport.NETWORK:
        return DeviceKind.NETWORK
    label = f"{read_text(directory / 'device/vendor')} {_model(directory)}".lower()
    for kind, words in _KIND_OF_WORDS.items():
        if any(word in label for word in words):
            return kind
    if transport is Transport.NVME:
        return DeviceKind.NVME
    if transport is Transport.USB or rotational is None or not directory.name.startswith("sd"):
        return DeviceKind.OTHER
    return DeviceKind.HDD if rotational else _SSDS.get(transport, DeviceKind.OTHER)


def _transport(directory: Path) -> Transport:
    name, path = directory.name, f"{directory}/"
    # network block devices by name, iSCSI and Fibre Channel by their place
    if re.match(r"(nbd|rbd|drbd)\d", name) or re.search(r"/(session\d+|rport-[^/]+)/", path):
        return Transport.NETWORK
    if name.startswith("nvme"):
        # over TCP, RDMA or Fibre Channel; with native multipath the paths are listed below
        controllers = [directory / "device", *(directory / "device").glob("nvme*")]
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


def _model(directory: Path) -> str:
    model, vendor = (read_text(directory / "device" / name) for name in ("model", "vendor"))
    if model:
        # "ATA" is the bus, and PCI or virtio put a number there
        is_named = vendor != "ATA" and not vendor.startswith("0x")
        return " ".join(f"{vendor if is_named else ''} {model}".split())
    bus = directory / "device/subsystem"
    return f"{bus.resolve().name} disk" if bus.exists() else ""  # all that virtio reports


def _serial(directory: Path) -> str:
    # NVMe has both names on the namespace and the controller, SCSI and virtio have one of them.
    places = ("wwid", "device/wwid", "serial", "device/serial")
    found = (" ".join(read_text(directory / place).split()) for place in places)
    return next(filter(None, found), "")

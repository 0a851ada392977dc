"""What is behind a path, on small /sys trees made to the shape of recorded ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.errors import DeviceUnusable
from benchmarks.storage.identify import identify_device
from benchmarks.storage.identity import DeviceIdentity
from benchmarks.storage.kinds import DeviceKind

PCI = "pci0000:00/0000:00:1f.2"


class Machine:
    """A made-up machine below `root`: its /sys, its mounts, and /data to mount on."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.sys = root / "sys"
        (root / "data").mkdir()
        self.data = Path("/data")
        self.mountinfo = root / "proc/self/mountinfo"
        self.mountinfo.parent.mkdir(parents=True)
        self.lines = ["1 0 0:2 / / rw - rootfs rootfs rw"]

    def add_block(self, number: str, where: str, files: dict[str, str]) -> None:
        """A block device at sys/devices/<where>, e.g. ".../block/sda" or ".../block/sda/sda1"."""
        directory = self.sys / "devices" / where
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            file = directory / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{text}\n")
        for link in (f"dev/block/{number}", f"class/block/{directory.name}"):
            (self.sys / link).parent.mkdir(parents=True, exist_ok=True)
            (self.sys / link).symlink_to(directory)

    def mount(self, device: str, file_system: str, source: str, options: str = "rw") -> None:
        self.lines.append(f"2 1 {device} / {self.data} rw - {file_system} {source} {options}")

    def identify(self, path: Path | None = None) -> DeviceIdentity:
        self.mountinfo.write_text("\n".join(self.lines) + "\n")
        return identify_device(path or self.data, root=self.root)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def disk(vendor: str, model: str, rotational: int, scheduler: str = "none") -> dict[str, str]:
    return {
        "device/vendor": vendor,
        "device/model": model,
        "queue/rotational": str(rotational),
        "queue/scheduler": scheduler,
    }


ATA_PATH = f"{PCI}/ata1/host0/target0:0:0/0:0:0:0/block"
SAS_PATH = f"{PCI}/host1/port-1:0/end_device-1:0/target1:0:0/1:0:0:0/block"


@pytest.mark.parametrize(
    ("where", "files", "kind", "model"),
    [
        (f"{ATA_PATH}/sda", disk("ATA", "Samsung SSD 850", 0), "sata-ssd", "Samsung SSD 850"),
        (f"{ATA_PATH}/sda", disk("ATA", "ST4000NM0035", 1), "hdd", "ST4000NM0035"),
        (f"{SAS_PATH}/sda", disk("SAMSUNG", "PM1633", 0), "sas-ssd", "SAMSUNG PM1633"),
        (f"{SAS_PATH}/sda", disk("SEAGATE", "ST600MP0005", 1), "hdd", "SEAGATE ST600MP0005"),
        (f"{SAS_PATH}/sda", disk("ATA", "Samsung SSD 850", 0), "sata-ssd", "Samsung SSD 850"),
        (f"{PCI}/nvme/nvme0/nvme0n1", disk("", "SAMSUNG PM1725", 0), "nvme", "SAMSUNG PM1725"),
        (
            f"{PCI}/nvme/nvme0/nvme0n1",
            disk("", "Amazon Elastic Block Store", 0),
            "network",
            "Amazon Elastic Block Store",
        ),
        (
            "virtual/nvme-fabrics/ctl/nvme0/nvme0n1",
            disk("", "Linux", 0) | {"device/transport": "tcp"},
            "network",
            "Linux",
        ),
        (f"{PCI}/host2/2:0:0:0/block/sda", disk("DELL", "PERC H730 Mini", 1), "raid", None),
        (f"{ATA_PATH}/sda", disk("ATA", "QEMU HARDDISK", 1), "other", "QEMU HARDDISK"),
        (f"{PCI}/usb2/2-1/host3/3:0:0:0/block/sda", disk("WD", "Elements", 1), "other", None),
        ("platform/host4/session1/4:0:0:1/block/sda", disk("LIO", "vol0", 0), "network", None),
        ("virtual/block/nbd0", {"queue/scheduler": "none"}, "network", ""),
        ("virtual/block/md0", {"queue/scheduler": "none"}, "raid", ""),
        ("virtual/block/dm-0", {"queue/scheduler": "none"}, "other", ""),
    ],
)
def test_the_kind_follows_from_transport_and_medium(
    machine: Machine, where: str, files: dict[str, str], kind: str, model: str | None
) -> None:
    machine.add_block("8:0", where, files)
    machine.mount("8:0", "xfs", "/dev/x")
    found = machine.identify()
    assert found.kind == kind
    assert found.block_device == where.rpartition("/")[2]
    assert model is None or found.model == model


def test_a_file_system_with_a_number_of_its_own_is_found_by_its_source(machine: Machine) -> None:
    where = f"{ATA_PATH}/sdq"
    machine.add_block("65:0", where, disk("ATA", "INTEL SSDSC2BB48", 0))
    machine.add_block("65:1", f"{where}/sdq1", {"partition": "1"})
    machine.mount("0:45", "btrfs", "/dev/sdq1", "rw,subvol=/")
    assert machine.identify().block_device == "sdq"


@pytest.mark.parametrize(
    ("file_system", "source", "kind"),
    [
        ("tmpfs", "tmpfs", DeviceKind.TMPFS),
        ("nfs4", "filer:/vol", DeviceKind.NETWORK),
        ("cifs", "//filer/share", DeviceKind.NETWORK),
        ("fuse.sshfs", "me@filer:/vol", DeviceKind.NETWORK),
        ("fuse.some-object-store", "bucket", DeviceKind.NETWORK),
        ("fuse.mergerfs", "a:b", DeviceKind.OTHER),
        ("zfs", "tank/mysql", DeviceKind.OTHER),
        ("btrfs", "/dev/gone", DeviceKind.OTHER),
    ],
)
def test_without_a_block_device_there_are_no_counters(
    machine: Machine, file_system: str, source: str, kind: DeviceKind
) -> None:
    machine.mount("0:50", file_system, source)
    found = machine.identify()
    assert found.block_device is None
    assert found.kind is kind
    assert (found.model, found.scheduler) == ("", "")
    assert found.notes


def test_disks_of_one_model_are_told_apart_by_their_serial_numbers(tmp_path: Path) -> None:
    """A mount that is missing after a reboot leaves its directory behind, on another disk."""
    found = []
    for number in (1, 2):
        (tmp_path / str(number)).mkdir()
        machine = Machine(tmp_path / str(number))
        files = {"device/model": "SAMSUNG PM1725", "device/serial": f"S3RVNA0J0000{number}"}
        machine.add_block(f"259:{number}", f"{PCI}/nvme/nvme0/nvme{number}n1", files)
        machine.mount(f"259:{number}", "xfs", f"/dev/nvme{number}n1")
        found.append(machine.identify())
    assert [identity.serial for identity in found] == ["S3RVNA0J00001", "S3RVNA0J00002"]
    assert not found[0].is_same_device(found[1])
    renamed = replace(found[0], block_device="nvme1n1")
    assert found[0].is_same_device(renamed)


def test_partitions_of_one_disk_are_told_apart_by_their_file_systems(machine: Machine) -> None:
    where = f"{PCI}/virtio1/block/vda"
    machine.add_block("254:0", where, {"serial": "QM00001"})
    for number, uuid in ((1, "2f6d1c1e-root"), (2, "7b0a55d2-data")):
        machine.add_block(f"254:{number}", f"{where}/vda{number}", {"partition": str(number)})
        link = machine.root / "dev/disk/by-uuid" / uuid
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(f"../../vda{number}")
    machine.lines = ["1 0 254:1 / / rw - ext4 /dev/vda1 rw"]
    on_root = machine.identify()
    machine.mount("254:2", "ext4", "/dev/vda2")
    on_data = machine.identify()
    found = [one.file_system_uuid for one in (on_root, on_data)]
    assert found == ["2f6d1c1e-root", "7b0a55d2-data"]
    assert on_root.serial == on_data.serial == "QM00001"
    assert not on_data.is_same_device(on_root)
    unknown = replace(on_root, file_system_uuid="")  # as in a container, where udev does not run
    assert on_data.is_same_device(unknown)


def test_a_symbolic_link_is_followed_before_the_mount_is_looked_for(machine: Machine) -> None:
    machine.mount("0:50", "tmpfs", "tmpfs")
    (machine.root / "link").symlink_to("data")
    found = machine.identify(Path("/link"))
    assert (found.kind, found.path) == (DeviceKind.TMPFS, machine.data)
    with pytest.raises(DeviceUnusable, match="No such file"):
        machine.identify(machine.data / "nowhere")

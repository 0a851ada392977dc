"""Through partitions, LVM, encryption, RAID, loop devices and overlays, on recorded hosts."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.storage.identify import identify_device
from benchmarks.storage.identity import DeviceIdentity
from benchmarks.storage.kinds import DeviceKind, Transport
from benchmarks.tests.recorded_hosts import unpack

DATA = Path("/var/lib/mysql")


def on(name: str, root: Path, path: Path = DATA) -> DeviceIdentity:
    """What stores `path` on the recorded host `name`."""
    return identify_device(path, root=unpack(name, root))


@pytest.mark.parametrize(
    ("host", "kind", "device", "model", "rotational", "cache", "scheduler"),
    [
        ("nvme", "nvme", "nvme0n1", "KINGSTON SKC1000240G", False, "back", "none"),
        ("nvme-multipath", "nvme", "nvme0n1", "SAMSUNG MZWLJ1T9HBJR-00007", False, "back", "none"),
        ("sata-ssd", "sata-ssd", "sdb", "Samsung SSD 850", False, "back", "mq-deadline"),
        ("hdd", "hdd", "sda", "ST4000NM0035-1V4", True, "back", "mq-deadline"),
        ("sas", "sas-ssd", "sda", "SAMSUNG MZILS960HEHP0D3", False, "through", "mq-deadline"),
        ("usb", "other", "sdc", "WD Elements 25A2", True, "through", "mq-deadline"),
        ("virtio", "other", "vda", "virtio disk", True, "back", "mq-deadline"),
    ],
)
def test_a_plain_disk_is_read_from_sys(
    tmp_path: Path,
    host: str,
    kind: str,
    device: str,
    model: str,
    rotational: bool,
    cache: str,
    scheduler: str,
) -> None:
    found = on(host, tmp_path)
    assert (found.kind, found.block_device, found.model) == (kind, device, model)
    assert found.rotational is rotational
    assert (found.write_cache, found.scheduler) == (f"write {cache}", scheduler)
    assert (found.raid_level, found.members) == ("", ())
    transport = {"sata-ssd": "sata", "hdd": "sata", "nvme-multipath": "nvme"}.get(host, host)
    assert found.transport == transport


def test_each_directory_has_the_device_that_holds_it(tmp_path: Path) -> None:
    root = unpack("sas", tmp_path)
    devices = {
        path: identify_device(Path(path), root=root)
        for path in ("/var/lib/mysql", "/var/log/mysql", "/var/tmp/mysql")
    }
    assert [(d.block_device, d.kind, d.transport) for d in devices.values()] == [
        ("sda", "sas-ssd", "sas"),
        ("sdb", "hdd", "sas"),
        ("sdc", "sata-ssd", "sata"),
    ]


def test_a_bind_mount_is_on_the_disk_of_its_folder(tmp_path: Path) -> None:
    found = on("hdd", tmp_path)
    assert (found.block_device, found.layers) == ("sda", ("partition sda1",))
    assert found.file_system == "ext4"
    assert found.mount_options == "rw,relatime,errors=remount-ro"


@pytest.mark.parametrize(
    ("host", "level", "members", "model"),
    [
        ("md-raid0", "raid0", ["nvme0n1", "nvme1n1"], "raid0 of 2 x INTEL SSDPED1D480GA"),
        ("md-raid1", "raid1", ["nvme0n1p1", "nvme1n1p1"], "raid1 of 2 x INTEL SSDPED1D480GA"),
        (
            *("md-raid10", "raid10", [f"nvme{i}n1" for i in range(4)]),
            "raid10 of 4 x INTEL SSDPED1D480GA",
        ),
    ],
)
def test_an_md_array_names_its_level_and_each_member(
    tmp_path: Path, host: str, level: str, members: list[str], model: str
) -> None:
    found = on(host, tmp_path)
    assert (found.kind, found.block_device) == (DeviceKind.RAID, "md0")
    assert (found.raid_level, found.raid_disks, found.model) == (level, len(members), model)
    assert [member.name for member in found.members] == members
    assert {member.kind for member in found.members} == {DeviceKind.NVME}
    assert {member.state for member in found.members} == {"in_sync"}
    assert all(member.disk == member.name.removesuffix("p1") for member in found.members)
    assert all(member.total_bytes > 480_000_000_000 for member in found.members)
    assert found.transport is Transport.NVME
    assert found.notes == ()


def test_a_degraded_array_says_so_and_distinguishes_spares_from_members(tmp_path: Path) -> None:
    found = on("md-raid5", tmp_path)
    assert (found.raid_level, found.raid_disks) == ("raid5", 3)
    assert {m.name: m.state for m in found.members} == {
        "sda1": "in_sync",
        "sdb1": "faulty,write_error",
        "sdc1": "in_sync",
        "sdd1": "spare",
    }
    assert {(m.kind, m.model) for m in found.members} == {(DeviceKind.HDD, "WDC WD4003FFBX-6")}
    assert found.model == "raid5 of 2 x WDC WD4003FFBX-6"
    assert found.notes == (
        "md0 is degraded: 1 of its disks missing or failed.",
        "md0 is busy with recover: figures taken now are too low.",
    )


@pytest.mark.parametrize(
    ("host", "device", "kind", "layers"),
    [
        (
            *("lvm-nvme", "nvme0n1", "nvme"),
            ("LVM volume vg0-mysql (dm-1)", "partition nvme0n1p3"),
        ),
        (
            *("lvm-thin", "nvme0n1", "nvme"),
            (
                "LVM volume vg0-mysql (dm-4)",
                "LVM volume vg0-pool-tpool (dm-2)",
                "LVM volume vg0-pool_tdata (dm-1)",
                "partition nvme0n1p3",
            ),
        ),
        (
            *("dm-crypt", "nvme0n1", "nvme"),
            (
                "LVM volume vg--host-root (dm-1)",
                "dm-crypt nvme0n1p3_crypt (dm-0)",
                "partition nvme0n1p3",
            ),
        ),
        (
            *("loop", "nvme0n1", "nvme"),
            ("loop device loop0 on /srv/images/mysql.img", "partition nvme0n1p2"),
        ),
        ("multipath", "dm-0", "network", ("multipath mpatha (dm-0)",)),
    ],
)
def test_layers_over_one_disk_are_that_disk(
    tmp_path: Path, host: str, device: str, kind: str, layers: tuple[str, ...]
) -> None:
    found = on(host, tmp_path)
    assert (found.block_device, found.kind, found.layers) == (device, kind, layers)
    assert found.model
    assert found.members == ()


def test_encryption_is_pointed_out(tmp_path: Path) -> None:
    assert on("dm-crypt", tmp_path).notes == ("Encrypted: every request costs CPU time.",)


def test_a_volume_over_two_disks_is_their_kind_and_no_raid(tmp_path: Path) -> None:
    found = on("lvm-2-disks", tmp_path)
    assert (found.kind, found.block_device) == (DeviceKind.SATA_SSD, "dm-0")
    assert (found.raid_level, found.raid_disks) == ("", 0)
    assert [member.disk for member in found.members] == ["sdb", "sdc"]
    assert found.model == "volume of 2 x Samsung SSD 870"
    assert "does not show how it uses them" in found.notes[0]


def test_a_volume_over_two_kinds_of_disk_is_neither(tmp_path: Path) -> None:
    root = unpack("lvm-2-disks", tmp_path)
    (root / "sys/class/block/sdc/queue/rotational").write_text("1\n")
    assert identify_device(DATA, root=root).kind is DeviceKind.OTHER


def add_volume(root: Path, *slaves: str) -> None:
    """Put LVM on block devices of a recorded host, and /var/lib/mysql on that."""
    volume = root / "sys/devices/virtual/block/dm-0"
    for file, text in (("dm/name", "vg-data"), ("dm/uuid", "LVM-x"), ("size", "2048")):
        (volume / file).parent.mkdir(parents=True, exist_ok=True)
        (volume / file).write_text(f"{text}\n")
    (volume / "slaves").mkdir()
    for slave in slaves:
        target = (root / "sys/class/block" / slave).resolve()
        (volume / "slaves" / slave).symlink_to(target)
    (root / "sys/dev/block/253:0").symlink_to(volume)
    mountinfo = root / "proc/self/mountinfo"
    mountinfo.write_text(mountinfo.read_text().replace(" 9:0 / ", " 253:0 / "))


def test_a_volume_on_an_array_is_that_array(tmp_path: Path) -> None:
    root = unpack("md-raid10", tmp_path)
    add_volume(root, "md0")
    found = identify_device(DATA, root=root)
    assert (found.kind, found.block_device, found.raid_level) == ("raid", "md0", "raid10")
    assert found.layers == ("LVM volume vg-data (dm-0)",)
    assert len(found.members) == 4


def test_a_volume_on_an_array_and_a_disk_names_all_their_disks(tmp_path: Path) -> None:
    root = unpack("md-raid5", tmp_path)
    spare = root / "sys/devices/virtual/block/md0/slaves/sdd1"
    spare.unlink()  # this one is not in the array
    add_volume(root, "md0", "sdd1")
    found = identify_device(DATA, root=root)
    assert (found.kind, found.block_device, found.raid_level) == ("other", "dm-0", "")
    assert [member.disk for member in found.members] == ["sda", "sdb", "sdc", "sdd"]


def test_an_lvm_raid_is_a_volume_over_its_disks(tmp_path: Path) -> None:
    found = on("lvm-raid", tmp_path)
    assert (found.raid_level, found.block_device) == ("", "dm-4")
    assert [member.disk for member in found.members] == ["sdb", "sdc"]


def test_btrfs_over_two_disks_has_no_counters(tmp_path: Path) -> None:
    found = on("btrfs-raid1", tmp_path)
    assert (found.kind, found.block_device, found.members) == ("other", None, ())
    assert "over 2 disks" in found.notes[0]


def test_a_hardware_raid_is_named_as_one_disk_of_unknown_make(tmp_path: Path) -> None:
    found = on("hardware-raid", tmp_path)
    assert (found.kind, found.raid_level) == (DeviceKind.RAID, "hardware")
    assert found.model == "HPE LOGICAL VOLUME"
    assert "hardware RAID controller" in found.notes[0]


def test_an_overlay_has_no_known_device(tmp_path: Path) -> None:
    found = on("overlay-inside", tmp_path)
    assert (found.block_device, found.kind) == (None, DeviceKind.OTHER)
    assert "from inside" in found.notes[0]


def test_a_loop_device_whose_file_is_elsewhere_is_not_guessed(tmp_path: Path) -> None:
    root = unpack("loop", tmp_path)
    (root / "srv/images/mysql.img").unlink()
    found = identify_device(DATA, root=root)
    assert (found.block_device, found.kind) == (None, DeviceKind.OTHER)
    assert found.notes == ("/srv/images/mysql.img cannot be seen from here.",)


def test_a_loop_device_on_itself_ends(tmp_path: Path) -> None:
    root = unpack("loop", tmp_path)
    (root / "sys/class/block/loop0/loop/backing_file").write_text("/var/lib/mysql/own.img\n")
    (root / "var/lib/mysql/own.img").touch()
    found = identify_device(DATA, root=root)
    assert (found.block_device, found.kind) == (None, DeviceKind.OTHER)


def test_the_users_kind_counts_and_what_was_found_stays(tmp_path: Path) -> None:
    found = on("virtio", tmp_path).corrected(DeviceKind.NVME)
    assert (found.kind, found.discovered_kind) == (DeviceKind.NVME, DeviceKind.OTHER)
    assert found.corrected(DeviceKind.HDD).discovered_kind is DeviceKind.OTHER
    taken_back = found.corrected(None)
    assert (taken_back.kind, taken_back.discovered_kind) == (DeviceKind.OTHER, None)
    assert found.corrected(DeviceKind.OTHER) == taken_back


@pytest.mark.parametrize("host", ["md-raid5", "nvme", "overlay-inside"])
def test_an_identity_survives_json(tmp_path: Path, host: str) -> None:
    found = on(host, tmp_path).corrected(DeviceKind.SAS_SSD)
    stored = json.loads(json.dumps(found.as_json()))
    assert DeviceIdentity.from_json(stored) == found
    assert DeviceIdentity.from_json(stored | {"from": "a newer version"}) == found


@pytest.fixture
def loop_mount(tmp_path: Path) -> Iterator[Path]:
    """A file system of this machine on a loop device."""
    for program in ("losetup", "mkfs.ext4", "mount", "umount"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    image, place = tmp_path / "image", tmp_path / "mounted"
    with image.open("wb") as file:
        file.truncate(32 * 1024 * 1024)
    place.mkdir()
    made = subprocess.run(
        ["losetup", "--find", "--show", image], capture_output=True, text=True, check=False
    )
    if made.returncode:
        pytest.skip(f"no loop device can be made here: {made.stderr.strip()}")
    device = made.stdout.strip()
    try:
        subprocess.run(["mkfs.ext4", "-q", device], check=True, timeout=30)
        mounted = subprocess.run(
            ["mount", device, place], capture_output=True, text=True, check=False
        )
        if mounted.returncode:
            pytest.skip(f"mounting is not allowed here: {mounted.stderr.strip()}")
        try:
            yield place
        finally:
            subprocess.run(["umount", place], check=True, timeout=30)
    finally:
        subprocess.run(["losetup", "--detach", device], check=True, timeout=30)


def test_a_real_loop_device_leads_to_the_disk_of_its_file(
    loop_mount: Path, tmp_path: Path
) -> None:
    inside, outside = identify_device(loop_mount), identify_device(tmp_path)
    assert inside.file_system == "ext4"
    assert inside.layers[0].startswith("loop device loop")
    assert (inside.block_device, inside.kind) == (outside.block_device, outside.kind)
    assert inside.total_bytes < 32 * 1024 * 1024 < outside.total_bytes

"""Which mount a path is on: the kernel's list read as the kernel walks it."""

from __future__ import annotations

from pathlib import Path

from benchmarks.host.files import Mount, mount_of, read_mounts

ROOT = "1 0 254:1 / / rw,relatime - ext4 /dev/vda1 rw,discard"


def mounts(tmp_path: Path, *lines: str) -> list[Mount]:
    file = tmp_path / "mountinfo"
    file.write_text("\n".join((ROOT, *lines)) + "\n")
    return read_mounts(file)


def found(path: str, listed: list[Mount]) -> int | None:
    mount = mount_of(Path(path), listed)
    return mount.id if mount is not None else None


def test_the_nearest_mount_above_a_path_is_found(tmp_path: Path) -> None:
    listed = mounts(
        tmp_path,
        "2 1 254:2 / /data rw - xfs /dev/vda2 rw",
        "3 2 254:3 / /data/log rw - xfs /dev/vda3 rw",
    )
    assert found("/data/log/redo", listed) == 3
    assert found("/data/log", listed) == 3
    assert found("/data/login", listed) == 2  # a name that only starts alike
    assert found("/database", listed) == 1
    assert found("/", listed) == 1


def test_a_bind_mount_leads_to_what_is_bound(tmp_path: Path) -> None:
    listed = mounts(tmp_path, "5 1 259:3 /srv/mysql /var/lib/mysql rw - xfs /dev/nvme0n1p1 rw")
    mount = mount_of(Path("/var/lib/mysql/ibdata1"), listed)
    assert mount is not None
    assert (mount.device, mount.source) == ("259:3", "/dev/nvme0n1p1")


def test_the_last_of_two_mounts_on_one_directory_wins(tmp_path: Path) -> None:
    # the second is mounted on the root of the first: its parent is the first, not the root
    listed = mounts(
        tmp_path,
        "2 1 0:30 / /data rw - tmpfs tmpfs rw",
        "3 2 254:2 / /data rw - xfs /dev/vda2 rw",
    )
    assert found("/data/x", listed) == 3


def test_a_mount_covered_by_a_later_one_is_not_found(tmp_path: Path) -> None:
    # /srv was mounted over the directory that holds the mount point /srv/data
    listed = mounts(
        tmp_path,
        "2 1 254:2 / /srv/data rw - xfs /dev/vda2 rw",
        "3 1 254:3 / /srv rw - ext4 /dev/vda3 rw",
    )
    assert found("/srv/data/x", listed) == 3


def test_escapes_and_optional_fields_of_the_kernel_are_understood(tmp_path: Path) -> None:
    listed = mounts(
        tmp_path,
        r"2 1 254:2 / /my\040data\134x rw shared:7 master:1 - xfs /dev/disk\040a rw,inode64",
    )
    mount = mount_of(Path("/my data\\x/y"), listed)
    assert mount is not None
    assert (mount.file_system, mount.source) == ("xfs", "/dev/disk a")


def test_options_are_listed_once_and_without_the_layers_of_a_container(tmp_path: Path) -> None:
    (mount,) = mounts(
        tmp_path,
        "2 1 0:40 / /c rw,noatime - overlay overlay rw,lowerdir=/l/ab12,upperdir=/u,workdir=/w",
    )[1:]
    assert mount.stable_options() == "rw,noatime"


def test_a_root_that_is_not_listed_is_unknown(tmp_path: Path) -> None:
    file = tmp_path / "mountinfo"
    file.write_text("7 6 0:22 / /proc rw - proc proc rw\n")  # in a chroot
    assert mount_of(Path("/data"), read_mounts(file)) is None


def test_the_list_of_this_machine_can_be_read() -> None:
    listed = read_mounts()
    proc = mount_of(Path("/proc/self"), listed)
    assert proc is not None
    assert proc.file_system == "proc"

"""A path is refused before a run touches it, and the message says what and why."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.errors import DeviceFull, DeviceUnusable
from benchmarks.inventory.inspection import inspect_directory
from benchmarks.storage.human import human_bytes
from benchmarks.storage.identify import check_usable

GIB = 1024**3


def test_a_writable_directory_with_room_passes_and_is_left_as_it_was(tmp_path: Path) -> None:
    check_usable(tmp_path, 1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "reason"), [("gone", "does not exist"), ("file", "not a directory")]
)
def test_what_is_no_directory_is_refused_by_name(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DeviceUnusable, match=f"{tmp_path}/{name}: {reason}"):
        check_usable(tmp_path / name, 0)


def test_too_little_room_names_both_figures(tmp_path: Path) -> None:
    needed = 5000 * 1024 * GIB
    with pytest.raises(DeviceUnusable, match=r"[\d.]+ (G|T)B free, 5,497\.6 TB needed"):
        check_usable(tmp_path, needed)


def test_a_directory_that_refuses_files_is_found_out_by_writing() -> None:
    # nobody, not even root, creates files in /sys, whatever its permission bits say
    with pytest.raises(DeviceUnusable, match="/sys: cannot be written to"):
        check_usable(Path("/sys"), 0)


@pytest.mark.skipif(os.geteuid() == 0, reason="permission bits do not bind root")
def test_a_directory_without_write_permission_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    with pytest.raises(DeviceUnusable, match="permission denied"):
        check_usable(tmp_path, 0)


def test_a_read_only_mount_is_refused_even_for_root(mount_tmpfs: Callable[[str], Path]) -> None:
    with pytest.raises(DeviceUnusable, match="mounted read-only"):
        check_usable(mount_tmpfs("ro"), 0)


def test_a_full_disk_is_refused_however_little_is_needed(
    mount_tmpfs: Callable[[str], Path],
) -> None:
    target = mount_tmpfs("size=64k")
    (target / "filler").write_bytes(b"x" * 64 * 1024)
    with pytest.raises(DeviceFull, match="no space left"):
        check_usable(target, 0)
    assert inspect_directory(target).room.free == 0  # the host has it, to be used again
    assert [path.name for path in target.iterdir()] == ["filler"]


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1536, "1.5 kB"),
        (3 * GIB, "3.2 GB"),
        (5 * 10**12, "5.0 TB"),
        (5 * 10**15, "5,000.0 TB"),
    ],
)
def test_sizes_are_written_for_people(count: int, text: str) -> None:
    assert human_bytes(count) == text

"""A path is refused before a run touches it, and the message says what and why."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.errors import DeviceFull, DeviceUnusable
from benchmarks.inventory.inspection import inspect_directory
from benchmarks.storage.human import human_bytes
from benchmarks.storage.identify import check_usable, supports_direct_io

GIB = 1024**3


def test_a_writable_directory_with_room_passes_and_is_left_as_it_was(tmp_path: Path) -> None:
    check_usable(tmp_path, 1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("gone", "No such file"),
        ("file", "Not a directory"),
        # nobody, not even root, creates files in /sys, whatever its permission bits say
        ("/sys", ""),
    ],
)
def test_what_refuses_files_is_found_out_by_writing(
    tmp_path: Path, path: str, reason: str
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DeviceUnusable, match=f"{path}: cannot be written to: {reason}"):
        check_usable(tmp_path / path, 0)


def test_too_little_room_names_both_figures(tmp_path: Path) -> None:
    needed = 5000 * 1024 * GIB
    with pytest.raises(DeviceFull, match=r"[\d.]+ (G|T)B free, 5,497\.6 TB needed"):
        check_usable(tmp_path, needed)


@pytest.mark.skipif(os.geteuid() == 0, reason="permission bits do not bind root")
def test_a_directory_without_write_permission_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    with pytest.raises(DeviceUnusable, match="Permission denied"):
        check_usable(tmp_path, 0)


def test_a_read_only_mount_is_refused_even_for_root(mount_tmpfs: Callable[[str], Path]) -> None:
    with pytest.raises(DeviceUnusable, match="Read-only file system"):
        check_usable(mount_tmpfs("ro"), 0)


def test_a_full_disk_is_refused_however_little_is_needed(
    mount_tmpfs: Callable[[str], Path],
) -> None:
    target = mount_tmpfs("size=64k")
    (target / "filler").write_bytes(b"x" * 64 * 1024)
    with pytest.raises(DeviceFull, match="No space left"):
        check_usable(target, 0)
    assert inspect_directory(target).room.free == 0  # the host has it, to be used again
    assert [path.name for path in target.iterdir()] == ["filler"]


def test_direct_io_is_what_the_kernel_does_here(tmp_path: Path) -> None:
    """Against dd, which asks in its own way; some file systems of tests may not have it."""
    command = ["dd", "if=/dev/zero", f"of={tmp_path}/dd", "bs=4096", "count=1", "oflag=direct"]
    status = subprocess.run(command, capture_output=True, check=False).returncode
    (tmp_path / "dd").unlink(missing_ok=True)
    assert supports_direct_io(tmp_path) is (status == 0)
    assert list(tmp_path.iterdir()) == []
    assert supports_direct_io(tmp_path / "absent") is None
    assert supports_direct_io(Path("/proc")) is None


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (OSError(errno.EINVAL, "no"), False),
        (OSError(errno.EOPNOTSUPP, "no"), False),
        (OSError(errno.ENOSPC, "full"), None),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ],
)
def test_only_a_missing_feature_means_no_direct_io(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, expected: object
) -> None:
    def fails(*_: object) -> int:
        raise error

    monkeypatch.setattr("os.write", fails)
    if expected is KeyboardInterrupt:
        with pytest.raises(KeyboardInterrupt):
            supports_direct_io(tmp_path)
    else:
        assert supports_direct_io(tmp_path) is expected
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1536, "1.5 kB"),
        (3 * GIB, "3.2 GB"),
        (5 * 10**15, "5,000.0 TB"),
    ],
)
def test_sizes_are_written_for_people(count: int, text: str) -> None:
    assert human_bytes(count) == text

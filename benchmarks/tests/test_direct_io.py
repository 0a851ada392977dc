"""Direct I/O is found by doing it, and the try leaves nothing behind."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path

import pytest

from benchmarks.storage.identify import supports_direct_io


def test_what_the_kernel_does_here_is_what_is_said(tmp_path: Path) -> None:
    """Against dd, which asks in its own way; some file systems of tests may not have it."""
    command = ["dd", "if=/dev/zero", f"of={tmp_path}/dd", "bs=4096", "count=1", "oflag=direct"]
    status = subprocess.run(command, capture_output=True, check=False).returncode
    (tmp_path / "dd").unlink(missing_ok=True)
    assert supports_direct_io(tmp_path) is (status == 0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("number", "expected"),
    [(errno.EINVAL, False), (errno.EOPNOTSUPP, False), (errno.ENOSPC, None), (errno.EIO, None)],
)
def test_only_a_missing_feature_is_a_no(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, expected: bool | None
) -> None:
    def fails(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("os.write", fails)
    assert supports_direct_io(tmp_path) is expected
    assert list(tmp_path.iterdir()) == []


def test_where_nothing_can_be_written_nothing_is_known(tmp_path: Path) -> None:
    assert supports_direct_io(tmp_path / "absent") is None
    assert supports_direct_io(Path("/proc")) is None
    (tmp_path / "file").touch()
    assert supports_direct_io(tmp_path / "file") is None


def test_an_interrupt_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        supports_direct_io(tmp_path)
    assert list(tmp_path.iterdir()) == []

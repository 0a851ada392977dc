"""The files of records are counted as they come, and deleted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.drivers import program
from benchmarks.drivers.protocol import TransactionCounts
from benchmarks.drivers.sysbench_records import RECORD, RecordCounter
from benchmarks.drivers.workloads import tpcc


@pytest.fixture(autouse=True)
def files_are_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read here was not written by a program."""
    monkeypatch.setattr(program, "server_user", lambda: None)


def write(directory: Path, name: str, *records: tuple[float, float, int, int, int]) -> None:
    np.array(list(records), dtype=RECORD).tofile(directory / name)


def left(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_what_ended_in_the_measured_interval_is_counted_once(tmp_path: Path) -> None:
    counter = RecordCounter(tmp_path, tpcc(1), measure_s=2)
    write(tmp_path, "records.0.0", (99.9, 5.0, 0, 0, 0))
    counter.take()  # before measuring began: warm-up
    assert left(tmp_path) == []
    write(tmp_path, "records.0.1", (99.95, 5.0, 0, 0, 0), (100.0, 7.0, 1, 0, 0))
    write(tmp_path, "records.1", (100.5, 9.0, 0, 0, 0))  # still being written
    (tmp_path / "control").touch()
    counter.begin = 100.0
    counter.take()
    assert left(tmp_path) == ["control", "records.1"]
    assert counter.times.per_second() == [1, 0]
    (tmp_path / "records.1").rename(tmp_path / "records.1.0")
    write(
        tmp_path,
        "records.0.2",
        (101.2, 3.0, 0, 1, 0),  # a Payment
        (101.4, 90.0, 2000, 0, 1),  # a New-Order that failed for good
        (102.0, 4.0, 0, 0, 0),
        (102.05, 80.0, 0, 0, 0),
    )
    counter.end = 102.04
    counter.take()
    counter.take()
    assert left(tmp_path) == ["control"]
    assert counter.times.per_second() == [2, 1]  # what ended a little later is of the last
    assert counter.times.max_ms == 9.0
    assert counter.counts()["new_order"] == TransactionCounts(3, 2001, 1)
    assert counter.counts()["payment"] == TransactionCounts(1, 0, 0)
    assert counter.counts()["delivery"] == TransactionCounts(0, 0, 0)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"1234567", "multiple of"),
        (np.array([(0.5, 1.0, 0, 9, 0)], dtype=RECORD).tobytes(), "transaction 9 is unknown"),
        (np.array([(0.5, float("nan"), 0, 0, 0)], dtype=RECORD).tobytes(), "no times"),
    ],
    ids=["cut-off", "unknown-kind", "no-time"],
)
def test_strange_files_are_refused(tmp_path: Path, content: bytes, complaint: str) -> None:
    (tmp_path / "records.0.0").write_bytes(content)
    counter = RecordCounter(tmp_path, tpcc(1), measure_s=1)
    counter.begin = 0.0
    with pytest.raises(ValueError, match=complaint):
        counter.take()


def test_a_link_in_place_of_a_file_is_not_followed(tmp_path: Path) -> None:
    secret, directory = tmp_path / "secret", tmp_path / "records"
    directory.mkdir()
    write(tmp_path, "secret", (0.5, 1.0, 0, 0, 0))
    (directory / "records.0.0").symlink_to(secret)
    with pytest.raises(OSError, match="symbolic link"):
        RecordCounter(directory, tpcc(1), measure_s=1).take()

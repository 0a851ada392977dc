"""Clones: complete, independent of the golden copy, and gone when they fail."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks.datasets.cloning import clone
from benchmarks.datasets.source import Dataset
from benchmarks.datasets.tpcc import check_consistency
from benchmarks.errors import LoadFailed, RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.servers.binary import Flavour, ServerBinary
from benchmarks.servers.running import running_server
from benchmarks.storage import copying
from benchmarks.tests.quick import QUICK

FILES = {
    "ibdata1": b"i" * 5000,
    "tpcc/stock.ibd": os.urandom(3 << 20),
    "tpcc/empty.ibd": b"",
    "#innodb_redo/#ib_redo0": b"r" * 100,
    "ib_logfile0": b"l" * 200,
    "auto.cnf": b"[auto]",
}


@pytest.fixture
def golden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Dataset:
    """A small golden copy that no server made, but larger than what is copied at a time."""
    monkeypatch.setattr(copying, "_CHUNK", 1 << 20)
    place = tmp_path / "golden"
    for name, content in FILES.items():
        path = place / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(0o640)
    (place / "data" / "tpcc").chmod(0o750)
    (place / "data").chmod(0o750)
    total = sum(map(len, FILES.values()))
    return Dataset(place, total, {})


def content(place: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(place)): path.read_bytes()
        for path in place.rglob("*")
        if path.is_file()
    }


def test_a_clone_is_the_same_and_independent(golden: Dataset, tmp_path: Path) -> None:
    clone(golden, tmp_path / "run" / "data")
    assert content(tmp_path / "run" / "data") == FILES
    (tmp_path / "run" / "data" / "ibdata1").write_bytes(b"changed")
    assert content(golden.data_dir) == FILES


@pytest.mark.parametrize("refused", ["flag", "write"])
def test_a_file_system_that_only_writes_through_the_page_cache_has_clones_too(
    refused: str, golden: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor can it reflink."""
    tried: list[int] = []

    def refuse(descriptor: int, *_: object) -> int:
        tried.append(descriptor)
        raise OSError(errno.EINVAL, "Invalid argument")

    def set_flags(descriptor: int, command: int, flags: int = 0) -> int:
        if flags & os.O_DIRECT:
            refuse(descriptor)
        return really(descriptor, command, flags)

    really = fcntl.fcntl
    if refused == "flag":
        monkeypatch.setattr(fcntl, "fcntl", set_flags)
    else:
        monkeypatch.setattr(os, "write", refuse)
    monkeypatch.setattr(fcntl, "ioctl", refuse)
    clone(golden, tmp_path / "data")
    assert content(tmp_path / "data") == FILES
    assert len(tried) > 1


def test_a_part_of_a_page_that_was_written_is_gone_on_with(
    golden: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the disk becomes full: what is reported then is the disk, not the golden copy."""
    written: list[int] = []

    def write_little(descriptor: int, data: memoryview) -> int:
        written.append(really(descriptor, data[:512]))
        return written[-1]

    really = os.write
    monkeypatch.setattr(os, "write", write_little)
    monkeypatch.setattr(copying, "_reflink", lambda *_: False)
    clone(golden, tmp_path / "data")
    assert content(tmp_path / "data") == FILES
    assert written == [512]


def test_a_clone_is_ours_until_it_is_given_to_a_server(golden: Dataset, tmp_path: Path) -> None:
    clone(golden, tmp_path / "clone")
    for path in (tmp_path / "clone", *(tmp_path / "clone").rglob("*")):
        found = path.stat()
        assert found.st_uid == os.geteuid()
        assert not found.st_mode & 0o077


@pytest.mark.parametrize("name", ["ibdata1", "tpcc"])
def test_links_in_a_golden_copy_are_not_followed(
    golden: Dataset, tmp_path: Path, name: str
) -> None:
    (golden.data_dir / name).rename(tmp_path / "secret")
    (golden.data_dir / name).symlink_to(tmp_path / "secret")
    with pytest.raises(LoadFailed, match="is a link"):
        clone(golden, tmp_path / "clone")
    assert not (tmp_path / "clone").exists()


def test_the_redo_log_goes_to_the_log_device(golden: Dataset, tmp_path: Path) -> None:
    clone(golden, tmp_path / "data", log_dir=tmp_path / "log")
    logs = {"#innodb_redo/#ib_redo0", "ib_logfile0"}
    assert set(content(tmp_path / "log")) == logs
    assert set(content(tmp_path / "data")) == set(FILES) - logs
    assert not (tmp_path / "data" / "#innodb_redo").exists()
    assert (tmp_path / "log").stat().st_mode == (tmp_path / "data").stat().st_mode


def test_empty_places_are_used_and_others_refused(golden: Dataset, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    clone(golden, tmp_path / "data")
    with pytest.raises(FileExistsError, match="not empty"):
        clone(golden, tmp_path / "data")
    assert content(tmp_path / "data") == FILES


def test_cancelled_clones_are_removed(golden: Dataset, tmp_path: Path) -> None:
    asked = iter([False, False, True])
    with pytest.raises(RunFailed) as caught:
        clone(golden, tmp_path / "data", log_dir=tmp_path / "log", should_stop=lambda: next(asked))
    assert caught.value.outcome is Outcome.CANCELLED
    assert not (tmp_path / "data").exists()
    assert not (tmp_path / "log").exists()


def test_reflinks_are_used_where_the_file_system_can(
    golden: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reflink(target: int, request: int, source: int) -> int:
        assert request == 0x40049409
        os.write(target, os.pread(source, 1 << 30, 0))
        return 0

    monkeypatch.setattr(fcntl, "ioctl", reflink)
    monkeypatch.setattr(os, "sendfile", lambda *arguments: pytest.fail("copied"))
    clone(golden, tmp_path / "data")
    assert content(tmp_path / "data") == FILES


def test_other_errors_of_reflinking_are_not_hidden(
    golden: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: object) -> int:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(fcntl, "ioctl", broken)
    with pytest.raises(OSError, match="Input/output"):
        clone(golden, tmp_path / "data")
    assert not (tmp_path / "data").exists()


@pytest.fixture
def small_device(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    place = tmp_path / "small"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if subprocess.run(command, check=False, capture_output=True).returncode != 0:
        pytest.skip("this container may not mount")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize("full", ["data", "log"])
def test_a_full_disk_is_reported_and_the_part_removed(
    golden: Dataset, tmp_path: Path, small_device: Path, full: str
) -> None:
    (golden.data_dir / "ib_logfile0").write_bytes(b"l" * 2_000_000)
    places = {"data": tmp_path / "data", "log": tmp_path / "log"}
    places[full] = small_device / full
    with pytest.raises(RunFailed, match=r"no room .* free") as caught:
        clone(golden, places["data"], log_dir=places["log"])
    assert caught.value.outcome is Outcome.DISK_FULL
    assert "small" in str(caught.value)
    assert not places["data"].exists()
    assert not places["log"].exists()


@pytest.mark.server
def test_a_server_runs_on_a_clone_and_the_golden_copy_stays(
    any_server: ServerBinary,
    golden_dataset: Callable[[ServerBinary], Dataset],
    server_tmp: Path,
) -> None:
    dataset = golden_dataset(any_server)
    before = {path: path.stat().st_mtime_ns for path in dataset.path.rglob("*")}
    data, log = server_tmp / "data", server_tmp / "log"
    clone(dataset, data, log_dir=log)
    with running_server(
        any_server,
        data_dir=data,
        log_dir=log,
        run_dir=server_tmp / "run",
        options={**QUICK, **dataset.options},
    ) as server:
        assert server.variables()["innodb_page_size"] == dataset.options["innodb_page_size"]
        with contextlib.closing(server.connect(database="tpcc")) as connection:
            assert check_consistency(connection) == []
            with connection.cursor() as cursor:
                cursor.execute("DELETE FROM new_orders WHERE no_o_id < 2900")
        # Neither recovered after a crash nor warmed by a dump of another buffer pool.
        started = server.error_log_tail(200).lower()
        assert "crash recovery" not in started
        assert "not shut down normally" not in started
        assert not (data / "ib_buffer_pool").exists()
        redo = "#innodb_redo" if any_server.flavour is Flavour.MYSQL else "ib_logfile0"
        assert (log / redo).exists()
        assert not (data / redo).exists()
    assert {path: path.stat().st_mtime_ns for path in dataset.path.rglob("*")} == before

"""Golden copies: found, checked, loaded once, and never half there. Filling is made up here."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.datasets import golden, shared_folders, tpcc, tpcc_rows
from benchmarks.datasets.golden import dataset_key, ensure_dataset
from benchmarks.datasets.loading import Meter
from benchmarks.datasets.shared_folders import sweep_loads
from benchmarks.datasets.source import Dataset, tpcc_source
from benchmarks.errors import BenchmarkError, DeviceFull, DeviceUnusable, LoadFailed, RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.ownership import held_folder
from benchmarks.servers.binary import Flavour, ServerBinary
from benchmarks.storage.identify import check_usable

BINARY = ServerBinary(Path("/x/mysqld"), Flavour.MYSQL, (9, 7, 4), "9.7.4-2", "ab" * 32, None)
OTHER = ServerBinary(Path("/x/mysqld"), Flavour.MYSQL, (9, 7, 4), "9.7.4-2", "cd" * 32, None)


class Filler:
    """Stands in for the real loading: writes two files, counts calls, fails when set to."""

    def __init__(self) -> None:
        self.calls = 0
        self.error: BaseException | None = None
        self.pause = 0.0

    def __call__(self, *arguments: Any) -> None:
        folder: Path = arguments[3]
        self.calls += 1
        (folder / "data" / "tpcc").mkdir(parents=True)
        (folder / "data" / "tpcc" / "stock.ibd").write_bytes(b"x" * 1000)
        (folder / "data" / "ibdata1").write_bytes(b"y" * 24)
        time.sleep(self.pause)
        if self.error is not None:
            raise self.error


@pytest.fixture
def filler(monkeypatch: pytest.MonkeyPatch) -> Filler:
    filler = Filler()
    monkeypatch.setattr(golden, "_fill", filler)
    monkeypatch.setattr(shared_folders, "check_usable", lambda path, needed: None)
    return filler


@pytest.fixture
def ensure(tmp_path: Path, filler: Filler) -> Callable[..., Dataset]:
    def call(binary: ServerBinary = BINARY, warehouses: int = 2, **kw: Any) -> Dataset:
        return ensure_dataset(
            tpcc_source(warehouses),
            binary,
            device_dir=tmp_path / "ours",
            **kw,
        )

    return call


def names(place: Path) -> list[str]:
    return sorted(path.name for path in place.iterdir() if not path.name.endswith(".lock"))


def test_loads_once_and_then_finds_it(ensure: Callable[..., Dataset], filler: Filler) -> None:
    first, second = ensure(), ensure()
    assert first == second
    assert filler.calls == 1
    assert first.bytes == 1024
    assert first.data_dir.joinpath("ibdata1").is_file()
    assert first.options == {"innodb_page_size": "16384"}
    assert names(first.path.parent) == [first.path.name]
    assert names(first.path) == ["data", "ready.json"]


def test_ready_file_holds_all_that_is_known(ensure: Callable[..., Dataset]) -> None:
    ready = json.loads((ensure().path / "ready.json").read_text())
    assert ready == {
        "server_digest": "ab" * 32,
        "server_version": "9.7.4-2",
        "title": "2 warehouses",
        "warehouses": 2,
        "page_size": 16384,
        "seed": tpcc_rows.SEED,
        "version": tpcc.VERSION,
        "bytes": 1024,
    }


def test_servers_sizes_and_page_sizes_do_not_share(
    ensure: Callable[..., Dataset], filler: Filler
) -> None:
    paths = {
        ensure().path,
        ensure(OTHER).path,
        ensure(warehouses=3).path,
        ensure(page_size=4096).path,
    }
    assert len(paths) == filler.calls == 4


def test_key_is_readable() -> None:
    assert dataset_key(tpcc_source(10), BINARY, 16384) == "mysql-9.7.4-abababababab-w10-p16k-v2"


def change(place: Path, **values: object) -> None:
    ready = json.loads((place / "ready.json").read_text())
    (place / "ready.json").write_text(json.dumps({**ready, **values}))


DAMAGES: dict[str, Callable[[Path], object]] = {
    "no ready file": lambda place: (place / "ready.json").unlink(),
    "half a ready file": lambda place: (place / "ready.json").write_text("{"),
    "a list": lambda place: (place / "ready.json").write_text("[]"),
    "an empty object": lambda place: (place / "ready.json").write_text("{}"),
    "a file is gone": lambda place: (place / "data" / "ibdata1").unlink(),
    "a file has grown": lambda place: (place / "data" / "ibdata1").write_bytes(b"z" * 25),
    "one file more": lambda place: (place / "data" / "binlog.000001").write_bytes(b"!"),
    "other rows": lambda place: change(place, seed=1),
    "another schema": lambda place: change(place, version=0),
    "another server": lambda place: change(place, server_digest="00" * 32),
    "another page size": lambda place: change(place, page_size=4096),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_copy_is_loaded_again(
    ensure: Callable[..., Dataset], filler: Filler, damage: Callable[[Path], object]
) -> None:
    dataset = ensure()
    damage(dataset.path)
    again = ensure()
    assert filler.calls == 2
    assert again.bytes == 1024
    assert again.data_dir.joinpath("ibdata1").read_bytes() == b"y" * 24
    assert names(again.path.parent) == [again.path.name]


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (LoadFailed("rows are missing"), "load_failed"),
        (RunFailed(Outcome.CANCELLED, "cancelled"), Outcome.CANCELLED),
        (OSError(errno.ENOSPC, "No space left"), Outcome.DISK_FULL),
        (OSError(errno.EACCES, "Permission denied"), "load_failed"),
        (KeyboardInterrupt(), None),
        (ZeroDivisionError(), None),
    ],
    ids=repr,
)
def test_a_failed_load_leaves_nothing(
    ensure: Callable[..., Dataset],
    filler: Filler,
    tmp_path: Path,
    error: BaseException,
    raised: str | None,
) -> None:
    filler.error = error
    with pytest.raises(BenchmarkError if raised else type(error)) as caught:
        ensure()
    assert getattr(caught.value, "code", None) == raised
    assert names(tmp_path / "ours" / "datasets") == []
    filler.error = None
    assert ensure().bytes == 1024


def test_a_worker_clears_away_dead_loads_without_loading_anything(tmp_path: Path) -> None:
    datasets = tmp_path / "datasets"
    assert sweep_loads(datasets) == []
    dead, living = (dataset_key(tpcc_source(size), BINARY, 16384) for size in (2, 5))
    for key in (dead, living):
        (datasets / f"{key}.loading-99" / "data").mkdir(parents=True)
    with held_folder(datasets / f"{living}.loading-99"):
        assert sweep_loads(datasets) == [datasets / f"{dead}.loading-99"]
        assert names(datasets) == [f"{living}.loading-99"]


def test_leftovers_of_dead_loaders_are_removed_whatever_their_key(
    ensure: Callable[..., Dataset], tmp_path: Path
) -> None:
    datasets = tmp_path / "ours" / "datasets"
    own, other = (
        dataset_key(tpcc_source(size), binary, 16384) for size, binary in ((2, BINARY), (5, OTHER))
    )
    for name in (f"{own}.loading-1", f"{other}.loading-99", f"{other}.loading-ab12"):
        (datasets / name / "data").mkdir(parents=True)
        (datasets / name / "data" / "ibdata1").write_bytes(b"half")
    (datasets / "mine").mkdir()  # not ours to touch
    assert names(ensure().path.parent) == ["mine", own]


def test_callers_at_the_same_time_wait_and_share(
    ensure: Callable[..., Dataset], filler: Filler
) -> None:
    filler.pause = 0.5
    heard: set[str] = set()
    found: list[Dataset] = []
    threads = [
        threading.Thread(
            target=lambda: found.append(ensure(progress=lambda _, phase: heard.add(phase)))
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert filler.calls == 1
    assert len({dataset.path for dataset in found}) == 1
    assert "waiting for another load of this dataset" in heard


def test_waiting_can_be_cancelled(
    ensure: Callable[..., Dataset], filler: Filler, tmp_path: Path
) -> None:
    dataset = ensure()
    with dataset.path.with_name(f"{dataset.path.name}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(RunFailed) as caught:
            ensure(should_stop=lambda: True)
    assert caught.value.outcome is Outcome.CANCELLED


def test_the_folders_can_be_entered_whatever_the_umask(
    ensure: Callable[..., Dataset], filler: Filler, tmp_path: Path
) -> None:
    old = os.umask(0o077)
    try:
        dataset = ensure()
    finally:
        os.umask(old)
    for folder in (tmp_path / "ours", tmp_path / "ours" / "datasets", dataset.path):
        assert folder.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize(
    "arguments", [{"warehouses": 0}, {"warehouses": 40_000}, {"page_size": 7}]
)
def test_impossible_sizes_are_refused(
    ensure: Callable[..., Dataset], filler: Filler, arguments: dict[str, int]
) -> None:
    with pytest.raises(ValueError, match="must be"):
        ensure(**arguments)
    assert filler.calls == 0


@pytest.mark.parametrize(
    ("place", "warehouses", "error", "said"),
    [
        ("nowhere/oltp-advisor", 1, DeviceUnusable, "nowhere"),
        ("ours", 30_000, DeviceFull, r"free, .* TB needed"),
    ],
)
def test_a_device_that_cannot_be_used_is_reported_before_loading(
    tmp_path: Path,
    filler: Filler,
    monkeypatch: pytest.MonkeyPatch,
    place: str,
    warehouses: int,
    error: type[Exception],
    said: str,
) -> None:
    monkeypatch.setattr(shared_folders, "check_usable", check_usable)
    with pytest.raises(error, match=said):
        ensure_dataset(
            tpcc_source(warehouses),
            BINARY,
            device_dir=tmp_path / place,
        )
    assert filler.calls == 0
    assert not (tmp_path / "nowhere").exists()
    assert [path.suffix for path in tmp_path.glob("ours/datasets/*")] in ([], [".lock"])


def test_progress_never_goes_back_and_ends_at_one() -> None:
    heard: list[tuple[float, str]] = []
    meter = Meter(lambda *step: heard.append(step), {"a": 1.0, "b": 3.0})
    meter.enter("a")
    meter.advance(0.5)
    meter.enter("b")
    meter.advance(0.5)
    meter.advance(1.7)
    assert heard == [(0, "a"), (0.125, "a"), (0.25, "b"), (0.625, "b"), (1.0, "b")]

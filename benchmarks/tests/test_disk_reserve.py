"""A part of each file system stays free, and what would use it is stopped before it does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest.mock import MagicMock

import psutil
import pytest

from benchmarks import ownership
from benchmarks.datasets.cloning import clone
from benchmarks.datasets.source import Dataset
from benchmarks.errors import DeviceUnusable, RunFailed
from benchmarks.measurement import drive as drive_module
from benchmarks.measurement.measure import measure
from benchmarks.measurement.plan import Plan
from benchmarks.measurement.steps import Steps
from benchmarks.outcomes import Outcome
from benchmarks.probe.run import file_size
from benchmarks.processes import child
from benchmarks.servers import datadir, paths, running
from benchmarks.servers.binary import ServerBinary
from benchmarks.storage.identify import check_usable, identify_device
from benchmarks.storage.reserve import VARIABLE, ReserveWatch, reserve_bytes, room_of
from benchmarks.tests.quick import pretend

MIB = 1024**2
GIB = 1024**3


@pytest.mark.parametrize(
    ("text", "total", "reserve"),
    [
        ("", 10 * GIB, 2 * GIB),
        (" ", 1000 * GIB, 50 * GIB),
        ("20G", 1000 * GIB, 20 * GIB),
        ("1.5 GiB", 1000 * GIB, 3 * GIB // 2),
        ("512MB", 1000 * GIB, 512 * MIB),
        ("8%", 100 * GIB, 8 * GIB),
        ("0", 100 * GIB, 0),
        ("4096", GIB, 4096),
    ],
)
def test_the_setting_is_a_size_or_a_share(text: str, total: int, reserve: int) -> None:
    assert reserve_bytes(total, text) == reserve


@pytest.mark.parametrize("text", ["much", "-1G", "5 apples", "100%", "1e9", "G", "nan"])
def test_what_is_neither_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        reserve_bytes(GIB, text)


def test_what_needs_room_is_refused_where_only_the_reserve_is_left(
    mount_tmpfs: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = mount_tmpfs("size=400m")
    device = identify_device(place)
    check_usable(place, 300 * MIB)
    assert file_size(device) == 100 * MIB
    monkeypatch.setenv(VARIABLE, "25%")
    with pytest.raises(DeviceUnusable, match=r"315.6 MB needed on top of a reserve of 104.9 MB"):
        check_usable(place, 301 * MIB)
    check_usable(place, 0)  # what writes nothing may look at it
    assert file_size(device) == 75 * MIB
    source = place / "golden"
    (source / "data").mkdir(parents=True)
    (source / "data" / "ibdata1").write_bytes(b"x" * 160 * MIB)
    golden = Dataset(source, 160 * MIB, {})
    with pytest.raises(RunFailed, match=r"dataset, which takes 167.8 MB: 251.7 MB") as full:
        clone(golden, place / "clone" / "data")
    assert full.value.outcome is Outcome.DISK_FULL
    assert not (place / "clone" / "data").exists()


def test_a_job_is_stopped_when_anybody_fills_the_disk(
    mount_tmpfs: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    place, other = mount_tmpfs("size=10m"), mount_tmpfs("size=10m")
    monkeypatch.setenv(VARIABLE, "4M")

    def job() -> None:
        with ReserveWatch([other, place], lambda: False) as watch:
            assert not watch.should_stop()
            (place / "of another").write_bytes(b"x" * 7 * MIB)
            assert watch.should_stop()
            (place / "of another").unlink()  # too late: the job is being stopped
            raise RunFailed(Outcome.CANCELLED, "The run was cancelled.")

    with pytest.raises(RunFailed, match=rf"{place}: 3.1 MB free .* 4.2 MB stay free") as full:
        job()
    assert full.value.outcome is Outcome.DISK_FULL
    assert isinstance(full.value.__cause__, RunFailed)
    (place / "of another").write_bytes(b"x" * 7 * MIB)
    with pytest.raises(RunFailed, match=r"3.1 MB free"), ReserveWatch([place], lambda: False):
        pytest.fail("it began although there is no room")


def test_what_ends_for_another_reason_keeps_it(
    mount_tmpfs: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = mount_tmpfs("size=10m")
    monkeypatch.setenv(VARIABLE, "4M")

    def job(outcome: Outcome, fill: int) -> None:
        with ReserveWatch([place], lambda: not fill) as watch:
            (place / "filler").write_bytes(b"x" * fill * MIB)
            assert watch.should_stop()
            raise RunFailed(outcome, "its own")

    for outcome, fill in ((Outcome.CANCELLED, 0), (Outcome.CRASHED, 7)):
        with pytest.raises(RunFailed, match="its own") as ended:
            job(outcome, fill)
        assert ended.value.outcome is outcome


@pytest.mark.parametrize("fails", [Outcome.DRIVER_FAILED, Outcome.ZERO_WORK, Outcome.CRASHED])
def test_a_driver_that_cannot_write_on_a_full_disk_is_not_the_configs_doing(
    mount_tmpfs: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    fails: Outcome,
) -> None:
    place = mount_tmpfs("size=10m")
    monkeypatch.setenv(VARIABLE, "4M")
    failure = RunFailed(fails, "cannot write the records")

    def run(*_: object, **__: object) -> None:
        (place / "of another").write_bytes(b"x" * 7 * MIB)
        raise failure

    for name in ("ServerReader", "LiveSeconds", "target_of"):
        monkeypatch.setattr(drive_module, name, MagicMock())
    monkeypatch.setattr(drive_module, "find_trouble", lambda _: None)
    plan = MagicMock(cut_rule=None, driver=MagicMock(run=run), limits=MagicMock(stall_pct=0))

    def job() -> None:
        with ReserveWatch([place], lambda: False) as watch:
            try:
                drive_module.drive(
                    *(plan, MagicMock(), {}, MagicMock(), tmp_path / "driver"),
                    *(Steps(lambda _: None), watch.should_stop),
                )
            finally:
                (place / "of another").unlink()  # as the clone is, before the job has ended

    with pytest.raises(RunFailed) as ended:
        job()
    is_drivers_own = fails is not Outcome.CRASHED
    assert ended.value.outcome is (Outcome.DISK_FULL if is_drivers_own else fails)


@pytest.mark.parametrize("fails", [Outcome.NO_START, Outcome.OUT_OF_MEMORY])
def test_a_server_that_cannot_even_write_its_log_on_a_full_disk_is_not_refused_for_its_config(
    mount_tmpfs: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, fails: Outcome
) -> None:
    place = mount_tmpfs("size=10m")
    monkeypatch.setenv(VARIABLE, "4M")
    ended_at_once = MagicMock(alive=MagicMock(return_value=False))
    monkeypatch.setattr(running, "explain_failed_start", lambda _: RunFailed(fails, "exit status"))

    def job() -> None:
        with ReserveWatch([place], lambda: False) as watch:
            (place / "of another").write_bytes(b"x" * 7 * MIB)
            try:
                running._answers(ended_at_once, watch.should_stop)
            finally:
                (place / "of another").unlink()

    with pytest.raises(RunFailed) as ended:
        job()
    assert ended.value.outcome is (Outcome.DISK_FULL if fails is Outcome.NO_START else fails)


def test_neither_is_one_that_cannot_make_a_data_directory(
    mount_tmpfs: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    place = mount_tmpfs("size=10m")
    for module in (child, ownership, paths):
        monkeypatch.setattr(module, "server_user", lambda: None)
    binary = pretend(tmp_path, f"head -c 7M /dev/zero > {place}/rows\nexit 1")
    for reserve, outcome in (("4M", Outcome.DISK_FULL), ("1M", Outcome.NO_START)):
        monkeypatch.setenv(VARIABLE, reserve)
        with pytest.raises(RunFailed) as failed:
            datadir.create_data_dir(binary, place / "data")
        assert failed.value.outcome is outcome
        assert [path.name for path in place.iterdir()] == ["rows"]


@pytest.mark.server
@pytest.mark.slow
def test_a_real_run_ends_before_the_reserve_is_used(
    mariadb_binary: ServerBinary,
    plan_on: Callable[[ServerBinary], Plan],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = plan_on(mariadb_binary)
    plan = replace(plan, load=replace(plan.load, measure_s=60))
    place = plan.layout.data_dir
    steps: list[str] = []

    def report(step: str) -> None:
        steps.append(step)
        if step == "measuring":  # the file system is as full as that from now on
            monkeypatch.setenv(VARIABLE, str(room_of(place).free + GIB))

    with pytest.raises(RunFailed, match="stay free") as full:
        measure(plan, report=report, should_stop=lambda: False)
    assert full.value.outcome is Outcome.DISK_FULL
    assert str(place) in str(full.value)
    assert "measuring" in steps
    assert "collecting" not in steps
    assert steps[-1] == "discarding the clone"
    assert not list(plan.layout.run_dir("").iterdir())
    left = [child.name() for child in psutil.Process().children(recursive=True)]
    assert not set(left) & {"sysbench", "mariadbd"}

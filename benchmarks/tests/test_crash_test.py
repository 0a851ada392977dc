"""A server that is killed under load and started again: what is done, and how it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.datasets.source import tpcc_source
from benchmarks.drivers.protocol import Load, Phase
from benchmarks.drivers.workloads import tpcc
from benchmarks.errors import RunFailed
from benchmarks.measurement import crash_test as module
from benchmarks.measurement.crash_test import Recovered, crash_test
from benchmarks.measurement.plan import Plan
from benchmarks.outcomes import Outcome
from benchmarks.storage.layout import DeviceLayout
from benchmarks.telemetry.write_debt import DebtReading

OWED = DebtReading(checkpoint_age_bytes=31, history_length=7)


class Driver:
    """Loads until it is stopped; `fails` is what becomes of it instead."""

    name = "fake"

    def __init__(self, fails: RunFailed | None = None) -> None:
        self.fails = fails
        self.loads: list[Load] = []

    def run(
        self,
        target: Any,
        load: Load,
        work_dir: Path,
        *,
        on_phase: Callable[[Phase], None],
        should_stop: Callable[[], bool],
    ) -> Any:
        self.loads.append(load)
        on_phase(Phase.WARMING)
        if self.fails:
            raise self.fails
        while not should_stop():
            pass
        raise RunFailed(Outcome.CANCELLED, "The run was cancelled.")


class Host:
    """Everything that a crash test uses of the machine; `events` in their order."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.deadlines: list[float] = []
        self.starts_that_fail: dict[int, RunFailed] = {}

    @contextmanager
    def running_server(self, *facts: Any, deadline_s: float) -> Iterator[Any]:
        self.deadlines.append(deadline_s)
        if failure := self.starts_that_fail.get(len(self.deadlines)):
            raise failure
        self.events.append("start" + (" limited" if "hdd" in facts else ""))
        yield SimpleNamespace(
            kill=lambda: self.events.append("kill"),
            start_s=float(len(self.deadlines)),
            connect=None,
            variables=lambda: {"innodb_log_file_size": "1000"},
            driver_account=SimpleNamespace(user="u", password="p"),
            port=1,
            reach=None,
            certificate="",
        )
        self.events.append("gone")

    @contextmanager
    def emulated_device(self, profile: object, *_: Any, **__: Any) -> Iterator[Any]:
        yield profile


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    found = Host()
    monkeypatch.setattr(Plan, "running_server", found.running_server)
    monkeypatch.setattr(module, "emulated_device", found.emulated_device)
    monkeypatch.setattr(module, "forget_cached", lambda _: found.events.append("cold"))
    for name in ("check_in_place", "find_dataset", "clone"):
        monkeypatch.setattr(module, name, lambda *_, **__: None)
    monkeypatch.setattr(module, "read_debt", lambda _: OWED)
    monkeypatch.setattr(module, "find_trouble", lambda _: None)
    return found


def plan(tmp_path: Path, driver: Driver, **values: Any) -> Plan:
    facts: dict[str, Any] = {
        "name": "crash-test-1",
        "binary": None,
        "driver": driver,
        "load": Load(tpcc(2), 4, warmup_s=1, measure_s=5, seed=1),
        "source": tpcc_source(2),
        "options": {},
        "layout": DeviceLayout(tmp_path),
    }
    return Plan(**facts | values)


def test_a_server_is_killed_under_load_and_each_restart_is_cold_and_timed(
    host: Host, tmp_path: Path
) -> None:
    driver, steps = Driver(), list[str]()
    found = crash_test(
        plan(tmp_path, driver, emulation="hdd"),
        load_s=0.0,
        kills=2,
        give_up_s=77.0,
        report=steps.append,
        should_stop=lambda: False,
    )
    one = ["cold", "start limited", "kill", "gone"]
    assert host.events == one * 3, "the last server is killed as well, but not started again"
    assert host.deadlines == [120.0, 77.0, 77.0]
    assert [(kill.checkpoint_age_bytes, kill.redo_capacity_bytes) for kill in found] == [
        (31, 1000),
        (31, 1000),
    ]
    assert [kill.seconds for kill in found] == [2.0, 3.0], "the server's own, without preparations"
    assert all(load.measure_s > 600 for load in driver.loads), "the driver does not end first"
    assert [step for step in steps if "kill" in step or "recover" in step] == [
        "loading before kill 1 of 2",
        "recovering, 1 of 2",
        "loading before kill 2 of 2",
        "recovering, 2 of 2",
    ]
    assert not (tmp_path / "oltp-advisor" / "runs" / "crash-test-1").exists()


def end_of(host: Host, tmp_path: Path, driver: Driver, **values: Any) -> RunFailed:
    facts: dict[str, Any] = {"load_s": 0.0, "report": lambda _: None, "should_stop": lambda: False}
    with pytest.raises(RunFailed) as failed:
        crash_test(plan(tmp_path, driver), **facts | values)
    assert not list(tmp_path.rglob("crash-test-1"))
    return failed.value


def test_a_server_that_does_not_come_back_fails_with_its_reason(
    host: Host, tmp_path: Path
) -> None:
    host.starts_that_fail[2] = RunFailed(Outcome.TIMED_OUT, "did not answer within 600 s")
    failure = end_of(host, tmp_path, Driver())
    assert (failure.outcome, str(failure)) == (Outcome.TIMED_OUT, "did not answer within 600 s")


def test_a_crash_test_that_is_cancelled_kills_nobody(host: Host, tmp_path: Path) -> None:
    failure = end_of(host, tmp_path, Driver(), load_s=3600.0, should_stop=lambda: True)
    assert failure.outcome is Outcome.CANCELLED
    assert "kill" not in host.events


def test_a_server_that_fails_before_it_is_killed_is_told_from_one_that_was(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = RunFailed(Outcome.DRIVER_FAILED, "no connection")
    assert end_of(host, tmp_path, Driver(lost), load_s=9.0) is lost
    cancelled = end_of(host, tmp_path, Driver(lost), load_s=9.0, should_stop=lambda: True)
    assert (cancelled.outcome, cancelled.__cause__) == (Outcome.CANCELLED, lost.__cause__)
    full = RunFailed(Outcome.DISK_FULL, "the disk is full")
    monkeypatch.setattr(module, "find_trouble", lambda _: full)
    assert end_of(host, tmp_path, Driver(lost), load_s=9.0) is full


def test_a_server_too_busy_to_say_what_it_owes_is_killed_all_the_same(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(_: object) -> DebtReading:
        raise OSError("timed out")

    monkeypatch.setattr(module, "read_debt", busy)
    [found] = crash_test(
        plan(tmp_path, Driver()),
        load_s=0.0,
        kills=1,
        report=lambda _: None,
        should_stop=lambda: False,
    )
    assert found == Recovered(found.seconds, None, None, 1000)

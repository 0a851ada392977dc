"""A driver on another host: what both sides say, seen without a network."""

from __future__ import annotations

import errno
import logging
import socket
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pymysql
import pytest

from benchmarks.drivers.protocol import DriverResult, Load, LoadSide, Phase, Target
from benchmarks.drivers.response_times import ResponseTimes
from benchmarks.drivers.workloads import tpcc
from benchmarks.errors import RunFailed
from benchmarks.jobs import load_host
from benchmarks.measurement.drive import Driven
from benchmarks.measurement.result import weigh_conditions
from benchmarks.outcomes import Outcome
from benchmarks.remote_load import load_side, several
from benchmarks.remote_load.link import (
    ClockReading,
    Link,
    read_clock,
    time_of_day_less_monotonic,
)
from benchmarks.remote_load.messages import (
    NotForUs,
    Order,
    Phases,
    Result,
    new_key,
    public_half,
    seal,
    unseal,
)
from benchmarks.remote_load.several import SeveralProcesses, split
from benchmarks.telemetry.disturbance import Kind, Limits, load_host_troubles
from benchmarks.telemetry.sampler import Sampler
from benchmarks.telemetry.write_debt import DebtReading, WriteDebt
from benchmarks.tests.fake_driver import FakeDriver

TARGET = Target("10.0.0.1", 3306, "tpcc", "correct-horse", certificate="PEM", database="tpcc")
LOAD = Load(workload=tpcc(2), connections=2, warmup_s=2, measure_s=3, seed=1)


def test_an_order_is_read_by_the_one_it_is_sealed_for_and_shows_no_password() -> None:
    key = new_key()
    order = Order(target=TARGET, load=LOAD)
    sealed = seal(order.model_dump_json(), public_half(key))
    assert "horse" not in sealed + repr(order) + f"{order}" + logging.Formatter().format(
        logging.makeLogRecord({"msg": "%s", "args": (order,)})
    )
    opened = Order.model_validate_json(unseal(sealed, key))
    assert (opened.target, opened.load) == (TARGET, LOAD)
    assert seal(order.model_dump_json(), public_half(key)) != sealed
    for wrong in (sealed[:-8] + "AAAAAAA=", "", "not base64!"):
        with pytest.raises(NotForUs):
            unseal(wrong, key)
    with pytest.raises(NotForUs):
        unseal(sealed, new_key())
    for no_key in ("AAAA", "not base64!", f"{'A' * 43}="):  # the last leads to no secret
        with pytest.raises(NotForUs):
            seal("", no_key)


@pytest.mark.parametrize(("there_s", "back_s"), [(0.0, 0.0), (0.02, 0.0), (0.0, 0.02)])
def test_the_clocks_are_compared_within_half_a_round_trip(there_s: float, back_s: float) -> None:
    ahead_s = 1000.0

    def ask() -> datetime:
        time.sleep(there_s)
        said = datetime.fromtimestamp(time.time() + ahead_s, UTC).replace(tzinfo=None)
        time.sleep(back_s)
        return said

    found = read_clock(ask, tries=3)
    wrong = found.offset_s - (time_of_day_less_monotonic() + ahead_s)
    assert found.round_trip_s >= there_s + back_s
    assert abs(wrong) <= found.round_trip_s / 2 + 1e-4


class FakeLink:
    """A way to the server; `broken` once `cut`."""

    def __init__(self, target: Target) -> None:
        self.broken = ""

    def __enter__(self) -> FakeLink:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def look(self) -> None:
        pass

    def clock(self) -> ClockReading:
        return ClockReading(time_of_day_less_monotonic(), 0.001)


def drive(
    driver: FakeDriver,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    link: type[FakeLink] = FakeLink,
) -> tuple[Result, list[Phases]]:
    """Have the load host drive; its result as it comes through the database, and what it told."""
    monkeypatch.setattr(load_side, "Link", link)
    told: list[Phases] = []
    result = load_side.drive_for(
        Order(target=TARGET, load=LOAD),
        driver,
        folder,
        tell=told.append,
        should_stop=lambda: False,
    )
    return Result.model_validate(result.model_dump(mode="json")), told


def driven_here(load: Load) -> DriverResult:
    """What a driver beside the server finds; it takes no time."""
    return FakeDriver().run(
        TARGET, load, Path(), on_phase=lambda _: None, should_stop=lambda: False
    )


def test_a_run_driven_elsewhere_gives_what_its_driver_gave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = FakeDriver(second_s=0.1)
    found, told = drive(driver, tmp_path, monkeypatch)
    result, expected = found.driver_result(), driven_here(LOAD)
    assert driver.loads == [LOAD]
    begun = [sum(phases.at(phase) is not None for phase in Phase) for phases in told]
    assert begun == [0, 1, 2, 3]
    assert result.times.per_second() == expected.times.per_second()
    assert result.times.percentile(95) == expected.times.percentile(95)
    assert result.times.max_ms == expected.times.max_ms
    assert result.counts == expected.counts
    assert 0 < found.cpu["busy_pct"] <= 100
    assert found.cpu.keys() == {"busy_pct", "steal_pct", "stalled_s"}


def test_phases_are_due_as_told_and_before_that_as_planned() -> None:
    """The load host's monotonic clock is another one: it began an hour ago."""
    ahead = 3600.0
    told: dict[str, Any] = {"clock": {"offset_s": 5000.0 - ahead, "round_trip_s": 0.001}}

    def due() -> list[float]:
        return list(load_host._due(told, LOAD, 5000.0).values())

    assert due() == []
    told["warming"] = ahead + 10
    assert due() == [10, 12, 15]  # 2 s of warm-up and 3 s that are measured
    told["measuring"] = ahead + 13
    assert due() == [10, 13, 16]
    told["stopping"] = ahead + 17
    assert due() == [10, 13, 17]


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (TimeoutError("timed out"), Outcome.LOST),
        (OSError(errno.EHOSTUNREACH, "No route to host"), Outcome.LOST),
        (ConnectionRefusedError("Connection refused"), Outcome.DRIVER_FAILED),
    ],
)
def test_a_network_that_does_not_answer_is_not_held_against_the_config(
    error: OSError, outcome: Outcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr("benchmarks.remote_load.link.socket.create_connection", connect)
    with pytest.raises(RunFailed, match="cannot be used from here") as failed, Link(TARGET):
        pass
    assert failed.value.outcome is outcome


class Cut(FakeLink):
    """Breaks while the driver runs."""

    def __enter__(self) -> Cut:
        self.broken = "timed out"
        return self


class Reset(FakeLink):
    """Is found broken when the driver has failed."""

    def look(self) -> None:
        self.broken = "Lost connection to MySQL server during query"


@pytest.mark.parametrize(
    ("link", "driver"),
    [(Cut, FakeDriver(second_s=60)), (Reset, FakeDriver(fail=Outcome.DRIVER_FAILED))],
    ids=["the watch notices first", "the driver notices first"],
)
def test_a_load_host_that_is_cut_off_loses_the_run(
    link: type[FakeLink], driver: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(RunFailed, match="cut off from the measured server") as failed:
        drive(driver, tmp_path, monkeypatch, link)
    assert failed.value.outcome is Outcome.LOST


def test_no_work_of_a_load_host_that_stood_still_is_not_held_against_the_config(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Sampler, "stalled_s", lambda _: 7.0)
    with pytest.raises(RunFailed, match=r"^the load host stalled for 7\.0 s") as failed:
        drive(FakeDriver(fail=Outcome.ZERO_WORK), tmp_path, monkeypatch)
    assert failed.value.outcome is Outcome.DISTURBED


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (pymysql.err.OperationalError(2013, "Lost connection"), Outcome.LOST),
        (pymysql.err.OperationalError(2003, "certificate is not yet valid"), Outcome.LOST),
        (pymysql.err.OperationalError(1040, "Too many connections"), Outcome.DRIVER_FAILED),
    ],
)
def test_a_login_that_breaks_is_not_held_against_the_config_and_one_that_is_refused_is(
    error: pymysql.Error, outcome: Outcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise error

    monkeypatch.setattr(pymysql.connections.Connection, "connect", refuse)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        target = replace(TARGET, host="127.0.0.1", port=port, certificate="")
        with pytest.raises(RunFailed, match="cannot be used from here") as failed, Link(target):
            pass
    assert failed.value.outcome is outcome


def test_a_server_that_hangs_is_not_taken_for_one_that_is_cut_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def ask(_: Link) -> None:
        raise pymysql.err.OperationalError(2013, "Lost connection (timed out)")

    monkeypatch.setattr(Link, "_ask", ask)
    link = Link(TARGET)
    here, there = socket.socketpair()
    with here:
        monkeypatch.setattr(link, "_handle", here, raising=False)
        link.look()
        assert link.broken == ""
        there.close()
        assert [link.broken, link.broken] == ["the connection was closed"] * 2


def side(**values: float) -> LoadSide:
    quiet = {"busy_pct": 50.0, "steal_pct": 0.0, "stalled_s": 0.9}
    clocks = {"clock_drift_ms": -1000.0, "late_ms": 100.0}
    return LoadSide(
        "driver-1",
        **{"round_trip_ms": 0.4, "clock_error_ms": 0.2},
        **{name: values.get(name, value) for name, value in clocks.items()},
        encrypted=True,
        cpu={name: values.get(name, value) for name, value in quiet.items()},
    )


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("busy_pct", 95.0, Kind.CLIENT),
        ("steal_pct", 20.0, Kind.STEAL),
        ("stalled_s", 1.2, Kind.STALL),
        ("late_ms", -3000.0, Kind.INTERVAL),
        ("clock_drift_ms", 1100.0, Kind.INTERVAL),
    ],
)
def test_a_load_host_without_cpu_is_the_limit_and_not_the_server(
    name: str, value: float, kind: Kind
) -> None:
    limits = Limits()
    assert load_host_troubles(side(), limits, 30.0) == []
    (found,) = load_host_troubles(side(**{name: value}), limits, 30.0)
    assert found.kind is kind
    assert "driver-1" in found.text
    usual_there = replace(limits, steal_pct=30.0)  # on the measured host
    assert load_host_troubles(side(**{name: value}), usual_there, 30.0) == [found]
    off = replace(limits, load_cpu_pct=0, load_steal_pct=0, stall_pct=0)
    is_of_a_clock = kind is Kind.INTERVAL
    assert bool(load_host_troubles(side(**{name: value}), off, 30.0)) is is_of_a_clock


def test_a_load_host_without_cpu_makes_the_run_void() -> None:
    moment: Any = SimpleNamespace(t=0.0)
    driven = Driven(
        replace(driven_here(LOAD), load_side=side(busy_pct=97.0), measured_seconds=0.1),
        start=moment,
        end=moment,
        driver_cpu_s=0.0,
        commits_per_second=[],
        write_debt=WriteDebt(DebtReading(), DebtReading(), 0.0),
    )
    _, found = weigh_conditions(Limits(), Sampler.__new__(Sampler), driven)
    assert Kind.CLIENT in {one.kind for one in found}


def _several(driver: FakeDriver, count: int, folder: Path) -> tuple[DriverResult, list[Phase]]:
    seen: list[Phase] = []
    result = SeveralProcesses(driver, count).run(
        TARGET,
        replace(LOAD, connections=7),
        folder,
        on_phase=seen.append,
        should_stop=lambda: False,
    )
    return result, seen


def test_several_processes_share_the_connections_and_merge_exactly(tmp_path: Path) -> None:
    driver = FakeDriver(second_s=0.02)
    result, seen = _several(driver, 3, tmp_path)
    assert sorted(load.connections for load in driver.loads) == [2, 2, 3]
    assert {load.workload.parameters["warehouses"] for load in driver.loads} == {2}
    assert len({load.seed for load in driver.loads}) == 3
    assert seen == list(Phase)
    alone = [driven_here(load) for load in driver.loads]
    merged = ResponseTimes(LOAD.measure_s)
    for one in alone:
        merged.merge(one.times)
    assert result.times.per_second() == merged.per_second()
    for percent in (50, 95, 99):
        assert result.times.percentile(percent) == merged.percentile(percent)
    for kind, counts in result.counts.items():
        assert counts.completed == sum(one.counts[kind].completed for one in alone)
    assert result.driver_cpu_seconds == pytest.approx(sum(one.driver_cpu_seconds for one in alone))
    few = split(replace(LOAD, connections=2), 5)
    assert [load.connections for load in few] == [1, 1]


def test_several_processes_measure_from_the_last_beginning_to_the_first_end() -> None:
    announced: list[Phase] = []
    common = several._CommonPhases(2, announced.append)
    so_far: list[int] = []
    for phase in Phase:
        for _ in range(2):
            common.by_one(phase)
            so_far.append(len(announced))
    assert so_far == [0, 1, 1, 2, 3, 3]
    assert announced == list(Phase)


def test_several_processes_begin_when_the_last_of_them_is_ready(tmp_path: Path) -> None:
    class Slower(FakeDriver):
        def run(self, target: Target, load: Load, work_dir: Path, **hooks: Any) -> DriverResult:
            time.sleep(0.3 * (load.seed != LOAD.seed))  # to connect
            return super().run(target, load, work_dir, **hooks)

    began, driver = time.monotonic(), Slower()
    _several(driver, 2, tmp_path)
    first, second = driver.began_at
    assert first == second
    assert first is not None
    assert first >= began + 0.3


def test_a_process_that_fails_ends_the_others(tmp_path: Path) -> None:
    class OneFails(FakeDriver):
        def run(self, target: Target, load: Load, work_dir: Path, **hooks: Any) -> DriverResult:
            if load.seed != LOAD.seed:
                raise RunFailed(Outcome.DRIVER_FAILED, "this one")
            return super().run(target, load, work_dir, **hooks)

    with pytest.raises(RunFailed, match="this one"):
        _several(OneFails(second_s=60), 2, tmp_path)


def test_a_worker_that_is_terminated_ends_the_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def terminated(*_: object, **__: object) -> None:
        raise SystemExit

    monkeypatch.setattr(several, "wait", terminated)
    began = time.monotonic()
    with pytest.raises(SystemExit):
        _several(FakeDriver(second_s=3), 2, tmp_path)
    assert time.monotonic() - began < 3


def test_processes_that_begin_far_apart_do_not_measure_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slower(FakeDriver):
        def run(self, target: Target, load: Load, work_dir: Path, **hooks: Any) -> DriverResult:
            late = load.seed != LOAD.seed
            return super().run(target, replace(load, warmup_s=4 * late), work_dir, **hooks)

    monkeypatch.setattr("benchmarks.remote_load.several.MAX_SPREAD_S", 0.1)
    with pytest.raises(RunFailed, match="began to measure"):
        _several(Slower(second_s=0.1), 2, tmp_path)

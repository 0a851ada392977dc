"""A driver on another host: what both sides say, seen without a network."""

from __future__ import annotations

import errno
import logging
import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pymysql
import pytest

from benchmarks.drivers.checks import GRACE_S
from benchmarks.drivers.protocol import DriverResult, Load, LoadSide, Phase, Target
from benchmarks.drivers.response_times import ResponseTimes
from benchmarks.drivers.workloads import tpcc
from benchmarks.errors import RunFailed
from benchmarks.measurement.conclusion import weigh_conditions
from benchmarks.measurement.drive import Driven
from benchmarks.outcomes import Outcome
from benchmarks.remote_load import driver as driver_module
from benchmarks.remote_load import load_side, several
from benchmarks.remote_load.clock import ClockReading, read_clock, time_of_day_less_monotonic
from benchmarks.remote_load.driver import RemoteDriver, Report
from benchmarks.remote_load.link import Link
from benchmarks.remote_load.messages import Hello, Order, Phases, Result
from benchmarks.remote_load.sealed import NotForUs, Seal, seal
from benchmarks.remote_load.several import SeveralProcesses, split
from benchmarks.telemetry.disturbance import Kind, Limits, load_host_troubles
from benchmarks.telemetry.sampler import Sampler
from benchmarks.telemetry.write_debt import DebtReading, WriteDebt
from benchmarks.tests.fake_driver import FakeDriver

TARGET = Target("10.0.0.1", 3306, "tpcc", "correct-horse", certificate="PEM", database="tpcc")
LOAD = Load(workload=tpcc(2), connections=2, warmup_s=2, measure_s=3, seed=1)
HELLO = Hello(
    address="10.0.0.2", key="", driver="fake", driver_version="1", encrypts=True, facts={}
)


def test_an_order_is_read_by_the_one_it_is_sealed_for_and_shows_no_password() -> None:
    key = Seal()
    order = Order(target=TARGET, load=LOAD)
    sealed = seal(order.model_dump_json(), key.public)
    assert "horse" not in sealed + repr(order) + f"{order}" + logging.Formatter().format(
        logging.makeLogRecord({"msg": "%s", "args": (order,)})
    )
    opened = Order.model_validate_json(key.open(sealed))
    assert (opened.target, opened.load) == (TARGET, LOAD)
    assert seal(order.model_dump_json(), key.public) != sealed
    for wrong in (sealed[:-8] + "AAAAAAA=", "", "not base64!"):
        with pytest.raises(NotForUs):
            key.open(wrong)
    with pytest.raises(NotForUs):
        Seal().open(sealed)
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
    assert abs(wrong) <= found.error_s + 1e-4


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


class FakeDesk:
    """A load host in a thread of this process, without a database."""

    hello = HELLO

    def __init__(self, driver: FakeDriver, folder: Path, host: str = "driver-1") -> None:
        self.host = host
        self.is_called_off = False
        self._driver = driver
        self._folder = folder / host
        self._report = Report()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def send(self, order: Order) -> None:
        self._thread = threading.Thread(target=self._drive, args=(order,))
        self._thread.start()

    def _drive(self, order: Order) -> None:
        try:
            result = load_side.drive_for(
                order,
                self._driver,
                self._folder,
                tell=self._tell,
                should_stop=self._stopped.is_set,
            )
        except RunFailed as failure:
            self._report = replace(self._report, failure=failure)
        else:
            # As through the database.
            sent = Result.model_validate(result.model_dump(mode="json"))
            self._report = replace(self._report, result=sent)

    def _tell(self, phases: Phases) -> None:
        self._report = replace(self._report, phases=phases)

    def report(self) -> Report:
        return self._report

    def call_off(self) -> None:
        self.is_called_off = True
        self._stopped.set()

    def wait_until_ended(self) -> None:
        self.join()

    def join(self) -> None:
        if self._thread is not None:
            self._thread.join()


Announced = list[tuple[Phase, float]]


@contextmanager
def driven(
    driver: FakeDriver,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    watches_stalls: bool = True,
) -> Iterator[Callable[..., tuple[DriverResult, Announced]]]:
    monkeypatch.setattr(load_side, "Link", FakeLink)
    desk = FakeDesk(driver, folder)

    def again() -> AbstractContextManager[FakeDesk]:
        raise AssertionError("a run takes its load host once")

    def run(**values: Any) -> tuple[DriverResult, Announced]:
        seen: Announced = []
        result = RemoteDriver(desk, again, watches_stalls=watches_stalls).run(
            TARGET,
            LOAD,
            folder,
            on_phase=lambda phase: seen.append((phase, time.monotonic())),
            should_stop=values.get("should_stop", lambda: False),
        )
        return result, seen

    yield run
    desk.join()


def driven_here(load: Load) -> DriverResult:
    """What a driver beside the server finds; it takes no time."""
    return FakeDriver().run(
        TARGET, load, Path(), on_phase=lambda _: None, should_stop=lambda: False
    )


def test_a_run_driven_elsewhere_gives_what_its_driver_gave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = FakeDriver(second_s=0.1)
    with driven(driver, tmp_path, monkeypatch) as run:
        result, seen = run()
    expected = driven_here(LOAD)
    assert driver.loads == [LOAD]
    assert [phase for phase, _ in seen] == list(Phase)
    assert result.times.per_second() == expected.times.per_second()
    assert result.times.percentile(95) == expected.times.percentile(95)
    assert result.times.max_ms == expected.times.max_ms
    assert result.counts == expected.counts
    side = result.load_side
    assert side is not None
    assert (side.host, side.encrypted, side.round_trip_ms) == ("driver-1", True, 1.0)
    assert side.clock_error_ms == 0.5
    assert 0 < side.cpu["busy_pct"] <= 100
    assert side.cpu.keys() == {"busy_pct", "steal_pct", "stalled_s"}


def test_phases_are_announced_when_they_begin_by_the_servers_clock() -> None:
    """The load host's monotonic clock is another one: it began an hour ago."""
    ahead = 3600.0
    here = time_of_day_less_monotonic()
    began = time.monotonic() + 0.05
    phases = Phases(offset_s=here - ahead, round_trip_s=0.001, warming=began + ahead)
    load = replace(LOAD, warmup_s=0, measure_s=1)
    result = Result.of(driven_here(load), ClockReading(here - ahead, 0.001), {})

    class Desk(FakeDesk):
        def send(self, order: Order) -> None:
            pass

        def report(self) -> Report:
            if time.monotonic() < began + 1.2:
                return Report(phases)
            told = {"measuring": began + ahead, "stopping": began + ahead + 1}
            return Report(phases.model_copy(update=told), result)

    seen: dict[Phase, float] = {}

    def on_phase(phase: Phase) -> None:
        seen[phase] = time.monotonic()

    desk = Desk(FakeDriver(), Path())
    found = RemoteDriver(desk, lambda: nullcontext(desk)).run(
        TARGET,
        load,
        Path(),
        on_phase=on_phase,
        should_stop=lambda: False,
    )
    # Never before it was due, and both ends although the load host had only told of the first.
    assert seen[Phase.WARMING] >= began
    assert seen[Phase.MEASURING] >= began
    assert began + 1 <= seen[Phase.STOPPING] < began + 1.2
    late_ms = 1000 * (seen[Phase.MEASURING] - began)
    assert found.load_side is not None
    assert found.load_side.late_ms == pytest.approx(late_ms, abs=5)


def test_each_load_of_a_crash_test_takes_the_load_host_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A load host that was told to end does not take a second order."""
    monkeypatch.setattr(load_side, "Link", FakeLink)
    desks = [FakeDesk(FakeDriver(), tmp_path) for _ in range(3)]
    left = iter(desks[1:])
    driver = RemoteDriver(desks[0], lambda: nullcontext(next(left)))
    for desk in desks:
        result = driver.run(
            TARGET, LOAD, tmp_path, on_phase=lambda _: None, should_stop=lambda: False
        )
        assert result.times.count
        assert desk.report().result is not None
        desk.join()


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


@pytest.mark.parametrize(
    "outcome", [Outcome.DRIVER_FAILED, Outcome.ZERO_WORK, Outcome.LOST, Outcome.TIMED_OUT]
)
def test_a_failure_there_is_the_same_failure_here(
    outcome: Outcome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        driven(FakeDriver(fail=outcome), tmp_path, monkeypatch) as run,
        pytest.raises(RunFailed) as failed,
    ):
        run()
    assert failed.value.outcome is outcome
    assert failed.value.log_tail == "the fake driver's output"


def test_a_stop_here_ends_the_driver_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        driven(FakeDriver(second_s=60), tmp_path, monkeypatch) as run,
        pytest.raises(RunFailed) as failed,
    ):
        run(should_stop=lambda: True)
    assert failed.value.outcome is Outcome.CANCELLED


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
    with driven(driver, tmp_path, monkeypatch) as run:
        monkeypatch.setattr(load_side, "Link", link)
        with pytest.raises(RunFailed, match="cut off from the measured server") as failed:
            run()
    assert failed.value.outcome is Outcome.LOST


@pytest.mark.parametrize(
    ("watches_stalls", "said", "outcome"),
    [
        (True, r"^the load host stalled for 7\.0 s", Outcome.DISTURBED),
        (False, r"^(?!.*stalled)", Outcome.ZERO_WORK),
    ],
)
def test_no_work_of_a_load_host_that_stood_still_is_not_held_against_the_config(
    watches_stalls: bool,
    said: str,
    outcome: Outcome,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Unless the measured host does not judge stalls."""
    monkeypatch.setattr(Sampler, "stalled_s", lambda _: 7.0)
    driver = FakeDriver(fail=Outcome.ZERO_WORK)
    with (
        driven(driver, tmp_path, monkeypatch, watches_stalls=watches_stalls) as run,
        pytest.raises(RunFailed, match=said) as failed,
    ):
        run()
    assert failed.value.outcome is outcome


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


def test_a_load_host_whose_result_does_not_come_loses_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the database stays away. A driver that does not end says so itself, and sooner."""
    monkeypatch.setattr(driver_module, "_SPARE_S", -GRACE_S - LOAD.warmup_s - LOAD.measure_s)
    with (
        driven(FakeDriver(second_s=60), tmp_path, monkeypatch) as run,
        pytest.raises(RunFailed, match="No end of the load host driver-1") as failed,
    ):
        run()
    assert failed.value.outcome is Outcome.LOST


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
    news: queue.Queue[Any] = queue.Queue()
    for phase in Phase:
        for number in range(2):
            news.put((number, phase))
    for number in range(2):
        news.put((number, driven_here(LOAD)))
    announced: list[tuple[Phase, int]] = []
    several._follow(
        news, 2, lambda phase: announced.append((phase, 8 - news.qsize())), lambda: False
    )
    assert announced == [(Phase.WARMING, 2), (Phase.MEASURING, 4), (Phase.STOPPING, 5)]


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

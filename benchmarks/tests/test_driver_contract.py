"""One suite that every driver passes: both real ones against a real server, and the fake.

The rules are in `benchmarks.drivers.protocol`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol
from unittest.mock import MagicMock

import psutil
import pytest

from benchmarks.datasets.source import Dataset
from benchmarks.drivers import sysbench as sysbench_module
from benchmarks.drivers.program import Lines
from benchmarks.drivers.protocol import (
    DriverResult,
    Load,
    LocalDriver,
    Phase,
    Start,
    Target,
)
from benchmarks.drivers.sysbench import Sysbench, find_sysbench
from benchmarks.drivers.tpcc_mysql import TpccMysql, find_tpcc_start
from benchmarks.drivers.workloads import tpcc
from benchmarks.errors import RunFailed
from benchmarks.measurement.drive import target_of
from benchmarks.outcomes import Outcome
from benchmarks.servers.binary import ServerBinary
from benchmarks.servers.instance import ServerInstance
from benchmarks.servers.running import running_server
from benchmarks.tests.fake_driver import FakeDriver
from benchmarks.tests.quick import unhurried

LOAD = Load(workload=tpcc(2), connections=2, warmup_s=1, measure_s=2, seed=11)
SHORT = Load(workload=tpcc(2), connections=2, warmup_s=0, measure_s=1, seed=11)
WARMED = replace(SHORT, warmup_s=1)
#: What a server that is killed leaves is whole: another one starts on it.
KEPT = {"innodb_buffer_pool_size": "256M", "innodb_doublewrite": "ON"}
#: Drivers that must not wait for a frozen server: they get this long in place of two minutes.
GRACE_S = 2.0
Factory = Callable[[float], LocalDriver]


@dataclass
class Attempt:
    """A run to be: with what it is started and what happens on the way."""

    driver: LocalDriver
    target: Target
    at: dict[Phase, Callable[[], object]] = field(default_factory=dict)
    should_stop: Callable[[], bool] = lambda: False
    phases: list[tuple[Phase, float]] = field(default_factory=list)

    def run(self, load: Load, work_dir: Path, start: Start | None = None) -> DriverResult:
        def on_phase(phase: Phase) -> None:
            self.phases.append((phase, time.monotonic()))
            self.at.get(phase, lambda: None)()

        return self.driver.run(
            self.target,
            load,
            work_dir,
            on_phase=on_phase,
            should_stop=self.should_stop,
            start=start,
        )


class Stage(Protocol):
    """A driver and all that it needs to run, or to fail in a given way."""

    real: bool

    def good(self) -> Attempt: ...

    def failing(self, outcome: Outcome) -> AbstractContextManager[Attempt]: ...

    def connected(self) -> int:
        """Connections of the driver's account."""
        ...


class FakeStage:
    real = False
    _target = Target("127.0.0.1", 1, "tpcc", "correct-horse", database="tpcc")

    def good(self) -> Attempt:
        return Attempt(FakeDriver(second_s=0.02), self._target)

    def connected(self) -> int:
        return 0

    @contextlib.contextmanager
    def failing(self, outcome: Outcome) -> Iterator[Attempt]:
        yield Attempt(FakeDriver(fail=outcome), self._target)


@dataclass
class RealStage:
    make: Factory
    server: ServerInstance
    another_server: Callable[[], AbstractContextManager[ServerInstance]]
    real: bool = True

    def good(self) -> Attempt:
        return Attempt(self.make(60.0), target_of(self.server, "tpcc"))

    def connected(self) -> int:
        with closing(self.server.connect()) as connection:
            cursor = connection.cursor()
            query = "SELECT COUNT(*) FROM information_schema.processlist WHERE user = %s"
            cursor.execute(query, (self.server.driver_account.user,))
            return int(cursor.fetchall()[0][0])

    @contextlib.contextmanager
    def failing(self, outcome: Outcome) -> Iterator[Attempt]:
        with contextlib.ExitStack() as stack:
            server = self.server
            if outcome is Outcome.DRIVER_FAILED:
                server = stack.enter_context(self.another_server())
            grace_s = GRACE_S if outcome is Outcome.TIMED_OUT else 60.0
            attempt = Attempt(self.make(grace_s), target_of(server, "tpcc"))
            at = attempt.at
            if outcome is Outcome.CANCELLED:
                attempt.should_stop = lambda: len(attempt.phases) > 1
            elif outcome is Outcome.DRIVER_FAILED:
                at[Phase.MEASURING] = lambda: os.kill(server.pid, signal.SIGKILL)
            elif outcome is Outcome.LOST:
                at[Phase.MEASURING] = kill_drivers
            elif outcome is Outcome.TIMED_OUT:
                at[Phase.MEASURING] = lambda: os.kill(server.pid, signal.SIGSTOP)
                stack.callback(os.kill, server.pid, signal.SIGCONT)
            else:
                # New-Orders wait for a table until the measured interval is over. It is locked in
                # the warm-up: to prepare a statement MySQL 8.0 would wait for it, too.
                connection = stack.enter_context(closing(server.connect(database="tpcc")))

                def unlock() -> None:
                    time.sleep(0.2)  # tpcc_start says so just before it stops measuring
                    connection.cursor().execute("UNLOCK TABLES")

                lock = "LOCK TABLES district WRITE"
                at[Phase.WARMING] = lambda: connection.cursor().execute(lock)
                at[Phase.STOPPING] = unlock
            yield attempt


def kill_drivers() -> None:
    for child in psutil.Process().children():
        if child.name() in ("tpcc_start", "sysbench"):
            child.kill()


@pytest.fixture(scope="module")
def serve(
    copied_dataset: Callable[[ServerBinary, Path], Dataset], server_session_tmp: Path
) -> Callable[[ServerBinary, str], AbstractContextManager[ServerInstance]]:
    """Starts a server on a copy of the dataset, which one that is killed leaves to the next."""

    @contextlib.contextmanager
    def start(binary: ServerBinary, name: str) -> Iterator[ServerInstance]:
        directory = server_session_tmp / f"driver-contract-{name}"
        if not directory.exists():
            copied_dataset(binary, directory / "data")
        with running_server(
            binary,
            data_dir=directory / "data",
            run_dir=directory / "run",
            options={**unhurried(binary), **KEPT},
        ) as server:
            yield server

    return start


@pytest.fixture(scope="module")
def server(
    mysql_binary: ServerBinary,
    serve: Callable[[ServerBinary, str], AbstractContextManager[ServerInstance]],
) -> Iterator[ServerInstance]:
    """A MySQL for both drivers."""
    with serve(mysql_binary, "shared") as instance:
        yield instance


def factory_of(driver: str) -> Factory:
    if driver == "sysbench":
        if not (sysbench := find_sysbench()):
            raise RuntimeError("sysbench is not installed: run `make setup`")
        return lambda grace_s: Sysbench(sysbench, grace_s=grace_s)
    if not (tpcc_start := find_tpcc_start()):
        pytest.skip("tpcc-mysql is not installed: no tpcc_start in TPCC_MYSQL_HOME or on PATH")
    return lambda grace_s: TpccMysql(tpcc_start, grace_s=grace_s)


REAL_DRIVERS = [
    pytest.param("sysbench", marks=pytest.mark.server),
    pytest.param("tpcc-mysql", marks=pytest.mark.server),
]


@pytest.fixture(scope="module", params=["fake", *REAL_DRIVERS])
def stage(request: pytest.FixtureRequest) -> Iterator[Stage]:
    if request.param == "fake":
        yield FakeStage()
        return
    make = factory_of(request.param)
    # MariaDB starts soonest; what is lost with a server is the same with both.
    binary = request.getfixturevalue("mariadb_binary")
    another = partial(request.getfixturevalue("serve"), binary, "killed")
    yield RealStage(make, request.getfixturevalue("server"), another)


class Later(Start):
    """Some time after the driver is ready, for which it waits."""

    def __init__(self, connected: Callable[[], int]) -> None:
        super().__init__(lead_s=0.7)
        self.ready_at: list[float] = []
        self.connections = 0
        self._connected = connected

    def ready(self) -> None:
        self.ready_at.append(time.monotonic())
        self.connections = self._connected()
        super().ready()


@dataclass(frozen=True)
class Finished:
    attempt: Attempt
    result: DriverResult
    left: list[Path]
    start: Later


@pytest.fixture(scope="module")
def finished(stage: Stage, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """One good run, which several tests look at."""
    work_dir = tmp_path_factory.mktemp("driver") / "work"
    attempt, start = stage.good(), Later(stage.connected)
    result = attempt.run(LOAD, work_dir, start)
    return Finished(attempt, result, list(work_dir.iterdir()), start)


def no_driver_is_left() -> bool:
    names = {child.name() for child in psutil.Process().children(recursive=True)}
    return not names & {"tpcc_start", "sysbench", "setpriv"}


def test_times_counts_and_seconds_agree(finished: Finished) -> None:
    result = finished.result
    new_orders = result.counts["new_order"].completed
    times = result.times
    assert times.count == new_orders > 20
    assert 0 < times.percentile(1) <= times.percentile(95) <= times.max_ms < 4000
    assert len(times.per_second()) == len(times.p95_per_second()) == LOAD.measure_s
    assert sum(times.per_second()) == new_orders
    # As long as it was asked to, or longer where the host kept the driver waiting.
    assert LOAD.measure_s - 0.3 < result.measured_seconds < LOAD.measure_s + 2
    assert 0 < result.driver_cpu_seconds < LOAD.measure_s * LOAD.connections


def test_the_five_transactions_come_in_tpcc_mysqls_mix(finished: Finished) -> None:
    counts = finished.result.counts
    assert set(counts) == set(LOAD.workload.transactions)
    assert all(count.failed == 0 and count.retried >= 0 for count in counts.values())
    new_orders = counts["new_order"].completed
    for transaction, cards in (
        ("payment", 10),
        ("order_status", 1),
        ("delivery", 1),
        ("stock_level", 1),
    ):
        # The deck is exact; at both ends of the interval some of its cards are still running.
        expected = new_orders * cards / 10
        assert counts[transaction].completed == pytest.approx(expected, rel=0.02, abs=8)


def test_phases_come_in_order_and_on_time(finished: Finished, stage: Stage) -> None:
    phases = [phase for phase, _ in finished.attempt.phases]
    assert phases == [Phase.WARMING, Phase.MEASURING, Phase.STOPPING]
    if stage.real:
        warming, measuring, stopping = (at for _, at in finished.attempt.phases)
        # On a busy host each may be heard of somewhat later than it happened.
        assert LOAD.warmup_s / 2 < measuring - warming < LOAD.warmup_s + 2
        assert LOAD.measure_s - 1 < stopping - measuring < LOAD.measure_s + 2
        assert stopping - warming > LOAD.warmup_s + LOAD.measure_s - 0.4


def test_a_driver_says_that_it_is_ready_and_begins_when_it_may(finished: Finished) -> None:
    (ready_at,) = finished.start.ready_at
    assert finished.attempt.phases[0][1] >= ready_at + 0.7
    if finished.attempt.driver.name == "sysbench":  # tpcc_start connects when it has begun
        assert finished.start.connections >= LOAD.connections


def test_sysbench_that_is_connected_waits_for_as_long_as_it_takes_to_be_told() -> None:
    """As when the database is away between the two: that is not held against the config."""
    program, deadlines = MagicMock(wake_at=float("inf")), []

    def lines(_: object) -> Iterator[Lines]:
        for _ in range(3):
            yield Lines([], [])
            deadlines.append(program.deadline)

    program.lines.side_effect = lines
    program.failure.side_effect = lambda *said: RunFailed(*said)
    control = MagicMock(READY=1)
    control.broken.return_value, control.are_all.side_effect = 0, lambda state: state == 1
    drive = sysbench_module._Drive(program, control, MagicMock(), SHORT, Start(2), grace_s=1.0)
    with pytest.raises(RunFailed, match="ended with status"):
        drive.follow(lambda _: None, lambda: False)
    assert deadlines[:3] == [float("inf")] * 3


def test_nothing_is_left_after_a_run(finished: Finished) -> None:
    assert finished.left == []
    assert no_driver_is_left()


def test_the_output_is_kept_without_the_password(finished: Finished) -> None:
    assert finished.result.output
    assert finished.attempt.target.password not in finished.result.output


def test_name_and_version_say_what_ran(stage: Stage) -> None:
    driver = stage.good().driver
    assert driver.name
    assert driver.version == stage.good().driver.version
    assert len(driver.version) < 60


@pytest.mark.parametrize(
    "outcome",
    [
        Outcome.CANCELLED,
        Outcome.DRIVER_FAILED,
        Outcome.ZERO_WORK,
        Outcome.TIMED_OUT,
        Outcome.LOST,
    ],
)
def test_each_way_to_fail_has_its_own_outcome(
    stage: Stage, outcome: Outcome, tmp_path: Path
) -> None:
    with stage.failing(outcome) as attempt:
        began = time.monotonic()
        with pytest.raises(RunFailed) as failed:
            attempt.run(WARMED, tmp_path / "work")
        took = time.monotonic() - began
    assert failed.value.outcome is outcome
    assert took < 30  # a driver that waits for what does not come is given a minute
    assert len(str(failed.value).splitlines()) == 1
    assert len(failed.value.log_tail) <= 4_000
    for text in (str(failed.value), failed.value.log_tail):
        assert attempt.target.password not in text
    assert list((tmp_path / "work").iterdir()) == []
    assert no_driver_is_left()


def test_a_run_that_is_cancelled_before_it_starts_does_not_measure(
    stage: Stage, tmp_path: Path
) -> None:
    attempt = stage.good()
    attempt.should_stop = lambda: True
    with pytest.raises(RunFailed) as failed:
        attempt.run(SHORT, tmp_path / "work")
    assert failed.value.outcome is Outcome.CANCELLED
    assert Phase.MEASURING not in [phase for phase, _ in attempt.phases]
    assert no_driver_is_left()


def test_an_error_of_the_caller_ends_the_driver(stage: Stage, tmp_path: Path) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    attempt = stage.good()
    attempt.at[Phase.MEASURING] = interrupt
    with pytest.raises(KeyboardInterrupt):
        attempt.run(SHORT, tmp_path / "work")
    assert list((tmp_path / "work").iterdir()) == []
    assert no_driver_is_left()


#: For what can only happen with a server.
real_drivers = pytest.mark.parametrize("stage", REAL_DRIVERS, indirect=True, scope="module")


@real_drivers
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"port": 1}, r"cannot work on 127\.0\.0\.1:1: "),
        ({"password": "hush-hush"}, "Access denied"),
    ],
    ids=["nobody-listens", "wrong-password"],
)
def test_a_server_that_lets_nobody_in_is_a_failure_of_the_driver(
    stage: RealStage, tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    good = stage.good()
    with pytest.raises(RunFailed, match=said) as failed:
        Attempt(good.driver, replace(good.target, **change)).run(SHORT, tmp_path)
    assert failed.value.outcome is Outcome.DRIVER_FAILED
    assert "hush" not in str(failed.value)


@real_drivers
def test_a_connection_that_the_server_refuses_is_a_failure_of_the_driver(
    stage: RealStage, tmp_path: Path
) -> None:
    with closing(stage.server.connect()) as connection:
        connection.cursor().execute("SET @before = @@global.max_connections")
        connection.cursor().execute("SET GLOBAL max_connections = 2")
        try:
            with pytest.raises(RunFailed, match="Too many connections") as failed:
                stage.good().run(SHORT, tmp_path)
        finally:
            connection.cursor().execute("SET GLOBAL max_connections = @before")
    assert failed.value.outcome is Outcome.DRIVER_FAILED


def test_the_fake_makes_the_same_numbers_of_the_same_seed(tmp_path: Path) -> None:
    one, two = (FakeStage().good().run(LOAD, tmp_path) for _ in range(2))
    assert one.times.to_bytes() == two.times.to_bytes()
    with pytest.raises(ValueError, match="does not fail with"):
        FakeDriver(fail=Outcome.NO_START)

"""Real runs whose server or driver is ended from outside: lost, and no fault of their config."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from benchmarks.errors import RunFailed
from benchmarks.measurement.measure import measure
from benchmarks.measurement.plan import Plan
from benchmarks.measurement.result import Measurement
from benchmarks.outcomes import Outcome
from benchmarks.processes import child
from benchmarks.servers.binary import ServerBinary
from benchmarks.tests.quick import unhurried

pytestmark = [pytest.mark.server, pytest.mark.slow]


@pytest.fixture(autouse=True)
def none_is_killed_for_lack_of_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The kernel counts them on all of the host, where other tests run out of memory meanwhile."""
    there = tmp_path / "vmstat"
    there.write_text("oom_kill 1\n")
    monkeypatch.setattr(child, "VMSTAT", there)


def servers_of(plan: Plan) -> list[psutil.Process]:
    config = f"--defaults-file={plan.layout.run_dir(plan.name)}/my.cnf"
    return [child for child in psutil.Process().children() if config in child.cmdline()]


def test_a_server_killed_after_the_last_measured_second_costs_nothing(
    mysql_binary: ServerBinary,
    plan_on: Callable[[ServerBinary], Plan],
    caplog: pytest.LogCaptureFixture,
) -> None:
    plan = plan_on(mysql_binary)
    load = replace(plan.load, warmup_s=0, measure_s=2)
    plan = replace(plan, load=load, options=unhurried(mysql_binary))
    kept: list[Measurement] = []

    def keep(found: Measurement) -> None:
        kept.append(found)
        (server,) = servers_of(plan)
        server.kill()
        os.waitid(os.P_PID, server.pid, os.WEXITED | os.WNOWAIT)

    steps: list[str] = []
    found = measure(
        plan,
        report=steps.append,
        should_stop=lambda: "collecting" in steps,  # nor does a stop that comes too late
        keep=keep,
    )
    assert found.metrics is not None
    assert found.metrics.completed > 0
    assert found.redo_mb_s is not None
    assert found.redo_mb_s > 0
    assert kept == [found]
    assert "ended before it was asked to" in caplog.text
    assert {"stopping the server", "discarding the clone"} < found.step_seconds.keys()
    assert not list(plan.layout.run_dir("").iterdir())


def reason_of(plan: Plan, program: str, sent: signal.Signals) -> str:
    """Why a run is lost whose server or driver gets a signal while it measures."""

    def end_it(step: str) -> None:
        if step == "measuring":
            driver = [child for child in psutil.Process().children() if child.name() == "sysbench"]
            (victim,) = {"driver": driver, "server": servers_of(plan)}[program]
            os.kill(victim.pid, sent)

    load = replace(plan.load, warmup_s=0)
    plan = replace(plan, load=load, options=unhurried(plan.binary))
    with pytest.raises(RunFailed) as ended:
        measure(plan, report=end_it, should_stop=lambda: False)
    assert ended.value.outcome is Outcome.LOST
    assert not list(plan.layout.run_dir("").iterdir())
    return str(ended.value)


def test_a_run_whose_server_is_shut_down_from_outside_is_lost(
    any_server: ServerBinary, plan_on: Callable[[ServerBinary], Plan]
) -> None:
    """As each server writes into its log."""
    said = "the server was shut down from outside"
    assert said in reason_of(plan_on(any_server), "server", signal.SIGTERM)


# On one server: what becomes of a process that was killed, or of the driver, is the same with
# every other.
def test_a_run_whose_server_is_killed_from_outside_is_lost(
    mariadb_binary: ServerBinary, plan_on: Callable[[ServerBinary], Plan]
) -> None:
    said = "the server was ended by SIGKILL, which we did not send"
    assert said in reason_of(plan_on(mariadb_binary), "server", signal.SIGKILL)


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM])
def test_a_run_whose_driver_is_ended_from_outside_is_lost(
    sent: signal.Signals, mariadb_binary: ServerBinary, plan_on: Callable[[ServerBinary], Plan]
) -> None:
    said = f"the driver was ended by {sent.name}, which we did not send"
    assert said in reason_of(plan_on(mariadb_binary), "driver", sent)

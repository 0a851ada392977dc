"""A real run that is really disturbed by a stranger's CPU use."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.drivers.protocol import Load
from benchmarks.drivers.workloads import tpcc
from benchmarks.measurement.measure import measure
from benchmarks.measurement.plan import Plan
from benchmarks.outcomes import Outcome
from benchmarks.servers.binary import ServerBinary
from benchmarks.telemetry.disturbance import Kind, Limits
from benchmarks.telemetry.host import logical_cpus
from benchmarks.tests.conftest import GOLDEN_WAREHOUSES, NOTHING
from benchmarks.tests.quick import unhurried

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.alone]


@pytest.fixture
def plan(mariadb_binary: ServerBinary, plan_on: Callable[[ServerBinary], Plan]) -> Plan:
    """A short run on the golden dataset that the tests of this session share, on the server that
    starts and ends soonest.
    """
    load = Load(tpcc(GOLDEN_WAREHOUSES), 1, warmup_s=0, measure_s=3, seed=1)
    return replace(plan_on(mariadb_binary), load=load, options=unhurried(mariadb_binary))


@contextmanager
def strangers(folder: Path, count: int) -> Iterator[None]:
    """Processes that burn CPU time and do not descend from this one."""
    program = folder / "adv-burner"
    program.symlink_to(Path(sys.executable).resolve())
    pids = []
    try:
        for number in range(count):
            file = folder / f"pid-{number}"
            code = f"open({str(file)!r}, 'w').write(str(__import__('os').getpid()) + ' ')\n"
            # setsid forks and leaves at once, so that init adopts the program
            subprocess.run(
                ["setsid", "--fork", program, "-c", f"{code}while True: pass"], check=True
            )
            deadline = time.monotonic() + 10
            while not (text := file.read_text() if file.exists() else ""):
                assert time.monotonic() < deadline
                time.sleep(0.02)
            pids.append(int(text))
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)


def test_a_stranger_that_burns_cpu_time_voids_the_run(plan: Plan, tmp_path: Path) -> None:
    limits = replace(NOTHING, foreign_cpu_pct=Limits().foreign_cpu_pct)
    plan = replace(plan, limits=limits)
    with strangers(tmp_path, -(-logical_cpus() // 2)):
        void = measure(plan, report=lambda _: None, should_stop=lambda: False)
    (found,) = void.disturbances
    assert found.kind is Kind.FOREIGN_CPU
    assert found.value > 15
    assert "other programs used" in void.reason
    assert "adv-burner" in [name for name, _ in void.conditions["by_cpu"]]  # type: ignore[attr-defined]
    assert [s["second"] for s in void.samples if (s["second"] or 0) >= 0]
    assert void.outcome is Outcome.DISTURBED
    assert not list(plan.layout.run_dir("").iterdir())

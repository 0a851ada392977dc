"""Stands for measuring: a run that does everything but start a server and a driver.

It holds its folder, watches the disk's reserve, has two processes that can be killed and takes
seconds; it is the faster for a config that gives durability up.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.errors import RunFailed
from benchmarks.measurement.plan import Plan
from benchmarks.measurement.result import BytesSource, Measurement, Metrics
from benchmarks.outcomes import Outcome
from benchmarks.ownership import held_folder
from benchmarks.servers.binary import ServerBinary
from benchmarks.servers.trial import Trial
from benchmarks.storage.identify import check_in_place
from benchmarks.storage.reserve import ReserveWatch

_FASTER = 1.3
#: How long each takes, and what comes after it, in seconds.
STEPS = {"cloning the dataset": 0.7, "warming up": 0.3, "measuring": 2.0}
STOPPING_S = 0.7


def measure(
    plan: Plan,
    *,
    report: Callable[[str], None],
    should_stop: Callable[[], bool],
    keep: Callable[[Measurement], None] = lambda _: None,
) -> Measurement:
    """See `benchmarks.measurement.measure.measure`."""
    report("checking the device")
    check_in_place(plan.layout, plan.expected)
    folder = plan.layout.run_dir(plan.name)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with ReserveWatch(plan.layout.directories, should_stop) as watch, ExitStack() as stack:
        stack.enter_context(held_folder(folder))
        started = [
            stack.enter_context(_process(folder / name)) for name in ("mariadbd", "sysbench")
        ]
        for process in started:
            stack.callback(process.kill)
        for step, seconds in STEPS.items():
            report(step)
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                if watch.should_stop():
                    raise RunFailed(Outcome.CANCELLED, "the run was stopped")
                if any(process.poll() is not None for process in started):
                    raise RunFailed(Outcome.LOST, "a process was ended by SIGKILL")
                time.sleep(0.05)
        found = _measurement(plan)
        keep(found)
        report("stopping the server")
        time.sleep(STOPPING_S)
    return found


def _process(program: Path) -> subprocess.Popen[bytes]:
    program.symlink_to("/bin/sleep")
    # A parent that was killed before setpriv has asked for the signal would leave it for good.
    child = ["sh", "-c", '[ "$PPID" = "$1" ] && exec "$0" 600', str(program), str(os.getpid())]
    return subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "--", *child])


def _measurement(plan: Plan) -> Measurement:
    faster = "innodb_flush_log_at_trx_commit" in plan.options
    # Without noise: of three blocks with any, one study in thirty has its verdict by chance.
    level = 6000.0 * (_FASTER if faster else 1.0)
    values: dict[str, Any] = dict.fromkeys(Metrics.__dataclass_fields__, 1.0)
    values |= {"throughput": level, "completed": 200, "failed": 0, "retried": 0}
    values |= {"bytes_written_source": BytesSource.DEVICE}
    return Measurement(
        metrics=Metrics(**values),
        samples=[{"second": 0, "completed": 100}, {"second": 1, "completed": 100}],
        variables={name: value or "" for name, value in plan.options.items()},
        fingerprint={"cpu_model": "any"},
        comparability_key="k",
        driver_version="1",
        step_seconds=dict(STEPS),
        log_tail="",
    )


def started(_: ServerBinary, options: dict[str, str], **__: Any) -> Trial:
    """A trial start after which every variable is as it was asked for."""
    time.sleep(0.5)
    return Trial(variables=dict(options), log_tail="", seconds=0.5)

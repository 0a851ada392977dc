"""Crash recovery: a server is killed at full load and started again, several times in a row."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path

import pymysql

from benchmarks.datasets.cloning import clone
from benchmarks.documents import Document
from benchmarks.drivers.protocol import Phase
from benchmarks.emulation.device import emulated_device
from benchmarks.engines import innodb
from benchmarks.errors import RunFailed
from benchmarks.measurement.drive import called_off, target_of
from benchmarks.measurement.plan import Plan
from benchmarks.measurement.steps import Steps, find_dataset, run_folders
from benchmarks.ownership import forget_cached
from benchmarks.servers.failures import find_trouble, variables_of
from benchmarks.servers.instance import ServerInstance
from benchmarks.storage.identify import check_in_place
from benchmarks.storage.reserve import ReserveWatch
from benchmarks.telemetry.server_reader import read_debt
from benchmarks.telemetry.write_debt import DebtReading

#: How often a server is killed.
KILLS = 3
#: Seconds after which a server that does not answer has not come back.
GIVE_UP_S = 600.0
_FIRST_START_S = 120.0
# The driver is killed with its server; this only keeps it from ending before.
_SPARE_S = 3600


@dataclass(frozen=True)
class Recovered(Document):
    """One kill: `seconds` from the start until the server took connections again.

    `checkpoint_age_bytes` is the redo log that it had to apply, `history_length` the undo logs
    that were not purged, both read just before the kill; None where the server did not say.
    """

    seconds: float
    checkpoint_age_bytes: int | None = None
    history_length: int | None = None
    redo_capacity_bytes: int | None = None


def crash_test(
    plan: Plan,
    *,
    load_s: float,
    kills: int = KILLS,
    give_up_s: float = GIVE_UP_S,
    report: Callable[[str], None],
    should_stop: Callable[[], bool],
) -> list[Recovered]:
    """Kill the plan's server with SIGKILL `load_s` seconds into its load, and start it again.

    All on one clone of the dataset, each time with the files out of the page cache, as after a
    restart of the machine, and under the limits of an emulated device.

    Raises RunFailed: TIMED_OUT for a server that does not answer within `give_up_s`, NO_START for
    one that does not start again, CANCELLED, or what else happens to a run; BenchmarkError when
    server, device or dataset can't be used. Afterwards no process and no file is left.
    """
    steps = Steps(report)
    steps.enter("checking the device")
    check_in_place(plan.layout, plan.expected)
    found: list[Recovered] = []
    with (
        ReserveWatch(plan.layout.directories, should_stop) as watch,
        run_folders(plan, steps) as (run_dir, log_dir),
    ):
        should_stop = watch.should_stop
        dataset = find_dataset(plan, steps, should_stop)
        steps.enter("cloning the dataset")
        clone(dataset, run_dir / "data", log_dir=log_dir, should_stop=should_stop)
        directories = [directory for directory in (run_dir, log_dir) if directory]
        owed: DebtReading | None = None
        for number in range(kills + 1):
            steps.enter(f"recovering, {number} of {kills}" if owed else "starting the server")
            deadline_s = give_up_s if owed else _FIRST_START_S
            for directory in directories:
                forget_cached(directory)
            with (
                # Anew for each start: stopping a server lifts its limits.
                emulated_device(plan.emulation, directories, run=plan.name) as limits,
                plan.running_server(
                    run_dir, log_dir, limits, should_stop, deadline_s=deadline_s
                ) as server,
            ):
                capacity = innodb.redo_capacity(variables_of(server))
                if owed:
                    found.append(
                        Recovered(
                            seconds=server.start_s,
                            checkpoint_age_bytes=owed.checkpoint_age_bytes,
                            history_length=owed.history_length,
                            redo_capacity_bytes=owed.redo_capacity or capacity,
                        )
                    )
                if number == kills:
                    server.kill()  # its data are thrown away
                else:
                    steps.enter(f"loading before kill {number + 1} of {kills}")
                    work_dir = run_dir / f"driver-{number}"
                    owed = _load_and_kill(plan, server, work_dir, load_s, should_stop)
    return found


def _load_and_kill(
    plan: Plan,
    server: ServerInstance,
    work_dir: Path,
    load_s: float,
    should_stop: Callable[[], bool],
) -> DebtReading:
    """Kill the server under load, return its write debt. Raises RunFailed if it ended before."""
    begun: list[float] = []
    owed: list[DebtReading] = []

    def on_phase(_: Phase) -> None:
        begun.append(time.monotonic())

    def is_over() -> bool:
        if should_stop():
            return True
        if begun and time.monotonic() - begun[0] >= load_s:
            owed.append(_owed_by(server))
            server.kill()
            return True
        return False

    work_dir.mkdir()
    load = replace(plan.load, measure_s=ceil(load_s + _SPARE_S))
    target = target_of(server, load.workload.schema)
    try:
        plan.driver.run(target, load, work_dir, on_phase=on_phase, should_stop=is_over)
    except RunFailed as failure:
        if owed:
            return owed[0]
        why = called_off(failure) if should_stop() else find_trouble(server)
        raise why or failure from failure.__cause__
    raise RuntimeError("the driver ended before its server was killed")


def _owed_by(server: ServerInstance) -> DebtReading:
    """Return nothing known for a server that is too busy to say: it is killed nevertheless."""
    try:
        return read_debt(server.connect)
    except (pymysql.Error, OSError):
        return DebtReading()

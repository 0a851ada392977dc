"""The load host's part of a run: compare the clocks, drive, watch, report."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from benchmarks.drivers.protocol import LocalDriver, Phase
from benchmarks.errors import RunFailed
from benchmarks.outcomes import DRIVERS_OWN, Outcome
from benchmarks.remote_load.link import Link
from benchmarks.remote_load.load_cpu import CpuWatch
from benchmarks.remote_load.messages import Order, Phases, Result
from benchmarks.telemetry.disturbance import MIN_STALL_S


def drive_for(
    order: Order,
    driver: LocalDriver,
    work_dir: Path,
    *,
    tell: Callable[[Phases], None],
    should_stop: Callable[[], bool],
) -> Result:
    """Run the driver as ordered. `tell` gets the clocks and then each phase; it may not wait.

    Raises RunFailed: what the driver raises, or LOST when the way to the measured host is cut.
    """
    with Link(order.target) as link, CpuWatch() as cpu:
        clock = link.clock()
        phases = Phases(offset_s=clock.offset_s, round_trip_s=clock.round_trip_s)
        tell(phases)
        link.begin_watching()

        def on_phase(phase: Phase) -> None:
            nonlocal phases
            at = time.monotonic()
            if phase is Phase.MEASURING:
                cpu.begin()
            elif phase is Phase.STOPPING:
                cpu.end()
            phases = phases.model_copy(update={phase.value: at})
            tell(phases)

        try:
            found = driver.run(
                order.target,
                order.load,
                work_dir,
                on_phase=on_phase,
                should_stop=lambda: bool(link.broken) or should_stop(),
            )
        except RunFailed as failure:
            if failure.outcome is Outcome.DRIVER_FAILED and not link.broken:
                link.look()  # the driver may have noticed first
            if link.broken and not should_stop():
                raise _cut_off(link) from failure
            stalled_s = cpu.stalled_s() if order.watches_stalls else 0.0
            if failure.outcome in DRIVERS_OWN and stalled_s > MIN_STALL_S:
                raise _stood_still(stalled_s, failure) from failure
            raise
        last = clock
        with suppress(RunFailed):  # it has been driven; only the second reading is missing
            last = link.clock()
        used = cpu.found()
        return Result.of(found, last, used.as_json() if used else None)


def _stood_still(stalled_s: float, failure: RunFailed) -> RunFailed:
    text = f"the load host stalled for {stalled_s:.1f} s while it drove: {failure}"
    return RunFailed(Outcome.DISTURBED, text, log_tail=failure.log_tail)


def _cut_off(link: Link) -> RunFailed:
    return RunFailed(
        Outcome.LOST, f"the load host was cut off from the measured server: {link.broken}"
    )

"""The load host's part of a run: compare the clocks, drive, watch, report.

Its CPUs are watched, because a client without CPU is the limit itself, and one that stands still
for a while makes the server look slow.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from benchmarks.drivers.protocol import Driver, Phase
from benchmarks.errors import RunFailed
from benchmarks.outcomes import DRIVERS_OWN, Outcome
from benchmarks.remote_load.link import Link
from benchmarks.remote_load.messages import Order, Phases, Result
from benchmarks.telemetry.disturbance import MIN_STALL_S
from benchmarks.telemetry.sampler import MEASURE_END, MEASURE_START, Sampler
from benchmarks.telemetry.snapshot import Snapshot, SnapshotReader
from benchmarks.telemetry.usage import usage_between

_MARKS = {Phase.MEASURING: MEASURE_START, Phase.STOPPING: MEASURE_END}


def drive_for(
    order: Order,
    driver: Driver,
    work_dir: Path,
    *,
    tell: Callable[[Phases], None],
    should_stop: Callable[[], bool],
) -> Result:
    """Run the driver as ordered. `tell` gets the clocks and then each phase; it may not wait.

    Raises RunFailed: what the driver raises, or LOST when the way to the measured host is cut.
    """
    with Link(order.target) as link, Sampler(SnapshotReader()) as sampler:
        clock = link.clock()
        phases = Phases(clock=clock)
        tell(phases)
        marks: dict[Phase, Snapshot] = {}

        def on_phase(phase: Phase) -> None:
            nonlocal phases
            at = time.monotonic()
            if phase is not Phase.WARMING:
                marks[phase] = sampler.mark(_MARKS[phase])
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
                text = f"the load host was cut off from the measured server: {link.broken}"
                raise RunFailed(Outcome.LOST, text) from failure
            stalled = sampler.stalled_s()
            if failure.outcome in DRIVERS_OWN and stalled > MIN_STALL_S:
                text = f"the load host stalled for {stalled:.1f} s while it drove: {failure}"
                disturbed = RunFailed(Outcome.DISTURBED, text, log_tail=failure.log_tail)
                raise disturbed from failure
            raise
        last = clock
        with suppress(RunFailed):  # it has been driven; only the second reading is missing
            last = link.clock()
        return Result.of(found, last, _used_cpu(sampler, marks))


def _used_cpu(sampler: Sampler, marks: Mapping[Phase, Snapshot]) -> dict[str, float]:
    """Return the content of `LoadSide.cpu`; empty for an interval that is too short to tell."""
    try:
        usage = usage_between(marks[Phase.MEASURING], marks[Phase.STOPPING])
    except ValueError:
        return {}
    # The kernel's counters are read one after the other: a sum may exceed the whole by a little.
    busy_pct = min(100.0, usage.cpu_user_pct + usage.cpu_sys_pct + usage.cpu_steal_pct)
    return {
        "busy_pct": busy_pct,
        "steal_pct": usage.cpu_steal_pct,
        "stalled_s": round(sampler.stalled_s(measured=True), 2),
    }

"""The driven part of a run: warm-up and measured interval, with telemetry."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.drivers.protocol import DriverResult, LoadSide, Phase, ReportsSeconds, Target
from benchmarks.errors import RunFailed
from benchmarks.measurement.plan import Plan
from benchmarks.measurement.steps import Steps
from benchmarks.outcomes import DRIVERS_OWN, Cut, Outcome
from benchmarks.servers.failures import explain_death, find_trouble
from benchmarks.servers.instance import ServerInstance
from benchmarks.telemetry.disturbance import MIN_STALL_S, Limits
from benchmarks.telemetry.live import LiveSeconds
from benchmarks.telemetry.sampler import MEASURE_END, MEASURE_START, Sampler
from benchmarks.telemetry.server_reader import ServerReader
from benchmarks.telemetry.snapshot import Snapshot
from benchmarks.telemetry.write_debt import WriteDebt

# The step, and the name of the snapshot at its beginning.
_BEGINNING = {
    Phase.WARMING: ("warming up", "warmup_start"),
    Phase.MEASURING: ("measuring", MEASURE_START),
    Phase.STOPPING: ("collecting", MEASURE_END),
}
# So long a driver may take to end its transactions and write down what it has measured before
# it can be stopped again, in seconds.
_COLLECT_S = 10.0


@dataclass(frozen=True)
class Driven:
    """The driver's result, or why it was stopped early; snapshots at both ends of the interval.

    `driver_cpu_s`, `commits_per_second` and `write_debt` are of that interval.
    """

    end_of: DriverResult | Cut
    start: Snapshot
    end: Snapshot
    driver_cpu_s: float
    commits_per_second: list[int]
    write_debt: WriteDebt

    @property
    def load_side(self) -> LoadSide | None:
        """Return the load host, if the driver ran there to its end."""
        return self.end_of.load_side if isinstance(self.end_of, DriverResult) else None


def drive(
    plan: Plan,
    server: ServerInstance,
    variables: Mapping[str, str],
    sampler: Sampler,
    work_dir: Path,
    steps: Steps,
    should_stop: Callable[[], bool],
) -> Driven:
    """Run the workload under telemetry, with the driver's files in `work_dir`, which is created.

    `variables` are the server's own as read back.

    Raises RunFailed: that of the driver, or of the server if that failed.
    """
    marks: dict[Phase, Snapshot] = {}
    reader, driver = ServerReader(server.connect), plan.driver
    used_s = _children_cpu_s()

    def counts() -> list[int]:
        begun = marks.get(Phase.MEASURING)
        ended = Phase.STOPPING in marks
        return [] if begun is None or ended else reader.commits_per_second(begun.t)

    def is_called_off() -> bool:
        # Figures are kept as long as the driver ends by itself.
        over = marks.get(Phase.STOPPING)
        return (over is None or time.monotonic() - over.t > _COLLECT_S) and should_stop()

    cuts: list[Cut] = []
    judged = 0
    live = LiveSeconds(
        sampler.newest,
        reader.newest_commits,
        commits_each=plan.load.workload.commits,
        reported=lambda: driver.reported if isinstance(driver, ReportsSeconds) else None,
        tell=plan.tell_live,
    )

    def on_phase(phase: Phase) -> None:
        step, mark = _BEGINNING[phase]
        marks[phase] = sampler.mark(mark)
        if phase is Phase.WARMING:
            live.measuring_at = marks[phase].t + plan.load.warmup_s
        elif phase is Phase.MEASURING:
            live.measuring_at = marks[phase].t
            reader.begin()
        else:
            reader.end()
        steps.enter(step)

    def should_end() -> bool:
        nonlocal judged
        live.look()
        if is_called_off():
            return True
        seconds = counts() if plan.cut_rule and not cuts else []
        if plan.cut_rule and len(seconds) > judged:
            judged = len(seconds)
            if found := plan.cut_rule(seconds):
                cuts.append(found)
        return bool(cuts)

    work_dir.mkdir()
    steps.enter("connecting the driver")
    target = target_of(server, plan.load.workload.schema)
    end_of: DriverResult | Cut
    with sampler, reader:
        try:
            end_of = driver.run(
                target, plan.load, work_dir, on_phase=on_phase, should_stop=should_end
            )
        except RunFailed as failure:
            if (ended := called_off(failure)) is not None and should_stop():
                raise ended from failure
            stopped = failure.outcome is Outcome.CANCELLED
            cut = cuts[0] if stopped and cuts else None
            if cut is not None:
                marks[Phase.STOPPING] = sampler.mark(MEASURE_END)
                reader.end()
            # The driver only sees its connections break or hang; the server's log has the reason,
            # such as a full disk.
            trouble = None if stopped and cut is None else find_trouble(server)
            if trouble is not None or cut is None:
                held_up = None if stopped else host_stalled(plan.limits, sampler, failure)
                raise trouble or held_up or failure from failure.__cause__
            end_of = cut
    if not server.alive():
        raise explain_death(server)
    start, end = marks[Phase.MEASURING], marks[Phase.STOPPING]
    driver_cpu_s = _driver_cpu_s(end_of, marks, used_s)
    commits = reader.commits_per_second(start.t, end.t)
    return Driven(end_of, start, end, driver_cpu_s, commits, reader.write_debt(variables))


def _driver_cpu_s(
    end_of: DriverResult | Cut, marks: Mapping[Phase, Snapshot], used_s: float
) -> float:
    """Return the driver's CPU time on this host, where children had `used_s` before it."""
    if isinstance(end_of, DriverResult):
        return 0.0 if end_of.load_side else end_of.driver_cpu_seconds
    # The driver's CPU time at the start is unknown, but its load is even.
    end = marks[Phase.STOPPING].t
    share = (end - marks[Phase.MEASURING].t) / (end - marks[Phase.WARMING].t)
    return share * (_children_cpu_s() - used_s)


def _children_cpu_s() -> float:
    """Return the CPU time of all ended children of this process."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def called_off(failure: RunFailed) -> RunFailed | None:
    """Return the cause where the driver failed because its run was to end; else None.

    So a disk that somebody has filled is not held against the config: the driver finds that it
    cannot write down what it has measured while nobody looks for the disk's reserve.
    """
    if failure.outcome not in DRIVERS_OWN:
        return None
    return RunFailed(
        Outcome.CANCELLED, f"the run was to end: {failure}", log_tail=failure.log_tail
    )


def host_stalled(limits: Limits, sampler: Sampler, failure: RunFailed) -> RunFailed | None:
    """Return DISTURBED for a driver that failed because the host stood still while it drove.

    What is left of the interval then says nothing of the config, such as no transaction at all.
    """
    stalled_s = sampler.stalled_s()
    if failure.outcome not in DRIVERS_OWN or not limits.stall_pct or stalled_s <= MIN_STALL_S:
        return None
    text = f"the host stalled for {stalled_s:.1f} s while it was driven: {failure}"
    return RunFailed(Outcome.DISTURBED, text, log_tail=failure.log_tail)


def target_of(server: ServerInstance, schema: str) -> Target:
    """Return the server as a driver reaches it."""
    account = server.driver_account
    return Target(
        host=server.reach.address if server.reach else "127.0.0.1",
        port=server.port,
        user=account.user,
        password=account.password,
        database=schema,
        certificate=server.certificate,
    )

"""One run from start to end: clone, start, read back, warm up, measure, stop, discard.

Each step is a context manager whose exit runs on every path, so that nothing of a run is left
behind however it ends.
"""

from __future__ import annotations

import resource
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.datasets.cloning import clone
from benchmarks.datasets.golden import DEFAULT_PAGE_SIZE, Dataset, ensure_dataset
from benchmarks.drivers.protocol import Driver, DriverResult, Load, Phase, Target
from benchmarks.emulation.device import emulated_device
from benchmarks.emulation.profile import EmulationProfile
from benchmarks.errors import RunFailed
from benchmarks.measurement.early_stop import CutRule, Hopeless, Lookout
from benchmarks.measurement.fingerprint import (
    comparability_key,
    comparable_facts,
    host_fingerprint,
)
from benchmarks.measurement.metrics import (
    Metrics,
    compute_metrics,
    interval_mismatch,
    mean_cpu_hz,
    p95_per_second,
)
from benchmarks.measurement.steps import Steps
from benchmarks.outcomes import Outcome
from benchmarks.servers.binary import ServerBinary
from benchmarks.servers.failures import explain_death, find_trouble
from benchmarks.servers.instance import ServerInstance, running_server
from benchmarks.storage.identify import DeviceIdentity, check_usable, identify_device
from benchmarks.storage.layout import DeviceLayout
from benchmarks.telemetry.commits import CommitCounter
from benchmarks.telemetry.conditions import conditions_between
from benchmarks.telemetry.cpu import logical_cpus
from benchmarks.telemetry.disturbance import (
    Disturbance,
    Kind,
    Limits,
    conditions_document,
    find_disturbances,
    host_changed,
    reason,
)
from benchmarks.telemetry.sampler import MEASURE_END, MEASURE_START, Sampler
from benchmarks.telemetry.series import Second, merge_commits, merge_new_orders, merge_p95
from benchmarks.telemetry.snapshot import Snapshot
from benchmarks.telemetry.trend import find_trend

SampleRow = dict[str, float | int | None]


@dataclass(frozen=True)
class Plan:
    """All that one run needs to know. `options` are the candidate's knobs, `limits` what the run
    may meet before it is void, and `cut_rule` says when it is not worth finishing. `emulation`
    holds the server back to what a slower device does. `logs_with_data` leaves the redo log with
    the data although the layout has a place for it, whose device is watched all the same.
    """

    name: str
    binary: ServerBinary
    driver: Driver
    load: Load
    options: Mapping[str, str | None]
    layout: DeviceLayout
    registry: Path
    limits: Limits = field(default_factory=Limits)
    cut_rule: CutRule | None = None
    emulation: EmulationProfile | None = None
    logs_with_data: bool = False

    @property
    def log_dir(self) -> Path | None:
        """The run's own folder for its redo log; None where that is with the data."""
        return None if self.logs_with_data else self.layout.run_log_dir(self.name)

    def fingerprint(self, data: DeviceIdentity, log: DeviceIdentity | None) -> dict[str, str]:
        """The host's, with the limits of the run's device."""
        limits = self.emulation.facts() if self.emulation else {}
        return host_fingerprint(data, log) | limits


@dataclass(frozen=True)
class Measurement:
    """What one successful run found.

    `step_seconds` is the wall time of each step. `conditions` is what the host did beside the
    run, as `conditions_document` gives it. `trend_pct` is how much throughput changed over the
    measured interval, None where it is too short to tell; `still_warming` when that is more than
    chance and more than a few percent.
    """

    metrics: Metrics
    samples: list[SampleRow]
    variables: dict[str, str]
    fingerprint: dict[str, str]
    comparability_key: str
    driver_version: str
    driver_cpu_ms_per_new_order: float
    step_seconds: dict[str, float]
    log_tail: str
    conditions: dict[str, object] = field(default_factory=dict)
    trend_pct: float | None = None
    still_warming: bool = False


@dataclass(frozen=True)
class Evidence:
    """What is kept of a run without a figure that could be ranked, disturbed or cut short: all
    that was seen.
    """

    disturbances: list[Disturbance]
    conditions: dict[str, object]
    samples: list[SampleRow]
    variables: dict[str, str]
    fingerprint: dict[str, str]
    comparability_key: str
    driver_version: str
    step_seconds: dict[str, float]


class Disturbed(RunFailed):
    """The run came to its end, but something else took so much of the host that it is void."""

    def __init__(self, evidence: Evidence, *, log_tail: str = "") -> None:
        super().__init__(Outcome.DISTURBED, reason(evidence.disturbances), log_tail=log_tail)
        self.evidence = evidence


class CutShort(RunFailed):
    """The run was ended early because its first seconds showed it to be hopeless."""

    def __init__(self, hopeless: Hopeless, evidence: Evidence, *, log_tail: str = "") -> None:
        super().__init__(Outcome.CUT_SHORT, hopeless.reason, log_tail=log_tail)
        self.tpmP_at_most = hopeless.tpmP_at_most
        self.evidence = evidence


@dataclass(frozen=True)
class _Driven:
    """The driver's result, or why it was ended early; snapshots of both ends of the interval."""

    end_of: DriverResult | Hopeless
    start: Snapshot
    end: Snapshot
    driver_cpu_s: float
    commits_per_second: list[int]


def measure(
    plan: Plan, *, report: Callable[[str], None], should_stop: Callable[[], bool]
) -> Measurement:
    """Measure once. `report` hears the name of each step, `should_stop` is polled all along.

    Raises RunFailed with the way it failed, or another BenchmarkError when server, device or
    dataset can't be used at all. Afterwards no process and no file of the run is left.
    """
    steps = Steps(report)
    steps.enter("checking the device")
    data, log = _devices(plan.layout)
    steps.enter("looking for the dataset")
    dataset = ensure_dataset(
        plan.binary,
        device_dir=plan.layout.root,
        warehouses=plan.load.warehouses,
        page_size=int(plan.options.get("innodb_page_size") or DEFAULT_PAGE_SIZE),
        registry=plan.registry,
        should_stop=should_stop,
    )
    with _run_dirs(plan, steps) as (run_dir, log_dir), ExitStack() as stack:
        places = [place for place in (run_dir, log_dir) if place]
        # Before the long part: limits that cannot be set cost no copy of the dataset.
        cage = stack.enter_context(emulated_device(plan.emulation, places, run=plan.name))
        steps.enter("cloning the dataset")
        clone(dataset, run_dir / "data", log_dir=log_dir, should_stop=should_stop)
        steps.enter("starting the server")
        server = stack.enter_context(
            running_server(
                plan.binary,
                data_dir=run_dir / "data",
                run_dir=run_dir,
                registry=plan.registry,
                log_dir=log_dir,
                options=plan.options,
                should_stop=should_stop,
                confinement=cage,
            )
        )
        stack.callback(steps.enter, "stopping the server")
        variables = server.variables()
        before = plan.fingerprint(data, log)
        sampler = Sampler.of(server.pid, data, log)
        driven = _drive(plan, server, sampler, run_dir, steps, should_stop)
        fingerprint = plan.fingerprint(data, log)
        log_tail = server.error_log_tail()
    conditions, disturbances = _look_for_disturbances(plan, sampler, driven)
    if changed := host_changed(comparable_facts(before), comparable_facts(fingerprint)):
        disturbances.append(changed)
    evidence = Evidence(
        disturbances=disturbances,
        conditions=conditions,
        samples=_samples(sampler.series(), driven),
        variables=variables,
        fingerprint=fingerprint,
        comparability_key=_comparability(plan, dataset, fingerprint, variables),
        driver_version=plan.driver.version,
        step_seconds=steps.seconds,
    )
    if disturbances:
        # Also of a run that was cut short: it may have been hopeless because of that.
        raise Disturbed(evidence, log_tail=log_tail)
    if isinstance(driven.end_of, Hopeless):
        raise CutShort(driven.end_of, evidence, log_tail=log_tail)
    return _measurement(evidence, driven.end_of, driven.start, driven.end, log_tail)


def _devices(layout: DeviceLayout) -> tuple[DeviceIdentity, DeviceIdentity | None]:
    check_usable(layout.data_dir, 0)
    data = identify_device(layout.data_dir)
    if layout.log_dir is None:
        return data, None
    check_usable(layout.log_dir, 0)
    return data, identify_device(layout.log_dir)


@contextmanager
def _run_dirs(plan: Plan, steps: Steps) -> Iterator[tuple[Path, Path | None]]:
    """The run's own folders; whatever is in them is deleted at the end."""
    run_dir = plan.layout.run_dir(plan.name)
    log_dir = plan.log_dir
    folders = [run_dir] if log_dir is None else [run_dir, log_dir]
    try:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        yield run_dir, log_dir
    finally:
        steps.enter("discarding the clone")
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
        steps.finish()


def _drive(
    plan: Plan,
    server: ServerInstance,
    sampler: Sampler,
    run_dir: Path,
    steps: Steps,
    should_stop: Callable[[], bool],
) -> _Driven:
    """Run the workload under telemetry."""
    marks: dict[Phase, Snapshot] = {}
    commits = CommitCounter(server.connect)

    def counts() -> list[int]:
        begun = marks.get(Phase.MEASURING)
        ended = Phase.STOPPING in marks
        return [] if begun is None or ended else commits.per_second(begun.t)

    lookout = Lookout(plan.cut_rule, counts, should_stop)
    used_s = _children_cpu_s()

    def on_phase(phase: Phase) -> None:
        if phase is Phase.WARMING:
            marks[phase] = sampler.mark("warmup_start")
        elif phase is Phase.MEASURING:
            marks[phase] = sampler.mark(MEASURE_START)
        elif phase is Phase.STOPPING:
            marks[phase] = sampler.mark(MEASURE_END)
        steps.enter(_STEP_OF[phase])

    work_dir = run_dir / "driver"
    work_dir.mkdir()
    steps.enter("connecting the driver")
    end_of: DriverResult | Hopeless
    with sampler, commits:
        try:
            end_of = plan.driver.run(
                _target(server),
                plan.load,
                work_dir,
                on_phase=on_phase,
                should_stop=lookout.should_stop,
            )
        except RunFailed as failure:
            stopped = failure.outcome is Outcome.CANCELLED
            cut = lookout.found if stopped else None
            if cut is not None:
                marks[Phase.STOPPING] = sampler.mark(MEASURE_END)
            # The driver only saw its connections break or hang, and a server may stand still for
            # want of disk space; the server knows why.
            trouble = None if stopped and cut is None else find_trouble(server)
            if trouble is not None or cut is None:
                raise trouble or failure from failure.__cause__
            end_of = cut
    if not server.alive():
        raise explain_death(server)
    start, end = marks[Phase.MEASURING], marks[Phase.STOPPING]
    if isinstance(end_of, Hopeless):
        # Nobody asked the driver when measuring began: it works evenly all along.
        share = (end.t - start.t) / (end.t - marks[Phase.WARMING].t)
        driver_cpu_s = share * (_children_cpu_s() - used_s)
    else:
        driver_cpu_s = end_of.driver_cpu_seconds
    return _Driven(end_of, start, end, driver_cpu_s, commits.per_second(start.t, end.t))


def _children_cpu_s() -> float:
    """CPU time of all children of this process that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


_STEP_OF = {
    Phase.WARMING: "warming up",
    Phase.MEASURING: "measuring",
    Phase.STOPPING: "collecting",
}


def _look_for_disturbances(
    plan: Plan, sampler: Sampler, driven: _Driven
) -> tuple[dict[str, object], list[Disturbance]]:
    """The conditions as a document, and every limit that they passed."""
    disturbances = []
    start, end = driven.start, driven.end
    seconds = end.t - start.t
    if isinstance(driven.end_of, DriverResult):
        measured = driven.end_of.measured_seconds
        if mismatch := interval_mismatch(measured, seconds):
            late = abs(seconds - measured)
            disturbances.append(Disturbance(Kind.INTERVAL, late, 0.0, "s", mismatch))
    if seconds < _SHORTEST_S:
        return {}, disturbances
    conditions = conditions_between(
        start,
        end,
        times=sampler.times(),
        period_s=sampler.period_s,
        census=sampler.census(),
        driver_cpu_s=driven.driver_cpu_s,
    )
    disturbances += find_disturbances(conditions, plan.limits)
    return conditions_document(conditions, plan.limits), disturbances


# The kernel counts CPU time in hundredths of a second: shares of less than this mean nothing.
_SHORTEST_S = 0.5


def _measurement(
    evidence: Evidence, result: DriverResult, start: Snapshot, end: Snapshot, log_tail: str
) -> Measurement:
    metrics = compute_metrics(
        result, start, end, cpu_hz=mean_cpu_hz(start, end), logical_cpus=logical_cpus()
    )
    trend = find_trend(result.new_orders_per_second)
    return Measurement(
        metrics=metrics,
        samples=evidence.samples,
        variables=evidence.variables,
        fingerprint=evidence.fingerprint,
        comparability_key=evidence.comparability_key,
        driver_version=evidence.driver_version,
        driver_cpu_ms_per_new_order=result.driver_cpu_seconds * 1000 / metrics.new_orders,
        step_seconds=evidence.step_seconds,
        log_tail=log_tail,
        conditions=evidence.conditions,
        trend_pct=trend.pct if trend else None,
        still_warming=trend is not None and not trend.is_steady,
    )


def _target(server: ServerInstance) -> Target:
    account = server.driver_account
    return Target(
        host="127.0.0.1",
        port=server.port,
        socket=server.socket,
        user=account.user,
        password=account.password,
    )


def _samples(series: list[Second], driven: _Driven) -> list[SampleRow]:
    merged = merge_commits(series, driven.commits_per_second)
    if isinstance(driven.end_of, DriverResult):
        merged = merge_new_orders(merged, driven.end_of.new_orders_per_second)
        merged = merge_p95(merged, p95_per_second(driven.end_of))
    return [second.as_row() for second in merged]


def _comparability(
    plan: Plan, dataset: Dataset, fingerprint: Mapping[str, str], variables: Mapping[str, str]
) -> str:
    return comparability_key(
        fingerprint,
        server_digest=plan.binary.digest,
        driver_name=plan.driver.name,
        driver_version=plan.driver.version,
        dataset_key=dataset.path.name,
        log_bin=variables.get("log_bin") == "ON",
    )

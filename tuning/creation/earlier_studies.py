"""The warm start of a search: configs that earlier studies measured in the same situation.

A study counts if it is finished and has the same host, kind of device, baseline, flavour, version
series and driver, and nearly the same data, memory and connections. When in doubt it is left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from statistics import fmean
from typing import NamedTuple

from django.db.models.fields.json import KeyTextTransform

from benchmarks.emulation.profile import EmulationProfile
from benchmarks.inventory.device_lookup import FoundDevice
from benchmarks.models import CrashTest, Device, JobState, RunState, Workload
from benchmarks.outcomes import Outcome
from benchmarks.storage.identity import DeviceIdentity
from tuning.catalogue.target import traits_of
from tuning.configs.knobs import config_hash
from tuning.configs.notes import Action
from tuning.creation.plan import Plan
from tuning.models import SlotPurpose, Study, StudyState
from tuning.results.sentences import not_recovered
from tuning.statistics.aim import Aim, missed_texts
from tuning.statistics.data import Metric, Observation
from tuning.statistics.ratios import ShortRun, round_ratios
from tuning.strategy.racing import FAULTS
from tuning.strategy.search.earlier import lies_in
from tuning.strategy.search.plan import log_value
from tuning.strategy.search.space import Space

# The newest studies, and configs of them: a model of more would make a proposal slow.
MAX_STUDIES = 10
MAX_CONFIGS = 60
# How many times larger one of two data sizes, memories or numbers of connections may be.
_SIZE = 1.25
_CONNECTIONS = 1.5
# A block of an ablation has no baseline, and so no ratio.
_PURPOSES = (
    SlotPurpose.BLOCK,
    SlotPurpose.CONFIRMATION,
    SlotPurpose.SEARCH,
    SlotPurpose.REDUCED,
)
# The number of CPUs that the host of a slot's run had.
_CPUS = KeyTextTransform("logical_cpus", "run__fingerprint")


class _Run(NamedTuple):
    """A run of an earlier study that ended. The names are those of the columns."""

    device_id: int
    workload_id: int
    block: int
    candidate_id: int
    candidate__is_baseline: bool
    candidate__config_id: int
    run_id: int
    run__state: str
    run__comparability_key: str
    run__tpmP: float | None
    run__p95_ms: float | None
    run__server_path_length: float | None
    cpus: str | None


@dataclass(frozen=True)
class EarlierStudy:
    """A study in the situation of a plan. places: its devices and workloads that count."""

    study: Study
    places: set[tuple[int, int]]
    runs: list[_Run]


@dataclass(frozen=True)
class Earlier:
    """A config that a search may begin with; study, config and runs are primary keys.

    gain: the mean log of its runs' ratios to the baseline of their block, larger is better.
    """

    study: int
    config: int
    gain: float
    runs: tuple[int, ...]


@dataclass(frozen=True)
class MissedBefore:
    """`limits` that the baseline missed in `study`, as `p95 <= 50 ms: 61.2 ms in 8 runs`; none
    where it is not known to have missed any.
    """

    study: int = 0
    limits: tuple[str, ...] = ()


def missed_before(studies: Iterable[EarlierStudy], aim: Aim) -> MissedBefore:
    """Return the limits that the baseline missed in the newest study that measured it.

    Without other limits, the newest study with crash tests decides about the limit of recovery.
    """
    for earlier in studies if aim.limits else ():
        seen = [
            Observation(
                "",
                run.block,
                Outcome.OK,
                tpmP=run.run__tpmP,
                p95_ms=run.run__p95_ms,
                server_path_length=run.run__server_path_length,
            )
            for run in earlier.runs
            if run.candidate__is_baseline and run.run__state == RunState.OK
        ]
        killed = _slowest_to_recover(earlier)
        if seen if aim.keep else killed is not None:
            late = not_recovered({"": killed} if killed else {}, aim.max_recovery_s)
            return MissedBefore(earlier.study.pk, (*missed_texts(aim, seen), *late.values()))
    return MissedBefore()


def earlier_measured(
    studies: Iterable[EarlierStudy], space: Space, metric: Metric
) -> list[Earlier]:
    """Return what earlier studies measured of the space; configs of the newest study first."""
    found = [one for earlier in studies for one in _measured(earlier, space, metric)]
    return found[:MAX_CONFIGS]


def similar_studies(plan: Plan, baseline: Mapping[str, str]) -> list[EarlierStudy]:
    """Return the newest finished studies in the plan's situation, with the same baseline."""
    target = plan.situation.target
    rows = (
        Study.objects.filter(
            state=StudyState.FINISHED,
            host=plan.host,
            server__flavour=target.flavour.value,
            scale_model__isnull=plan.model is None,
            candidates__is_baseline=True,
            candidates__config__hash=config_hash(baseline),
        )
        .select_related("server")
        .prefetch_related("devices", "workloads")
        .order_by("-pk")
    )
    found = []
    for study in rows.iterator(chunk_size=MAX_STUDIES):
        series = traits_of(study.server).version[:2]
        if series == target.version[:2] and (places := _places(study, plan)):
            runs = _runs(study, places, str(plan.inventory.host_cpus))
            found.append(EarlierStudy(study, places, runs))
        if len(found) == MAX_STUDIES:
            break
    return found


def _places(study: Study, plan: Plan) -> set[tuple[int, int]]:
    """Return the devices and workloads of the study that are like those of the plan."""
    return {
        (device.pk, workload.pk)
        for device in study.devices.all()
        for workload in study.workloads.all()
        if _is_like(device, plan.devices[0]) and _loads_like(study, device, workload, plan)
    }


def _is_like(device: Device, found: FoundDevice) -> bool:
    """Whether both are of one kind and model, under the same limits on what they can do."""
    return (
        _limits(device.profile) == _limits(found.emulation)
        and _same(device.found, found.data)
        and _same(device.found_for_logs, found.log)
    )


def _limits(profile: EmulationProfile | None) -> EmulationProfile | None:
    """Return the limits without those on memory, which are compared with the data."""
    if profile is None or not profile.throttles:
        return None
    return replace(profile, memory_bytes=None, scale=None, note="")


def _same(one: DeviceIdentity | None, other: DeviceIdentity | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.is_same_device(other)


def _loads_like(study: Study, device: Device, workload: Workload, plan: Plan) -> bool:
    memory = device.memory_limit_bytes or study.memory_bytes
    if memory is None or workload.driver != plan.driver.name:
        return False
    if list(workload.load_hosts_in_order) != plan.load_hosts:
        return False
    sizes = plan.sizes
    ours = plan.devices[0].memory_bytes or plan.inventory.memory_budget_bytes
    return (
        _near(workload.warehouses, sizes.warehouses, _SIZE)
        and _near(memory, ours, _SIZE)
        and _near(memory / workload.warehouses, ours / sizes.warehouses, _SIZE)
        and _near(workload.connections, sizes.connections[0], _CONNECTIONS)
    )


def _near(one: float, other: float, factor: float) -> bool:
    return max(one, other) <= factor * min(one, other)


def _runs(study: Study, places: set[tuple[int, int]], cpus: str) -> list[_Run]:
    """Return the runs in their order, without successful runs with other CPUs than the host's."""
    slots = study.slots.filter(purpose__in=_PURPOSES).order_by("order").annotate(cpus=_CPUS)
    runs = [_Run(*row) for row in slots.values_list(*_Run._fields)]
    return [
        run
        for run in runs
        if (run.device_id, run.workload_id) in places
        and (run.run__state != RunState.OK or run.cpus == cpus)
    ]


def _slowest_to_recover(earlier: EarlierStudy) -> CrashTest | None:
    """Return the slowest timed crash test of the baseline."""
    slots = earlier.study.crash_slots.filter(
        candidate__is_baseline=True, test__state=JobState.OK
    ).select_related("test")
    tests = [slot.test for slot in slots if (slot.device_id, slot.workload_id) in earlier.places]
    return max(tests, key=lambda test: max(test.seconds), default=None)


def _measured(earlier: EarlierStudy, space: Space, metric: Metric) -> list[Earlier]:
    """Return its configs in the space; those with the most runs first, then the latest."""
    faulty = {run.candidate_id for run in earlier.runs if run.run__state in FAULTS}
    usable = _knobs(earlier.study, space) - faulty
    logs: dict[int, list[float]] = defaultdict(list)
    runs: dict[int, list[int]] = defaultdict(list)
    for run, ratio in _ratios(earlier.runs, metric):
        if run.candidate_id in usable:
            logs[run.candidate__config_id].append(log_value(metric, ratio))
            runs[run.candidate__config_id].append(run.run_id)
    found = [
        Earlier(earlier.study.pk, config, fmean(gains), tuple(runs[config]))
        for config, gains in logs.items()
    ]
    return sorted(found, key=lambda one: (-len(one.runs), -one.runs[-1]))


def _knobs(study: Study, space: Space) -> set[int]:
    """Return the candidates that the search could have made itself."""
    found = set()
    for one in study.candidates.select_related("config"):
        adjusted = {note["name"] for note in one.notes if note["action"] == Action.ADJUSTED}
        adjusted -= {*space.names, *space.pinned}  # raised for the connections, here as there
        left = {name: text for name, text in one.config.knobs.items() if name not in adjusted}
        if not (one.is_baseline or one.logs_with_data) and lies_in(space, left):
            found.add(one.pk)
    return found


def _ratios(runs: Iterable[_Run], metric: Metric) -> list[tuple[_Run, float]]:
    """Return each successful run but the baselines', with its ratio to its block's baseline."""
    runs = [run for run in runs if run.run__state == RunState.OK]
    blocks: dict[tuple[object, ...], int] = {}
    shorts = []
    for run in runs:
        key = run.device_id, run.workload_id, run.block, run.run__comparability_key
        figure = getattr(run, f"run__{metric.value}") or None
        number = blocks.setdefault(key, len(blocks))
        shorts.append(ShortRun(number, run.candidate__is_baseline, figure))
    return [
        (run, ratio)
        for run, ratio in zip(runs, round_ratios(shorts), strict=True)
        if ratio is not None and not run.candidate__is_baseline
    ]

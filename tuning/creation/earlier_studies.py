"""The warm start of a search: configs that earlier studies measured in the same situation.

A study counts if it is finished and has the same host, kind of device, baseline, flavour, version
series and driver, and nearly the same data, memory and connections. When in doubt it is left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, NamedTuple

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
from tuning.statistics.rounds import ShortRun, round_ratios
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
# Beside a winner without some of its lines there is no baseline, and so no ratio.
_PURPOSES = (
    SlotPurpose.BLOCK,
    SlotPurpose.CONFIRMATION,
    SlotPurpose.SEARCH,
    SlotPurpose.REDUCED,
)
#: A study, and its devices and workloads that count.
EarlierStudy = tuple[Study, set[tuple[int, int]]]
# The number of CPUs that the host of a slot's run had.
_CPUS = KeyTextTransform("logical_cpus", "run__fingerprint")


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
class WarmStart:
    """What a search begins with, in numbers."""

    studies: tuple[int, ...]
    configs: int
    runs: int


@dataclass(frozen=True)
class MissedBefore:
    """`limits` that the baseline missed in `study`, as `p95 <= 50 ms: 61.2 ms in 8 runs`; none
    where it is not known to have missed any.
    """

    study: int = 0
    limits: tuple[str, ...] = ()


def missed_before(plan: Plan, studies: Iterable[EarlierStudy], aim: Aim) -> MissedBefore:
    """Return the limits that the baseline missed in the newest study that measured it.

    Without other limits, the newest study with crash tests decides about the limit of recovery.
    """
    for study, places in studies if aim.limits else ():
        seen = _baseline_runs(study, places, str(plan.inventory.host_cpus))
        killed = _slowest_to_recover(study, places)
        if seen if aim.keep else killed is not None:
            late = not_recovered({"": killed} if killed else {}, aim.max_recovery_s)
            return MissedBefore(study.pk, (*missed_texts(aim, seen), *late.values()))
    return MissedBefore()


def stored_missed_before(search: Mapping[str, Any]) -> MissedBefore:
    """That of a search as it is stored."""
    found = search.get("missed_before", {})
    return MissedBefore(found.get("study", 0), tuple(found.get("limits", ())))


def earlier_measured(
    plan: Plan, studies: Iterable[EarlierStudy], space: Space, metric: Metric
) -> list[Earlier]:
    """Return what earlier studies measured of the space; configs of the newest study first."""
    found: list[Earlier] = []
    for study, places in studies:
        found += _measured(study, places, space, metric, plan.inventory.host_cpus)
        if len(found) >= MAX_CONFIGS:
            break
    return found[:MAX_CONFIGS]


def warm_start(search: Mapping[str, Any]) -> WarmStart | None:
    """Of a search as it is stored; None where it begins with nothing."""
    found = search.get("earlier", [])
    if not found:
        return None
    studies = tuple(sorted({one["study"] for one in found}))
    return WarmStart(studies, len(found), sum(len(one["runs"]) for one in found))


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
            found.append((study, places))
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
    """Without those on memory, which are compared with the data."""
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


def _baseline_runs(study: Study, places: set[tuple[int, int]], cpus: str) -> list[Observation]:
    there = study.slots.filter(
        candidate__is_baseline=True, run__state=RunState.OK, purpose__in=_PURPOSES
    ).annotate(cpus=_CPUS)
    names = "tpmP", "p95_ms", "server_path_length"
    columns = "device", "workload", "cpus", "block", *(f"run__{one}" for one in names)
    return [
        Observation("", block, Outcome.OK, **dict(zip(names, figures, strict=True)))
        for device, workload, had, block, *figures in there.values_list(*columns)
        if (device, workload) in places and had == cpus
    ]


def _slowest_to_recover(study: Study, places: set[tuple[int, int]]) -> CrashTest | None:
    """Of the baseline's tests that were timed."""
    there = study.crash_slots.filter(candidate__is_baseline=True, test__state=JobState.OK)
    tests = [
        slot.test
        for slot in there.select_related("test")
        if (slot.device_id, slot.workload_id) in places
    ]
    return max(tests, key=lambda test: max(test.seconds), default=None)


class _Row(NamedTuple):
    """A run of an earlier study that ended."""

    device_id: int
    workload_id: int
    block: int
    candidate_id: int
    candidate__is_baseline: bool
    candidate__config_id: int
    candidate__logs_with_data: bool
    run_id: int
    run__state: str
    run__comparability_key: str
    cpus: str | None
    figure: float | None


def _measured(
    study: Study, places: set[tuple[int, int]], space: Space, metric: Metric, host_cpus: int
) -> list[Earlier]:
    """Its configs in the space; those with the most runs first, then the latest."""
    rows = _rows(study, places, metric, str(host_cpus))
    faulty = {row.candidate_id for row in rows if row.run__state in FAULTS}
    known = _ratios([row for row in rows if row.run__state == RunState.OK])
    knobs = _knobs(study, space)
    logs: dict[int, list[float]] = defaultdict(list)
    runs: dict[int, list[int]] = defaultdict(list)
    for row, ratio in known:
        if row.candidate_id in faulty or row.candidate_id not in knobs:
            continue
        logs[row.candidate__config_id].append(log_value(metric, ratio))
        runs[row.candidate__config_id].append(row.run_id)
    found = [
        Earlier(study.pk, config, fmean(there), tuple(runs[config]))
        for config, there in logs.items()
    ]
    return sorted(found, key=lambda one: (-len(one.runs), -one.runs[-1]))


def _knobs(study: Study, space: Space) -> set[int]:
    """Its candidates that the search could have made itself."""
    found = set()
    for one in study.candidates.select_related("config"):
        adjusted = {note["name"] for note in one.notes if note["action"] == Action.ADJUSTED}
        adjusted -= {*space.names, *space.pinned}  # raised for the connections, here as there
        left = {name: text for name, text in one.config.knobs.items() if name not in adjusted}
        if not (one.is_baseline or one.logs_with_data) and lies_in(space, left):
            found.add(one.pk)
    return found


def _rows(study: Study, places: set[tuple[int, int]], metric: Metric, cpus: str) -> list[_Row]:
    names = [*_Row._fields[:-1], f"run__{metric.value}"]
    there = study.slots.filter(purpose__in=_PURPOSES).order_by("order")
    found = [_Row(*row) for row in there.annotate(cpus=_CPUS).values_list(*names)]
    return [
        row
        for row in found
        if (row.device_id, row.workload_id) in places
        and (row.run__state != RunState.OK or row.cpus == cpus)
    ]


def _ratios(rows: Sequence[_Row]) -> list[tuple[_Row, float]]:
    """Each run but the baselines', with its ratio to the baseline of its own block."""
    blocks: dict[tuple[object, ...], int] = {}
    shorts = []
    for row in rows:
        key = row.device_id, row.workload_id, row.block, row.run__comparability_key
        number = blocks.setdefault(key, len(blocks))
        figure = row.figure if row.figure is not None and row.figure > 0 else None
        shorts.append(ShortRun(number, row.candidate__is_baseline, figure))
    return [
        (row, ratio)
        for row, ratio in zip(rows, round_ratios(shorts), strict=True)
        if ratio is not None and not row.candidate__is_baseline
    ]

"""The warm start of a search: configs that earlier studies measured in the same situation.

A study counts if it is finished and has the same host, kind of device, baseline, flavour, version
series, workload and driver, and nearly the same data, memory and connections. When in doubt it is
left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from benchmarks.emulation.profile import EmulationProfile
from benchmarks.inventory.device_lookup import FoundDevice
from benchmarks.models import CrashTest, Device, JobState, Run, Workload
from benchmarks.storage.identity import DeviceIdentity
from tuning.catalogue.target import traits_of
from tuning.configs.line import Action
from tuning.configs.values import config_hash
from tuning.creation.plan import Plan
from tuning.models import Candidate, SlotPurpose, Study, StudyState
from tuning.results.sentences import not_recovered
from tuning.results.study_rows import SlotRow, StudyRows, read_studies
from tuning.statistics.aim import Aim, missed_texts
from tuning.statistics.data import Metric
from tuning.statistics.ratios import ShortRun, round_ratios
from tuning.strategy.racing import FAULTS
from tuning.strategy.search.plan import lies_in, log_value
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


@dataclass(frozen=True)
class EarlierStudy:
    """A study in the situation of a plan.

    places: its devices and workloads that count. slots: those whose runs count, in their order;
    none of a successful run with other CPUs than the host's.
    """

    rows: StudyRows
    places: set[tuple[int, int]]
    slots: list[SlotRow]


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
        seen = [slot.observation for slot in earlier.slots if slot.is_baseline and slot.run.is_ok]
        killed = _slowest_to_recover(earlier)
        decides = bool(seen) if aim.keep else killed is not None
        if decides:
            late = not_recovered({"": killed} if killed else {}, aim.max_recovery_s)
            return MissedBefore(earlier.rows.study.pk, (*missed_texts(aim, seen), *late.values()))
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
        .prefetch_related("devices", "workloads__load_host")
        .order_by("-pk")
    )
    places: dict[int, set[tuple[int, int]]] = {}
    alike = []
    for study in rows.iterator(chunk_size=MAX_STUDIES):
        places[study.pk] = _places(study, plan)
        if traits_of(study.server).series == target.series and places[study.pk]:
            alike.append(study)
        if len(alike) == MAX_STUDIES:
            break
    cpus = f"{plan.inventory.host_cpus}"
    with_cpus = Run.objects.filter(slot__study__in=alike, fingerprint__logical_cpus=cpus)
    comparable = set(with_cpus.values_list("pk", flat=True))
    found = []
    for study_rows in read_studies(alike):
        here = places[study_rows.study.pk]
        slots = [
            slot
            for slot in study_rows.slots
            if slot.purpose in _PURPOSES
            and slot.place in here
            and (not slot.run.is_ok or slot.run.id in comparable)
        ]
        found.append(EarlierStudy(study_rows, here, slots))
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
    if workload.load_host != plan.load_host:
        return False
    sizes, data = plan.sizes, plan.sizes.source.data_bytes
    ours = plan.devices[0].memory_bytes or plan.inventory.memory_budget_bytes
    return (
        workload.name == sizes.workload.name
        and _near(workload.data_bytes, data, _SIZE)
        and _near(memory, ours, _SIZE)
        and _near(memory / workload.data_bytes, ours / data, _SIZE)
        and _near(workload.connections, sizes.connections[0], _CONNECTIONS)
    )


def _near(one: float, other: float, factor: float) -> bool:
    return max(one, other) <= factor * min(one, other)


def _slowest_to_recover(earlier: EarlierStudy) -> CrashTest | None:
    """Return the slowest timed crash test of the baseline."""
    tests = [
        slot.test
        for slot in earlier.rows.crash_slots
        if slot.candidate.is_baseline
        and slot.test.state == JobState.OK
        and (slot.device_id, slot.workload_id) in earlier.places
    ]
    return max(tests, key=lambda test: max(test.seconds), default=None)


def _measured(earlier: EarlierStudy, space: Space, metric: Metric) -> list[Earlier]:
    """Return its configs in the space; those with the most runs first, then the latest."""
    faulty = {slot.candidate_id for slot in earlier.slots if slot.state in FAULTS}
    candidates = earlier.rows.candidates.values()
    usable = {one.pk for one in candidates if _is_in(space, one)} - faulty
    logs: dict[int, list[float]] = defaultdict(list)
    runs: dict[int, list[int]] = defaultdict(list)
    for slot, ratio in zip(earlier.slots, _ratios(earlier.slots, metric), strict=True):
        if ratio is not None and slot.candidate_id in usable:
            logs[slot.candidate.config_id].append(log_value(metric, ratio))
            runs[slot.candidate.config_id].append(slot.run.id)
    found = [
        Earlier(earlier.rows.study.pk, config, fmean(gains), tuple(runs[config]))
        for config, gains in logs.items()
    ]
    return sorted(found, key=lambda one: (-len(one.runs), -one.runs[-1]))


def _is_in(space: Space, candidate: Candidate) -> bool:
    """Whether the search could have made the candidate itself."""
    if candidate.is_baseline or candidate.logs_with_data:
        return False
    adjusted = {note["name"] for note in candidate.notes if note["action"] == Action.ADJUSTED}
    adjusted -= {*space.names, *space.pinned}  # raised for the connections, here as there
    knobs = candidate.config.knobs
    return lies_in(space, {name: knobs[name] for name in knobs if name not in adjusted})


def _ratios(slots: Sequence[SlotRow], metric: Metric) -> list[float | None]:
    """Return the ratio of each successful run to the baseline of its block."""
    blocks: dict[tuple[object, ...], int] = {}
    shorts = []
    for slot in slots:
        key = *slot.place, slot.block, slot.run.comparability_key
        number = blocks.setdefault(key, len(blocks))
        shorts.append(ShortRun(number, slot.is_baseline, slot.figure(metric)))
    return round_ratios(shorts)

"""What a search may begin with: configs that earlier studies measured in the same situation.

Finished studies on the same host, on the same kind of device, with the same baseline, flavour and
version series, driver, and nearly the same data, memory and connections. When in doubt a study is
left out: what it says would be of another place.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean
from typing import Any, NamedTuple

from django.db.models.fields.json import KeyTextTransform

from benchmarks.emulation.profile import EmulationProfile
from benchmarks.inventory.device_lookup import FoundDevice
from benchmarks.inventory.host import HostInventory
from benchmarks.models import Config, CrashTest, Device, JobState, RunState, Workload
from benchmarks.outcomes import Outcome
from benchmarks.storage.identity import DeviceIdentity
from tuning.catalogue.target import ServerTraits, traits_of
from tuning.configs.knobs import config_hash
from tuning.configs.notes import Action
from tuning.models import SlotPurpose, Study, StudyState
from tuning.requests.sizes import Sizes
from tuning.results.crash_recovery import not_recovered
from tuning.statistics.aim import Aim, missed_texts
from tuning.statistics.data import Metric, Observation
from tuning.statistics.rounds import ShortRun, round_ratios
from tuning.strategy.racing import FAULTS
from tuning.strategy.search.earlier import lies_in
from tuning.strategy.search.plan import EarlierConfig, log_value
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
# How many CPUs the host of a slot's run had.
_CPUS = KeyTextTransform("logical_cpus", "run__fingerprint")


@dataclass(frozen=True)
class SearchConditions:
    """Where a search is going to measure. `baseline`: what its baseline sets, `load_hosts`: where
    the driver runs, "" beside the server.
    """

    host: HostInventory
    device: FoundDevice
    target: ServerTraits
    driver: str
    sizes: Sizes
    is_scale_model: bool
    baseline: Mapping[str, str]
    load_hosts: tuple[str, ...] = ()

    @property
    def memory_bytes(self) -> int:
        """What a server may use there."""
        limit = self.device.memory_bytes
        return self.host.memory_budget_bytes if limit is None else limit


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


def missed_before(conditions: SearchConditions, aim: Aim) -> MissedBefore:
    """By the newest study in the same situation that has figures of the baseline.

    A limit on crash recovery by the kills of that study; without another limit by the newest with
    kills.
    """
    for study, places in _studies(conditions) if aim.limits else ():
        seen = _baseline_runs(study, places, str(conditions.host.host_cpus))
        killed = _slowest_to_recover(study, places)
        if seen if aim.keep else killed is not None:
            late = not_recovered({"": killed} if killed else {}, aim.max_recovery_s)
            return MissedBefore(study.pk, (*missed_texts(aim, seen), *late.values()))
    return MissedBefore()


def stored_missed_before(search: Mapping[str, Any]) -> MissedBefore:
    """That of a search as it is stored."""
    found = search.get("missed_before", {})
    return MissedBefore(found.get("study", 0), tuple(found.get("limits", ())))


def earlier_measured(conditions: SearchConditions, space: Space, metric: Metric) -> list[Earlier]:
    """What earlier studies measured of the space, of the newest study first."""
    found: list[Earlier] = []
    for study, places in _studies(conditions):
        found += _measured(study, places, space, metric, conditions.host.host_cpus)
        if len(found) >= MAX_CONFIGS:
            break
    return found[:MAX_CONFIGS]


def stored_earlier(found: Iterable[Earlier]) -> list[dict[str, Any]]:
    """For the row of the search, so that it proposes the same after a restart."""
    return [asdict(one) for one in found]


def warm_start(search: Mapping[str, Any]) -> WarmStart | None:
    """Of a search as it is stored; None where it begins with nothing."""
    found = search.get("earlier", [])
    if not found:
        return None
    studies = tuple(sorted({one["study"] for one in found}))
    return WarmStart(studies, len(found), sum(len(one["runs"]) for one in found))


def read_earlier(search: Mapping[str, Any]) -> tuple[EarlierConfig, ...]:
    """What the strategy begins with, of a search as it is stored."""
    found = search.get("earlier", [])
    if not found:
        return ()
    configs = Config.objects.in_bulk({one["config"] for one in found})
    return tuple(
        EarlierConfig(one["study"], configs[one["config"]].knobs, one["gain"], len(one["runs"]))
        for one in found
        if one["config"] in configs
    )


def _studies(conditions: SearchConditions) -> list[tuple[Study, set[tuple[int, int]]]]:
    """The newest finished studies in the same situation, each with where it was in it."""
    there = (
        Study.objects.filter(
            state=StudyState.FINISHED,
            host__name=conditions.host.name,
            server__flavour=conditions.target.flavour.value,
            scale_model__isnull=not conditions.is_scale_model,
            candidates__is_baseline=True,
            candidates__config__hash=config_hash(conditions.baseline),
        )
        .select_related("server")
        .prefetch_related("devices", "workloads")
        .order_by("-pk")
    )
    found = []
    for study in there.iterator(chunk_size=MAX_STUDIES):
        series = traits_of(study.server).version[:2]
        if series == conditions.target.version[:2] and (places := _places(study, conditions)):
            found.append((study, places))
        if len(found) == MAX_STUDIES:
            break
    return found


def _places(study: Study, conditions: SearchConditions) -> set[tuple[int, int]]:
    """Its devices and workloads that are like the search's."""
    return {
        (device.pk, workload.pk)
        for device in study.devices.all()
        for workload in study.workloads.all()
        if _is_like(device, conditions.device) and _loads_like(study, device, workload, conditions)
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


def _loads_like(
    study: Study, device: Device, workload: Workload, conditions: SearchConditions
) -> bool:
    limit = device.memory_limit_bytes
    memory = study.memory_bytes if limit is None else limit
    driven_by = tuple(host.name for host in workload.load_hosts_in_order)
    if memory is None or (workload.driver, driven_by) != (
        conditions.driver,
        conditions.load_hosts,
    ):
        return False
    sizes, here = conditions.sizes, conditions.memory_bytes
    return (
        _near(workload.warehouses, sizes.warehouses, _SIZE)
        and _near(memory, here, _SIZE)
        and _near(memory / workload.warehouses, here / sizes.warehouses, _SIZE)
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

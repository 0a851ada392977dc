"""The warm start of a search: configs that earlier studies measured in the same situation.

A study counts if it is finished and has the same host, kind of device and limits, baseline,
flavour, version series, workload, data and driver, and nearly the same memory and connections.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from statistics import fmean

from benchmarks.models import Device, Run, Workload
from tuning.catalogue.target import traits_of
from tuning.configs.line import Action
from tuning.configs.values import config_hash
from tuning.creation.plan import Plan
from tuning.models import Candidate, SlotPurpose, Study, StudyState
from tuning.results.study_rows import SlotRow, StudyRows, read_studies
from tuning.statistics.data import Metric
from tuning.statistics.ratios import ShortRun, round_ratios
from tuning.strategy.racing import FAULTS
from tuning.strategy.search.plan import lies_in, log_value
from tuning.strategy.search.space import Space

# The newest studies, and configs of them: a model of more would make a proposal slow.
MAX_STUDIES = 10
MAX_CONFIGS = 60
# How many times larger one of two memories or numbers of connections may be.
_MEMORY = 1.25
_CONNECTIONS = 1.5
# A block of an ablation has no baseline, and so no ratio.
_PURPOSES = (
    SlotPurpose.BLOCK,
    SlotPurpose.CONFIRMATION,
    SlotPurpose.SEARCH,
    SlotPurpose.REDUCED,
)


@dataclass(frozen=True)
class Earlier:
    """A config that a search may begin with; study, config and runs are primary keys.

    gain: the mean log of its runs' ratios to the baseline of their block, larger is better.
    """

    study: int
    config: int
    gain: float
    runs: tuple[int, ...]


def earlier_configs(
    plan: Plan, baseline: Mapping[str, str], space: Space, metric: Metric
) -> list[Earlier]:
    """Return what earlier studies measured of the space; configs of the newest study first."""
    found: list[Earlier] = []
    for rows, slots in _similar_studies(plan, baseline):
        found += _measured(rows, slots, space, metric)
    return found[:MAX_CONFIGS]


def _similar_studies(
    plan: Plan, baseline: Mapping[str, str]
) -> Iterator[tuple[StudyRows, list[SlotRow]]]:
    """Yield the newest finished studies in the plan's situation, each with the slots that count.

    No slot counts of a successful run with other CPUs than the host's.
    """
    target, memory = plan.situation.target, plan.inventory.memory_budget_bytes
    devices, workloads = _devices_like(plan), _workloads_like(plan)
    rows = (
        Study.objects.filter(
            state=StudyState.FINISHED,
            host=plan.host,
            server__flavour=target.flavour.value,
            scale_model__isnull=plan.model is None,
            memory_bytes__range=(memory / _MEMORY, memory * _MEMORY),
            devices__in=devices,
            workloads__in=workloads,
            candidates__is_baseline=True,
            candidates__config__hash=config_hash(baseline),
        )
        .distinct()
        .select_related("server")
        .prefetch_related("devices", "workloads")
        .order_by("-pk")
    )
    alike = (study for study in rows if traits_of(study.server).series == target.series)
    newest = list(islice(alike, MAX_STUDIES))
    cpus = f"{plan.inventory.host_cpus}"
    with_cpus = Run.objects.filter(slot__study__in=newest, fingerprint__logical_cpus=cpus)
    comparable = set(with_cpus.values_list("pk", flat=True))
    for found in read_studies(newest):
        yield (
            found,
            [
                slot
                for slot in found.slots
                if slot.purpose in _PURPOSES
                and slot.device_id in devices
                and slot.workload_id in workloads
                and (not slot.run.is_ok or slot.run.id in comparable)
            ],
        )


def _devices_like(plan: Plan) -> set[int]:
    """Return the devices of the host that are of one kind with the plan's, under its limits."""
    found = plan.devices[0]
    rows = Device.objects.filter(
        host=plan.host,
        discovered_kind=(found.data.discovered_kind or found.data.kind).value,
        model=found.data.model,
        file_system=found.data.file_system,
        log_dir=str(found.log.path) if found.log else "",
        emulation_label=found.emulation.label() if found.emulation else "",
    )
    return set(rows.values_list("pk", flat=True))


def _workloads_like(plan: Plan) -> set[int]:
    workload, connections = plan.sizes.workload, plan.sizes.connections[0]
    rows = Workload.objects.filter(
        name=workload.name,
        driver=plan.driver.name,
        load_host=plan.load_host,
        connections__range=(connections / _CONNECTIONS, connections * _CONNECTIONS),
        **workload.parameters,
    )
    return set(rows.values_list("pk", flat=True))


def _measured(
    rows: StudyRows, slots: list[SlotRow], space: Space, metric: Metric
) -> list[Earlier]:
    """Return the study's configs in the space; those with the most runs first, then the latest.

    Each successful run counts by its ratio to the baseline of its block.
    """
    faulty = {slot.candidate_id for slot in slots if slot.state in FAULTS}
    usable = {one.pk for one in rows.candidates.values() if _is_in(space, one)} - faulty
    blocks: dict[tuple[object, ...], int] = {}
    shorts = []
    for slot in slots:
        key = *slot.place, slot.block, slot.run.comparability_key
        number = blocks.setdefault(key, len(blocks))
        shorts.append(ShortRun(number, slot.is_baseline, slot.figure(metric)))
    logs: dict[int, list[float]] = defaultdict(list)
    runs: dict[int, list[int]] = defaultdict(list)
    for slot, ratio in zip(slots, round_ratios(shorts), strict=True):
        if ratio is not None and slot.candidate_id in usable:
            logs[slot.candidate.config_id].append(log_value(metric, ratio))
            runs[slot.candidate.config_id].append(slot.run.id)
    found = [
        Earlier(rows.study.pk, config, fmean(gains), tuple(runs[config]))
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

"""The rows of a study, from which its document is built and by which it continues."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from django.db.models import QuerySet

from benchmarks.models import ACTIVE_RUN_STATES, Device, Run, Workload
from tuning.models import (
    Candidate,
    CrashSlot,
    Elimination,
    Recommendation,
    Slot,
    Study,
)
from tuning.results import document as doc
from tuning.results.document import Figures, RunFacts
from tuning.statistics.aim import Aim
from tuning.statistics.data import Metric, Observation

# Rows beside the slots, each with its study.
_ROWS: Mapping[str, QuerySet[Any]] = {
    "candidates": Candidate.objects.select_related("config"),
    "eliminations": Elimination.objects.all(),
    "recommendations": Recommendation.objects.all(),
}


def read_studies(studies: Sequence[Study]) -> list[StudyRows]:
    """Return the rows of several studies, read in as many queries as those of one."""
    slots = slot_columns(study.pk for study in studies)
    read = {pk: {kind: list[Any]() for kind in _ROWS} | {"slots": slots[pk]} for pk in slots}
    for kind in _ROWS if read else ():
        for row in _ROWS[kind].filter(study__in=list(read)):
            read[row.study_id][kind].append(row)
    return [StudyRows(study, read[study.pk]) for study in studies]


class StudyRows:
    """The rows of one study at one moment.

    Each part is read on first use and kept; rows that are written later are not seen. The number
    of queries depends on which parts are used and on how often a single run was measured again,
    never on the number of rows. Rows share objects: `slot.candidate` is one of `candidates`.
    """

    def __init__(self, study: Study, read: Mapping[str, list[Any]] | None = None) -> None:
        """`read`: rows that were read for several studies at once, as `read_studies` does."""
        self.study = study
        self._given = read or {}

    @cached_property
    def devices(self) -> dict[int, Device]:
        """The devices by primary key, in the order of measurement."""
        found = sorted(self.study.devices.all(), key=lambda one: one.pk)
        return {device.pk: device for device in found}

    @cached_property
    def workloads(self) -> dict[int, Workload]:
        """The workloads by primary key, fewest connections first."""
        found = sorted(self.study.workloads.all(), key=lambda one: (one.connections, one.pk))
        return {workload.pk: workload for workload in found}

    @cached_property
    def candidates(self) -> dict[int, Candidate]:
        """The candidates by primary key, in order, each with its config."""
        found = {one.pk: one for one in self._read("candidates")}
        for one in found.values():
            if one.merged_into_id is not None:
                one.merged_into = found[one.merged_into_id]
            if one.taken_from_id is not None:
                one.taken_from = found[one.taken_from_id]
        return found

    @cached_property
    def slots(self) -> list[SlotRow]:
        """The slots in order, with their runs."""
        columns = self._given.get("slots")
        if columns is None:
            columns = slot_columns([self.study.pk])[self.study.pk]
        return slot_rows(columns, self.candidates, self.devices, self.workloads)

    @cached_property
    def runs(self) -> tuple[doc.RunFacts, ...]:
        """Every run, including those that were measured again."""
        return run_facts(self.slots)

    @cached_property
    def eliminations(self) -> list[Elimination]:
        """The candidates that left a race."""
        return self._read("eliminations")

    @cached_property
    def crash_slots(self) -> list[CrashSlot]:
        """The crash tests of the study, each with its newest test."""
        if not self.study.crash_tests:
            return []
        found = list(self.study.crash_slots.select_related("test"))
        self._attach(found)
        return found

    @cached_property
    def aim(self) -> Aim:
        """The objective and limits; throughput without limits in a study that does not search."""
        return Aim.from_json(self.study.search or {})

    @cached_property
    def recommendations(self) -> list[Recommendation]:
        """The recommendations by device, then by number of connections, then safest first."""
        found: list[Recommendation] = self._read("recommendations")
        self._attach(found)
        found.sort(key=lambda one: (one.device_id, one.workload.connections, one.durability))
        return found

    def _read(self, kind: str) -> list[Any]:
        rows = self._given.get(kind)
        if rows is None:
            rows = list(_ROWS[kind].filter(study=self.study))
        for row in rows:
            row.study = self.study
        return rows

    def _attach(self, rows: Iterable[Recommendation | CrashSlot]) -> None:
        """Make the rows share the objects that are already loaded."""
        for row in rows:
            row.study = self.study
            row.candidate = self.candidates[row.candidate_id]
            if isinstance(row, Recommendation) and row.whole_id is not None:
                row.whole = self.candidates[row.whole_id]
            row.device = self.devices[row.device_id]
            row.workload = self.workloads[row.workload_id]


class SlotRow(NamedTuple):
    """A slot and its newest run; `earlier` are the runs that this replaced, newest first.

    Candidate, device and workload are those of the study, the same object in each of its slots.
    """

    order: int
    block: int
    purpose: str
    replicate: int
    candidate_id: int
    device_id: int
    workload_id: int
    candidate: Candidate
    device: Device
    workload: Workload
    run: RunFacts
    earlier: Sequence[RunFacts] = ()

    @property
    def place(self) -> tuple[int, int]:
        """Primary keys of the device and the workload."""
        return self.device_id, self.workload_id

    @property
    def name(self) -> str:
        """The name of the candidate."""
        return self.candidate.name

    @property
    def is_baseline(self) -> bool:
        return self.candidate.is_baseline

    @property
    def durability(self) -> str:
        return self.candidate.durability

    @property
    def state(self) -> str:
        """The state of the newest run."""
        return self.run.state

    @property
    def is_finished(self) -> bool:
        return self.run.is_finished

    def figure(self, metric: Metric) -> float | None:
        """The metric's value, if the run is successful and the value is above zero."""
        value = self.run.figures.of(metric)
        return value if self.run.is_ok and value is not None and value > 0 else None

    @property
    def observation(self) -> Observation:
        """The newest run as the statistics take it."""
        return observation_of(self.run, self.name)


def observation_of(run: RunFacts, candidate: str) -> Observation:
    """Return a run as the statistics take it."""
    return Observation(
        candidate=candidate,
        block=run.block,
        outcome=run.state,
        throughput_at_most=run.throughput_at_most,
        replicate=run.replicate,
        started_at=run.started_at.timestamp() if run.started_at else None,
        **run.figures.model_dump(),
    )


Columns = Sequence[Any]
_SLOT = SlotRow._fields[: SlotRow._fields.index("candidate")]
# Columns of a run that have other names there than in RunFacts and in Figures.
_OF = {
    "measured_s": "measured_seconds",
    "measure_s": "workload__measure_s",
    "unwatched": "conditions__unwatched",
}
_FIGURES = tuple(Figures.model_fields)
_NOT_COLUMNS = {*_SLOT, "is_finished", "replaced_by", "figures"}
_RUN = ("retry_of_id", *(name for name in RunFacts.model_fields if name not in _NOT_COLUMNS))


def _columns(prefix: str = "") -> list[str]:
    """Return the columns of a run that is found under this name."""
    return [prefix + _OF.get(name, name) for name in (*_RUN, *_FIGURES)]


def slot_columns(studies: Iterable[int]) -> dict[int, list[Columns]]:
    """Read what `slot_rows` needs, by primary key of the study, in one query."""
    found: dict[int, list[Columns]] = {pk: [] for pk in studies}
    slots = Slot.objects.filter(study__in=list(found)).order_by("order")
    for row in slots.values_list("study_id", *_SLOT, *_columns("run__")):
        found[row[0]].append(row[1:])
    return found


def slot_rows(
    columns: Iterable[Columns],
    candidates: Mapping[int, Candidate],
    devices: Mapping[int, Device],
    workloads: Mapping[int, Workload],
) -> list[SlotRow]:
    """Return the slots in order, with one more query per time that runs were measured again.

    Slots of candidates that a search has found since the candidates were read are left out.
    """
    slots = ((one[: len(_SLOT)], _values(one[len(_SLOT) :])) for one in columns)
    newest = [(slot, run) for slot, run in slots if slot[-3] in candidates]
    replaced = _replaced(run for _, run in newest)
    found = []
    for slot, values in newest:
        of_slot, chain = dict(zip(_SLOT, slot, strict=True)), [values]
        while (earlier := chain[-1]["retry_of_id"]) is not None:
            chain.append(replaced[earlier])
        newer = [None, *(one["id"] for one in chain[:-1])]
        runs = [_facts(of_slot | one, by) for one, by in zip(chain, newer, strict=True)]
        candidate, device, workload = slot[-3:]
        there = candidates[candidate], devices[device], workloads[workload]
        found.append(SlotRow._make((*slot, *there, runs[0], runs[1:])))
    return found


def _values(columns: Columns) -> dict[str, Any]:
    """Return the columns of a run by their names in RunFacts."""
    found = dict(zip((*_RUN, *_FIGURES), columns, strict=True))
    figures = Figures(**{name: found.pop(name) for name in _FIGURES})
    return found | {"figures": figures}


def _facts(values: Mapping[str, Any], replaced_by: int | None) -> RunFacts:
    values = {name: value for name, value in values.items() if name != "retry_of_id"}
    lists = {name: values[name] or () for name in ("disturbances", "unwatched")}
    is_finished = values["state"] not in ACTIVE_RUN_STATES
    return RunFacts(**values | lists, is_finished=is_finished, replaced_by=replaced_by)


def _replaced(newest: Iterable[Mapping[str, Any]]) -> dict[int, dict[str, Any]]:
    """Return the runs that these replaced, directly or not, by primary key."""
    found: dict[int, dict[str, Any]] = {}
    wanted = [run["retry_of_id"] for run in newest if run["retry_of_id"] is not None]
    while wanted:
        rows = Run.objects.filter(pk__in=wanted).values_list(*_columns())
        older = [_values(row) for row in rows]
        found |= {run["id"]: run for run in older}
        wanted = [run["retry_of_id"] for run in older if run["retry_of_id"] is not None]
    return found


def run_facts(slots: Iterable[SlotRow]) -> tuple[RunFacts, ...]:
    """Return every run, including those that were measured again, in the order of the study.

    The step of a run changes without a revision: only that of an ended run is known.
    """
    runs = [
        run if run.is_finished else run.model_copy(update={"step": ""})
        for slot in slots
        for run in (slot.run, *slot.earlier)
    ]
    return tuple(sorted(runs, key=lambda run: (run.order, run.id)))

"""The rows of a study, from which its document is built and by which it continues."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from django.db.models import F, QuerySet

from benchmarks.models import ACTIVE_RUN_STATES, Device, Run, Workload
from tuning.models import Candidate, CrashSlot, Elimination, Recommendation, Slot, Study
from tuning.results.document import Figures, RunFacts
from tuning.statistics.aim import Aim
from tuning.statistics.data import Metric, Observation


def read_studies(studies: Sequence[Study]) -> list[StudyRows]:
    """Return the rows of several studies, read in as many queries as those of one."""
    found = {study.pk: StudyRows(study) for study in studies}
    read = _read(found) if found else {}
    for pk, rows in found.items():
        rows.read = {kind: by_study.get(pk, []) for kind, by_study in read.items()}
    return list(found.values())


class StudyRows:
    """The rows of one study at one moment.

    Each part is read on first use and kept; rows that are written later are not seen. The number
    of queries never depends on the number of rows, only on how often a single run was measured
    again. Rows share objects: `slot.candidate` is one of `candidates`.
    """

    def __init__(self, study: Study) -> None:
        self.study = study

    @cached_property
    def read(self) -> Mapping[str, list[Any]]:
        """Rows by kind, as `_read` returns them."""
        return {
            kind: found.get(self.study.pk, []) for kind, found in _read([self.study.pk]).items()
        }

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
        found: dict[int, Candidate] = {one.pk: one for one in self.read["candidates"]}
        for one in found.values():
            one.study = self.study
            one.merged_into = found.get(one.merged_into_id or 0)
            one.taken_from = found.get(one.taken_from_id or 0)
        return found

    @cached_property
    def slots(self) -> list[SlotRow]:
        """The slots in order, with their runs.

        Slots of candidates that a search has found since the candidates were read are left out.
        """
        return [
            SlotRow(
                **{name: slot[name] for name in _SLOT},
                candidate=self.candidates[slot["candidate_id"]],
                device=self.devices[slot["device_id"]],
                workload=self.workloads[slot["workload_id"]],
                run=runs[0],
                earlier=runs[1:],
            )
            for slot, chain in self.read["slots"]
            if slot["candidate_id"] in self.candidates
            for runs in [_facts(slot, chain)]
        ]

    @cached_property
    def runs(self) -> tuple[RunFacts, ...]:
        """Every run, including those that were measured again, in the order of the study.

        The step of a run changes without a revision: only that of an ended run is known.
        """
        runs = [
            run if run.is_finished else run.model_copy(update={"step": ""})
            for slot in self.slots
            for run in (slot.run, *slot.earlier)
        ]
        return tuple(sorted(runs, key=lambda run: (run.order, run.id)))

    @cached_property
    def eliminations(self) -> list[Elimination]:
        """The candidates that left a race."""
        return self.read["eliminations"]

    @cached_property
    def crash_slots(self) -> list[CrashSlot]:
        """The crash tests of the study, each with its newest test."""
        if not self.study.crash_tests:
            return []
        return self._attached(self.study.crash_slots.select_related("test"))

    @cached_property
    def aim(self) -> Aim:
        """The objective and limits; throughput without limits in a study that does not search."""
        return Aim.from_json(self.study.search or {})

    @cached_property
    def recommendations(self) -> list[Recommendation]:
        """The recommendations by device, then by number of connections, then safest first."""
        found = self._attached(self.read["recommendations"])
        return sorted(found, key=_place_of)

    def _attached(self, rows: Iterable[Any]) -> list[Any]:
        """Make the rows share the objects that are already loaded."""
        found = list(rows)
        for row in found:
            row.study = self.study
            row.candidate = self.candidates[row.candidate_id]
            row.device = self.devices[row.device_id]
            row.workload = self.workloads[row.workload_id]
        return found


class SlotRow(NamedTuple):
    """A slot and its newest run; `earlier` are the runs that this replaced, newest first."""

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


def _place_of(one: Recommendation) -> tuple[int, int, str]:
    return one.device_id, one.workload.connections, one.durability


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


_SLOT = SlotRow._fields[: SlotRow._fields.index("candidate")]
_FIGURES = tuple(Figures.model_fields)
# Columns of a run that have other names there than in RunFacts.
_OF = {
    "measured_s": F("measured_seconds"),
    "measure_s": F("workload__measure_s"),
    "unwatched": F("conditions__unwatched"),
}
_NOT_OF_A_RUN = {*_SLOT, *_OF, "is_finished", "replaced_by", "figures"}
_RUN = tuple(name for name in RunFacts.model_fields if name not in _NOT_OF_A_RUN)

_Columns = Mapping[str, Any]


def _read(studies: Collection[int]) -> dict[str, dict[int, list[Any]]]:
    """Return by kind of row and by study what `StudyRows` is made of.

    A slot comes with the columns of its newest run and of the runs that this replaced.
    """
    of_studies = {"study__in": list(studies)}
    kinds: Mapping[str, QuerySet[Any]] = {
        "candidates": Candidate.objects.select_related("config"),
        "eliminations": Elimination.objects.all(),
        "recommendations": Recommendation.objects.all(),
    }
    found: dict[str, dict[int, list[Any]]] = {
        kind: defaultdict(list) for kind in (*kinds, "slots")
    }
    for kind, rows in kinds.items():
        for row in rows.filter(**of_studies):
            found[kind][row.study_id].append(row)
    slots = Slot.objects.filter(**of_studies).order_by("order")
    places = list(slots.values("study_id", "run_id", *_SLOT))
    newest = runs = _runs(Run.objects.filter(slot__study__in=list(studies)))
    while wanted := [pk for run in newest.values() if (pk := run["retry_of_id"]) is not None]:
        newest = _runs(Run.objects.filter(pk__in=wanted))
        runs = runs | newest
    for slot in (one for one in places if one["run_id"] in runs):
        chain = [runs[slot["run_id"]]]
        while (earlier := chain[-1]["retry_of_id"]) is not None:
            chain.append(runs[earlier])
        found["slots"][slot["study_id"]].append((slot, chain))
    return found


def _runs(rows: QuerySet[Run]) -> dict[int, _Columns]:
    columns = rows.values("retry_of_id", *_RUN, *_FIGURES, **_OF)
    return {run["id"]: run for run in columns}


def _facts(slot: _Columns, chain: Sequence[_Columns]) -> list[RunFacts]:
    """Return the runs of a slot, newest first."""
    newer = [None, *(run["id"] for run in chain[:-1])]
    return [
        RunFacts(
            **{name: slot[name] for name in _SLOT},
            **{name: run[name] for name in (*_RUN, *_OF)}
            | {name: run[name] or () for name in ("disturbances", "unwatched")},
            figures=Figures(**{name: run[name] for name in _FIGURES}),
            is_finished=run["state"] not in ACTIVE_RUN_STATES,
            replaced_by=replaced_by,
        )
        for run, replaced_by in zip(chain, newer, strict=True)
    ]

"""A study's slots and runs as its results need them: plain columns, read at once.

There may be hundreds, so they are tuples instead of Django objects, and their JSON columns stay
text until one is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import TextField
from django.db.models.functions import Cast

from benchmarks.models import ACTIVE_RUN_STATES, UNDONE_RUN_STATES, Device, Run, RunState, Workload
from benchmarks.telemetry.write_debt import WriteDebt
from tuning.models import Candidate, Slot
from tuning.results.document import Figures, RunFacts
from tuning.statistics.data import Metric, Observation


class RunRow(NamedTuple):
    """Columns of a run, in their units; `measure_s` is how long its workload is measured.

    write_debt, disturbances: JSON text, "" without any; `owes` reads the first.
    unwatched: JSON text, the checks that were off; None where that is not known.
    """

    pk: int
    state: str
    retry_of_id: int | None = None
    step: str = ""
    reason: str = ""
    measure_s: int = 0
    started_at: datetime | None = None
    finished_at: datetime | None = None
    tpmP: float | None = None
    tpmP_at_most: float | None = None
    p95_ms: float | None = None
    p99_ms: float | None = None
    max_ms: float | None = None
    server_path_length: float | None = None
    host_path_length: float | None = None
    cpu_user_pct: float | None = None
    cpu_sys_pct: float | None = None
    cpu_steal_pct: float | None = None
    bytes_written_per_new_order: float | None = None
    measured_seconds: float | None = None
    trend_pct: float | None = None
    still_warming: bool = False
    debt_grew: bool = False
    write_debt: str | None = None
    disturbances: str | None = None
    comparability_key: str = ""
    unwatched: str | None = None

    @property
    def is_finished(self) -> bool:
        return self.state not in ACTIVE_RUN_STATES

    @property
    def is_done(self) -> bool:
        """Finished, and not because it was cancelled."""
        return self.state not in UNDONE_RUN_STATES

    @property
    def wall_s(self) -> float | None:
        """Seconds from start to end; None while unknown."""
        if self.started_at is None or self.finished_at is None:
            return None
        return (self.finished_at - self.started_at).total_seconds()

    @property
    def label(self) -> str:
        """Its state in words."""
        return str(RunState(self.state).label)

    @property
    def owes(self) -> WriteDebt | None:
        """Its write debt; None for a run that was not measured."""
        found = json.loads(self.write_debt) if self.write_debt else None
        return WriteDebt.from_json(found) if found else None


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
    run: RunRow
    earlier: Sequence[RunRow] = ()

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
    def run_id(self) -> int:
        return self.run.pk

    @property
    def state(self) -> str:
        """The state of the newest run."""
        return self.run.state

    @property
    def is_finished(self) -> bool:
        return self.run.is_finished

    def figure(self, metric: Metric) -> float | None:
        """The metric's value, if the run is successful and the value is above zero."""
        value: float | None = getattr(self.run, metric)
        return value if self.state == RunState.OK and value is not None and value > 0 else None

    @property
    def observation(self) -> Observation:
        """The newest run as the statistics take it."""
        run = self.run
        return Observation(
            candidate=self.name,
            block=self.block,
            outcome=run.state,
            tpmP=run.tpmP,
            tpmP_at_most=run.tpmP_at_most,
            p95_ms=run.p95_ms,
            p99_ms=run.p99_ms,
            max_ms=run.max_ms,
            server_path_length=run.server_path_length,
            host_path_length=run.host_path_length,
            replicate=self.replicate,
            started_at=run.started_at.timestamp() if run.started_at else None,
        )


Columns = Sequence[Any]
_SLOT = SlotRow._fields[: SlotRow._fields.index("candidate")]
_DOCUMENTS = "write_debt", "disturbances", "unwatched"
_OF = {"measure_s": "workload__measure_s", "unwatched": "conditions__unwatched"}


def _columns(run: str = "") -> list[str | Cast]:
    """Return the columns of a run that is found under this name."""
    names = {one: run + _OF.get(one, one) for one in RunRow._fields}
    return [Cast(at, TextField()) if one in _DOCUMENTS else at for one, at in names.items()]


_RUN = _columns("run__")
_OWN = 1 + len(_SLOT)  # the first is the study


def slot_columns(studies: Iterable[int]) -> dict[int, list[Columns]]:
    """Read what `slot_rows` needs, by primary key of the study, in one query."""
    found: dict[int, list[Columns]] = {pk: [] for pk in studies}
    slots = Slot.objects.filter(study__in=list(found)).order_by("order")
    for row in slots.values_list("study_id", *_SLOT, *_RUN):
        found[row[0]].append(row)
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
    slots = ((one[1:_OWN], RunRow._make(one[_OWN:])) for one in columns)
    newest = [(slot, run) for slot, run in slots if slot[-3] in candidates]
    replaced = _replaced(run for _, run in newest)
    found = []
    for slot, run in newest:
        candidate, device, workload = slot[-3:]
        there = candidates[candidate], devices[device], workloads[workload]
        before = () if run.retry_of_id is None else _before(run, replaced)
        found.append(SlotRow._make((*slot, *there, run, before)))
    return found


def _replaced(newest: Iterable[RunRow]) -> dict[int, RunRow]:
    """Return the runs that these replaced, directly or not, by primary key."""
    found: dict[int, RunRow] = {}
    wanted = [run.retry_of_id for run in newest if run.retry_of_id is not None]
    while wanted:
        older = [
            RunRow(*one) for one in Run.objects.filter(pk__in=wanted).values_list(*_columns())
        ]
        found |= {run.pk: run for run in older}
        wanted = [run.retry_of_id for run in older if run.retry_of_id is not None]
    return found


def _before(run: RunRow, replaced: Mapping[int, RunRow]) -> Sequence[RunRow]:
    if run.retry_of_id is None:
        return ()
    older = replaced[run.retry_of_id]
    return older, *_before(older, replaced)


def run_facts(slots: Iterable[SlotRow]) -> tuple[RunFacts, ...]:
    """Return every run, including those that were measured again, in the order of the study."""
    found = [one for slot in slots for one in _facts(slot)]
    return tuple(sorted(found, key=lambda run: (run.order, run.id)))


def _facts(slot: SlotRow) -> Iterator[RunFacts]:
    of_slot = {name: getattr(slot, name) for name in _SLOT}
    replaced_by: int | None = None
    for run in (slot.run, *slot.earlier):
        yield RunFacts.copied_from(
            run,
            **of_slot,
            id=run.pk,
            step=run.step if run.is_finished else "",
            replaced_by=replaced_by,
            figures=Figures.of_tpcc(run),
            throughput_at_most=run.tpmP_at_most,
            bytes_written_per_transaction=run.bytes_written_per_new_order,
            measured_s=run.measured_seconds,
            write_debt=json.loads(run.write_debt) if run.write_debt else None,
            disturbances=json.loads(run.disturbances) if run.disturbances else (),
        )
        replaced_by = run.pk

"""A study's slots as needed for progress, read twice a second on the measuring host."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import groupby
from typing import NamedTuple

from django.db.models import Case, When

from benchmarks.models import ACTIVE_RUN_STATES, UNDONE_RUN_STATES, RunState
from tuning.models import Slot, SlotPurpose, Study
from tuning.results.slot_rows import SlotRow
from tuning.statistics.data import Metric, Observation


class SlotState(NamedTuple):
    """A slot and the state of its newest run, in plain columns: no model objects, no JSON.

    `name`, `is_baseline` and `durability` are those of its candidate. `voided` counts the runs
    before the newest, which were lost, stopped or disturbed; at most MAX_VOIDED are counted.
    """

    order: int
    device_id: int
    workload_id: int
    name: str
    is_baseline: bool
    durability: str
    block: int
    purpose: str
    replicate: int
    run_id: int
    state: str
    step: str
    started_at: datetime | None
    finished_at: datetime | None
    tpmP: float | None
    p95_ms: float | None
    server_path_length: float | None
    debt_grew: bool
    measure_s: int
    voided: int

    @property
    def place(self) -> tuple[int, int]:
        """Primary keys of the device and the workload."""
        return self.device_id, self.workload_id

    def figure(self, metric: Metric) -> float | None:
        """The metric's value, if the run is successful and the value is above zero."""
        value: float | None = getattr(self, metric)
        return value if self.state == RunState.OK and value is not None and value > 0 else None

    @property
    def observation(self) -> Observation:
        """What limits are held against."""
        return Observation(
            self.name,
            self.block,
            self.state,
            tpmP=self.tpmP,
            p95_ms=self.p95_ms,
            server_path_length=self.server_path_length,
        )

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


#: As many as are measured again at most by default, and one more.
MAX_VOIDED = 3
# The columns that come from related rows.
_OF = dict.fromkeys(("name", "is_baseline", "durability"), "candidate") | dict.fromkeys(
    (
        "state",
        "step",
        "started_at",
        "finished_at",
        "tpmP",
        "p95_ms",
        "server_path_length",
        "debt_grew",
    ),
    "run",
)
# Pairs may be longer than the runs of the blocks.
_OF["measure_s"] = "run__workload"
_VOIDED = Case(
    When(run__retry_of__retry_of__retry_of__isnull=False, then=MAX_VOIDED),
    When(run__retry_of__retry_of__isnull=False, then=2),
    When(run__retry_of__isnull=False, then=1),
    default=0,
)


def slot_states(study: Study) -> list[SlotState]:
    """All slots of the study, in order, in one query."""
    return slot_states_of([study])[study.pk]


def slot_states_of(studies: Iterable[Study]) -> dict[int, list[SlotState]]:
    """The same of each study, by its primary key, in one query as well."""
    found: dict[int, list[SlotState]] = {study.pk: [] for study in studies}
    rows = (
        Slot.objects.filter(study__in=list(found))
        .order_by("order")
        .annotate(voided=_VOIDED)
        .values_list(
            "study_id",
            *(f"{_OF[name]}__{name}" if name in _OF else name for name in SlotState._fields),
        )
    )
    for study_id, *row in rows:
        found[study_id].append(SlotState(*row))
    return found


def states_of(slots: Iterable[SlotRow]) -> list[SlotState]:
    """The same of slots that were read with the study's results."""
    # By position: with names it takes twice as long, and there may be hundreds.
    return [
        SlotState(
            slot.order,
            slot.device_id,
            slot.workload_id,
            (candidate := slot.candidate).name,
            candidate.is_baseline,
            candidate.durability,
            slot.block,
            slot.purpose,
            slot.replicate,
            (run := slot.run).pk,
            run.state,
            run.step,
            run.started_at,
            run.finished_at,
            run.tpmP,
            run.p95_ms,
            run.server_path_length,
            run.debt_grew,
            run.measure_s,
            min(len(slot.earlier), MAX_VOIDED),
        )
        for slot in slots
    ]


def states_now(slots: Iterable[SlotState], steps: Mapping[int, str]) -> list[SlotState]:
    """With the steps of current runs, by their ids: results do not change with these."""
    return [one._replace(step=steps[one.run_id]) if one.run_id in steps else one for one in slots]


def pair_numbers(slots: Iterable[SlotState | SlotRow]) -> dict[tuple[int, int, int], int]:
    """By device, workload and block the number of each pair that confirms a winner.

    Pairs are blocks after all others; each device and workload counts its own from 1.
    """
    pairs = {
        (one.device_id, one.workload_id, one.block)
        for one in slots
        if one.purpose == SlotPurpose.CONFIRMATION
    }
    return {
        pair: number
        for _, there in groupby(sorted(pairs), key=lambda pair: pair[:2])
        for number, pair in enumerate(there, start=1)
    }

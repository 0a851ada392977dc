"""The rows of a study, from which its document is built and by which it continues."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from django.db.models import QuerySet

from benchmarks.models import Device, Workload
from tuning.models import (
    Candidate,
    CrashSlot,
    Elimination,
    Recommendation,
    Study,
)
from tuning.results import document as doc
from tuning.results.run_lines import SlotRow, run_facts, slot_columns, slot_rows
from tuning.statistics.aim import Aim

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

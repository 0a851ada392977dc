"""Reads the baseline's runs by which a run may be cut short (`tuning.strategy.early_stop`)."""

from __future__ import annotations

from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from benchmarks.measurement.early_stop import CutRule
from benchmarks.models import Run, RunState, Sample
from benchmarks.ready_query import ANY, ReadyObjects, ReadyQuery
from tuning.models import Slot, SlotPurpose, Study
from tuning.strategy.early_stop import Reference, cut_rule
from tuning.studies.continuation import strategy_of

# What these say is a figure, so none of their runs is cut short.
_MEASURED_WHOLE = (
    SlotPurpose.CONFIRMATION,
    SlotPurpose.APART,
    SlotPurpose.REDUCED,
    SlotPurpose.GATE,
)


class _Slot(NamedTuple):
    study_id: int
    device_id: int
    workload_id: int
    block: int
    purpose: str
    candidate__is_baseline: bool


def cut_rule_of(run: Run) -> CutRule | None:
    """The rule that ends this run early; None if it must be measured to its end.

    It compares with the baseline's runs of the same block, or of the last block that has any.
    """
    slot = next((_Slot(*found) for found in _slot_of_run().rows(run.pk)), None)
    if slot is None or slot.candidate__is_baseline or slot.purpose in _MEASURED_WHOLE:
        return None
    study = _study().first(slot.study_id)
    is_cut = study is not None and strategy_of(study).cuts_short
    return cut_rule(_references(slot)) if is_cut else None


def _references(slot: _Slot) -> list[Reference]:
    measured = (
        (block, run, tpmp)
        for device, workload, block, run, tpmp in _measured_baselines().rows(slot.study_id)
        if (device, workload) == (slot.device_id, slot.workload_id) and block <= slot.block
    )
    for _, there in groupby(measured, key=itemgetter(0)):
        found = [reference for _, *run in there if (reference := _reference(*run))]
        if found:
            return found
    return []


def _reference(run: int, tpmp: float | None) -> Reference | None:
    """The run up to the first second without a count; None if it has no counts."""
    commits: list[int] = []
    new_orders = 0
    for second, count, orders in _seconds().rows(run):
        if second != len(commits) or count is None:
            break
        commits.append(count)
        new_orders += orders or 0
    if not any(commits) or tpmp is None:
        return None
    return Reference(commits, new_orders, tpmp)


@cache
def _slot_of_run() -> ReadyQuery:
    return ReadyQuery.of(Slot.objects.filter(run=ANY).values_list(*_Slot._fields))


@cache
def _study() -> ReadyObjects[Study]:
    return ReadyObjects(Study.objects.filter(pk=ANY))


@cache
def _measured_baselines() -> ReadyQuery:
    """The runs of a study's baselines that may be compared with, the newest block first."""
    measured = Slot.objects.exclude(purpose__in=_MEASURED_WHOLE).filter(
        study=ANY, candidate__is_baseline=True, run__state=RunState.OK
    )
    columns = "device_id", "workload_id", "block", "run_id", "run__tpmP"
    return ReadyQuery.of(measured.order_by("-block").values_list(*columns))


@cache
def _seconds() -> ReadyQuery:
    seconds = Sample.objects.filter(run=ANY, second__gte=0).order_by("second")
    return ReadyQuery.of(seconds.values_list("second", "commits", "new_orders"))

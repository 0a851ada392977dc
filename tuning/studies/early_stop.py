"""Reads the baseline's runs by which a run may be cut short (`tuning.strategy.early_stop`)."""

from __future__ import annotations

from itertools import groupby

from benchmarks.measurement.early_stop import CutRule
from benchmarks.models import Run, RunState, Sample
from tuning.models import Slot, SlotPurpose
from tuning.strategy.early_stop import Reference, cut_rule
from tuning.studies.continuation import strategy_of

# What these say is a figure, so none of their runs is cut short.
_MEASURED_WHOLE = (
    SlotPurpose.CONFIRMATION,
    SlotPurpose.APART,
    SlotPurpose.REDUCED,
    SlotPurpose.GATE,
)


def cut_rule_of(run: Run) -> CutRule | None:
    """The rule that ends this run early; None if it must be measured to its end.

    It compares with the baseline's runs of the same block, or of the last block that has any.
    """
    slot = Slot.objects.select_related("study", "candidate").filter(run=run).first()
    if slot is None or slot.candidate.is_baseline or slot.purpose in _MEASURED_WHOLE:
        return None
    return cut_rule(_references(slot)) if strategy_of(slot.study).cuts_short else None


def _references(slot: Slot) -> list[Reference]:
    measured = (
        Slot.objects.exclude(purpose__in=_MEASURED_WHOLE)
        .filter(
            study=slot.study,
            device=slot.device,
            workload=slot.workload,
            candidate__is_baseline=True,
            block__lte=slot.block,
            run__state=RunState.OK,
        )
        .order_by("-block")
    )
    for _, there in groupby(measured.select_related("run"), key=lambda found: found.block):
        found = [reference for slot in there if (reference := _reference(slot.run))]
        if found:
            return found
    return []


def _reference(run: Run) -> Reference | None:
    """The run up to the first second without a count; None if it has no counts."""
    commits: list[int] = []
    new_orders = 0
    seen = Sample.objects.filter(run=run, second__gte=0).order_by("second")
    for second, count, orders in seen.values_list("second", "commits", "new_orders"):
        if second != len(commits) or count is None:
            break
        commits.append(count)
        new_orders += orders or 0
    if not any(commits) or run.tpmP is None:
        return None
    return Reference(commits, new_orders, run.tpmP)

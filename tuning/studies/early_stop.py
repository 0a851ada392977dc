"""Reads the baseline's runs by which a run may be cut short (`tuning.strategy.early_stop`)."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter

from benchmarks.measurement.early_stop import CutRule
from benchmarks.models import Run, RunState, Sample
from tuning.models import Slot, SlotPurpose
from tuning.strategy.early_stop import Reference, cut_rule
from tuning.studies.continuation import strategy_of

# Runs of these purposes must yield a figure, so none of them is cut short.
_MEASURED_WHOLE = (
    SlotPurpose.CONFIRMATION,
    SlotPurpose.ABLATION,
    SlotPurpose.REDUCED,
    SlotPurpose.GATE,
)


def cut_rule_of(run: Run) -> CutRule | None:
    """The rule that ends this run early; None if it must be measured to its end.

    It compares with the baseline's runs of the same block, or of the last block that has any.
    """
    slot = Slot.objects.filter(run=run).select_related("study", "candidate").first()
    if slot is None or slot.candidate.is_baseline or slot.purpose in _MEASURED_WHOLE:
        return None
    return cut_rule(_references(slot)) if strategy_of(slot.study).cuts_short else None


def _references(slot: Slot) -> list[Reference]:
    """The baseline's runs of the newest block, up to the slot's, that has any."""
    measured = Slot.objects.exclude(purpose__in=_MEASURED_WHOLE).filter(
        study=slot.study_id,
        device=slot.device_id,
        workload=slot.workload_id,
        block__lte=slot.block,
        candidate__is_baseline=True,
        run__state=RunState.OK,
    )
    runs = measured.order_by("-block").values_list("block", "run_id", "run__throughput")
    for _, block in groupby(runs, key=itemgetter(0)):
        references = [_reference(run, tpmp) for _, run, tpmp in block]
        if usable := [reference for reference in references if reference is not None]:
            return usable
    return []


def _reference(run: int, tpmp: float | None) -> Reference | None:
    """The run up to the first second without a count; None if it has no counts."""
    commits: list[int] = []
    completed = 0
    seconds = Sample.objects.filter(run=run, second__gte=0).order_by("second")
    for second, count, orders in seconds.values_list("second", "commits", "completed"):
        if second != len(commits) or count is None:
            break
        commits.append(count)
        completed += orders or 0
    if not any(commits) or tpmp is None:
        return None
    return Reference(commits, completed, tpmp)

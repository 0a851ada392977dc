"""Which runs may be cut short, and by what they are judged.

Only candidates in the blocks of a race: there a bound is enough to see who is behind. The
baseline, its second run and the pairs that confirm a winner are measured to their end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from benchmarks.measurement.early_stop import CutRule, Hopeless
from benchmarks.models import Run, RunState, Sample
from tuning.models import Slot, SlotPurpose
from tuning.statistics.early import HOPELESS_SHARE, hopeless


@dataclass(frozen=True)
class _Reference:
    """A run of the baseline: its commits in each measured second, and its figures."""

    commits: list[int]
    new_orders: int
    tpmP: float


def cut_rule_of(run: Run) -> CutRule | None:
    """The rule that ends this run early; None where it is to be measured to its end.

    It compares with the baseline's runs of the same block, or of the last block that has any.
    """
    slot = Slot.objects.select_related("study", "candidate").filter(run=run).first()
    if slot is None or not slot.study.races or slot.candidate.is_baseline:
        return None
    if slot.purpose != SlotPurpose.BLOCK:
        return None
    references = _references(slot)
    if not references:
        return None
    # Both are counted in commits, but one Delivery makes ten of these: their number scatters
    # more than that of New-Orders, which is what the judgement reckons with.
    share = sum(one.new_orders for one in references) / sum(sum(one.commits) for one in references)
    baseline = [_scaled(one.commits, share) for one in references]
    # The better of the baseline's runs, all of it: the most that can be said for the candidate.
    at_most = HOPELESS_SHARE * max(one.tpmP for one in references)

    def rule(commits: Sequence[int]) -> Hopeless | None:
        cut = hopeless(_scaled(commits, share), baseline)
        return None if cut is None else Hopeless(cut.reason, at_most)

    return rule


def _scaled(counts: Sequence[int], factor: float) -> list[float]:
    return [count * factor for count in counts]


def _references(slot: Slot) -> list[_Reference]:
    measured = Slot.objects.filter(
        study=slot.study,
        device=slot.device,
        workload=slot.workload,
        purpose=SlotPurpose.BLOCK,
        candidate__is_baseline=True,
        block__lte=slot.block,
        run__state=RunState.OK,
    ).order_by("-block")
    for _, there in groupby(measured.select_related("run"), key=lambda found: found.block):
        found = [reference for slot in there if (reference := _reference(slot.run))]
        if found:
            return found
    return []


def _reference(run: Run) -> _Reference | None:
    """Up to the first second that was not counted; None where nothing was."""
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
    return _Reference(commits, new_orders, run.tpmP)

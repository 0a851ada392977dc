"""The fresh pairs that confirm a winner: their progress and their result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tuning.models import Candidate
from tuning.results.run_lines import SlotRow
from tuning.statistics.confirmation import Confirmation
from tuning.statistics.data import Metric


@dataclass(frozen=True)
class Pair:
    """One fresh run each of winner and baseline: figures of a metric, None without one."""

    block: int
    winner: float | None
    baseline: float | None
    is_finished: bool


@dataclass(frozen=True)
class FreshPairs:
    """The fresh pairs of one winner.

    `found` is None until all of them are measured: an earlier look would confirm too many winners.
    """

    candidate: Candidate
    pairs: Sequence[Pair]
    found: Confirmation | None

    @property
    def done(self) -> int:
        """Number of measured pairs."""
        return sum(pair.is_finished for pair in self.pairs)

    @property
    def planned(self) -> int:
        """Number of all pairs."""
        return len(self.pairs)


def pairs_of(
    slots: Iterable[SlotRow],
    winner: Candidate,
    baseline: Candidate,
    metric: Metric = Metric.TPMP,
) -> list[Pair]:
    """The pairs of these two among a board's slots of fresh pairs, in order."""
    at = {(slot.block, slot.candidate_id): slot.run for slot in slots}
    pairs = []
    for (block, candidate_id), ours in sorted(at.items(), key=lambda item: item[0]):
        theirs = at.get((block, baseline.pk))
        if candidate_id == winner.pk and theirs is not None:
            done = ours.is_finished and theirs.is_finished
            same = ours.comparability_key == theirs.comparability_key
            figures = [getattr(run, metric.value) if same else None for run in (ours, theirs)]
            pairs.append(Pair(block, figures[0], figures[1], done))
    return pairs

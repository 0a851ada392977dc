"""Three rankings at once: the candidates that no other beats in all of them."""

from __future__ import annotations

from collections.abc import Sequence

from tuning.statistics.analysis import Analysis


def pareto_front(analyses: Sequence[Analysis]) -> tuple[str, ...]:
    """The candidates that no other dominates, in the order of the first ranking.

    One dominates another if its rank is no worse in any of the rankings and better in one. As
    tied candidates share a rank, noise pushes no candidate off the front. Only candidates with a
    rank in every ranking take part.
    """
    found = {
        line.name: [analysis.standing(line.name).rank for analysis in analyses]
        for line in analyses[0].standings
    }
    ranks = {
        name: [rank for rank in row if rank is not None]
        for name, row in found.items()
        if None not in row
    }
    return tuple(
        name
        for name, row in ranks.items()
        if not any(_dominates(other, row) for other in ranks.values())
    )


def _dominates(ours: Sequence[int], theirs: Sequence[int]) -> bool:
    pairs = list(zip(ours, theirs, strict=True))
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)

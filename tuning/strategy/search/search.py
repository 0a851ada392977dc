"""Search: measures configs once each where its model expects most, then races the best few.

1. The given candidates are measured. 2. Batches of the baseline and new configs follow, each
chosen by what all runs before have shown. 3. The configs of which most may be expected, not those
with the luckiest figures, race with the baseline, and the winner is confirmed in fresh pairs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import ClassVar

import numpy as np

from benchmarks.counted import counted
from tuning.strategy.design import screening_order
from tuning.strategy.protocol import Budget, Done, History, NewCandidate, Proposal, Strategy
from tuning.strategy.racing import FIRST_DECISION
from tuning.strategy.search.grid import Grid
from tuning.strategy.search.knowledge import Knowledge, Standing, learn
from tuning.strategy.search.plan import PREFIX, EarlierConfig, SearchPlan, best_before
from tuning.strategy.search.proposer import Pick, next_points


@dataclass(frozen=True)
class Effort:
    """How a search spends its runs; `make bench-search` chose the figures.

    batch: new configs beside the baseline. design: configs spread over the space before the model
    is asked, those that were given included. finalists: how many race. race_share: of all runs.
    doubts: standard deviations that are taken off what is expected of a config before it is
    picked. earlier: configs of earlier studies that are measured first. most: screening runs after
    which it races, whatever the budget: by then the model has learned what it can, and the time of
    a proposal grows with their cube.
    """

    batch: int = 5
    design: int = 5
    finalists: int = 3
    race_share: float = 0.3
    doubts: float = 1.0
    earlier: int = 3
    most: int = 300


# Runs of the shortest race that may drop a candidate: three blocks, each with two baselines.
_RACE_BLOCKS = 3
# Blocks of the race of a search that is being concluded, with those that it had: with fewer no
# race can be decided.
CONCLUDING_BLOCKS = FIRST_DECISION
# Given configs that are measured in one batch at most.
_MAX_GIVEN = 8
# New configs in a row that were refused or equal to others, before the search ends.
_MAX_WASTED = 60
_SPREAD = "spread over the space, before anything is known of it"

# The knobs of a new config, and in words where it comes from.
Sourced = tuple[dict[str, str], str]


@dataclass(frozen=True)
class Search:
    """Screening by `plan`, then `then` (a race, its confirmation) among the best."""

    plan: SearchPlan
    then: Strategy
    effort: Effort = Effort()
    cuts_short: ClassVar[bool] = True

    def propose(self, history: History) -> Proposal | Done:
        if not (history.finalists or history.owed_blocks or history.concludes):
            screening = self._screen(history)
            if screening is not None:
                return screening
        names = history.finalists or self.finalists(history)
        if history.concludes:
            history = _concluding(history, names)
        answer = self.then.propose(history.among(names))
        if isinstance(answer, Done) and not history.finalists:
            return replace(answer, unraced=names)
        return answer

    def finalists(self, history: History) -> tuple[str, ...]:
        """The best by what may be expected of them at least; none that looks worse than nothing.

        Of the screening only the model is used: the race decides by new runs.
        """
        found = self.learn(history)
        if found is None:
            return ()
        left = set(history.left)
        return tuple(
            one.name
            for one in found.ranked(self.effort.doubts)
            if one.name in left and one.chance >= 0.5 and one.mean + one.sd > found.baseline.mean
        )[: self._finalists(history)]

    def learn(self, history: History) -> Knowledge | None:
        """Return what the screening runs say; None as long as the baseline has no figure."""
        return learn(self.plan, history)

    def _screen(self, history: History) -> Proposal | None:
        left = self._runs_left(history)
        if left < 2 or len(history.screened) >= self.effort.most:
            return None
        seen = {run.candidate for run in history.screened}
        given = [name for name in history.left[1:] if name not in seen and not _is_ours(name)]
        if given:
            return _batch(history, given[: min(left - 1, _MAX_GIVEN)])
        ours = [name for name in history.knobs if _is_ours(name)]
        since = takewhile(lambda name: name not in seen, reversed(ours))
        wasted = sum(name in history.refused or name in history.duplicates for name in since)
        if wasted >= _MAX_WASTED:
            return None
        count = min(self.effort.batch, left - 1)
        random = np.random.default_rng([abs(history.seed), history.last_block, len(ours)])
        grid = Grid(self.plan.space)
        known = {tuple(grid.nearest(knobs).tolist()) for knobs in history.knobs.values()}
        fresh = [] if ours else self._begun(grid, known, count)
        found = None if fresh else self.learn(history)
        if not fresh and (found is None or len(seen) - 1 < self.effort.design):
            short = count if found is None else min(count, self.effort.design - len(seen) + 1)
            drawn = dict.fromkeys(tuple(one.tolist()) for one in grid.spread(short, random))
            points = [np.array(point) for point in drawn if point not in known]
            fresh = [(grid.knobs(point), _SPREAD) for point in points]
        elif found is not None:
            fresh = _promising(found, known, count, random)
        new = tuple(
            NewCandidate(f"{PREFIX}{number}", knobs, source)
            for number, (knobs, source) in enumerate(fresh, len(ours) + 1)
        )
        return _batch(history, [one.name for one in new], new) if new else None

    def _begun(self, grid: Grid, known: set[tuple[int, ...]], count: int) -> list[Sourced]:
        best = best_before(self.plan, grid, self.effort.earlier)
        there = [(point, one) for point, one in best if tuple(point.tolist()) not in known]
        return [(grid.knobs(point), _where_from(one)) for point, one in there[:count]]

    def _total(self, history: History) -> int:
        budget = history.budget
        return self.plan.runs if budget.runs is None else budget.runs_spent + budget.runs

    def _finalists(self, history: History) -> int:
        """Fewer where the budget is short: two still are a race."""
        fits = math.floor(self.effort.race_share * self._total(history) / _RACE_BLOCKS) - 2
        return max(1, min(self.effort.finalists, fits))

    def _runs_left(self, history: History) -> int:
        """The runs left for screening, without those that the race needs."""
        total = self._total(history)
        shortest = _RACE_BLOCKS * (self._finalists(history) + 2)
        race = max(shortest, math.ceil(self.effort.race_share * total))
        return total - race - history.budget.runs_spent


def _concluding(history: History, names: tuple[str, ...]) -> History:
    """Return the plan with runs for the rest of a short race, and no more.

    No run is left for an ablation.
    """
    left = sum(name not in history.dropped for name in names)
    runs = max(CONCLUDING_BLOCKS - history.blocks, 0) * (left + 2)
    budget = history.budget
    fits = runs if budget.runs is None else min(runs, budget.runs)
    return replace(
        history,
        concludes=False,
        budget=Budget(runs_left=fits, runs_spent=budget.runs_spent),
        ablation_budget=Budget(runs_left=0),
    )


def _promising(
    found: Knowledge, known: set[tuple[int, ...]], count: int, random: np.random.Generator
) -> list[Sourced]:
    ranked = [one for one in found.ranked(0.0) if one.chance >= 0.5] or [found.baseline]
    # Values of the space alone need not beat what other lines contribute.
    inside = [one for one in ranked if one.name not in found.apart]
    best = max(one.mean for one in (*inside, found.baseline))
    centres = np.array([found.points[one.name] for one in ranked[:4]])
    picks = next_points(found.grid, found.beliefs, centres, best, known, count, random)
    return [(found.grid.knobs(np.array(pick.point)), _why(found, pick, ranked)) for pick in picks]


def _why(found: Knowledge, pick: Pick, ranked: list[Standing]) -> str:
    point = np.array(pick.point)
    gaps = {one.name: int((found.points[one.name] != point).sum()) for one in ranked}
    nearest = min(gaps, key=lambda name: (gaps[name], name))
    low, high = (
        100 * math.expm1(pick.mean + way * 2 * pick.sd - found.baseline.mean) for way in (-1, 1)
    )
    expected = f"expected {low:+.0f} to {high:+.0f} % against the baseline"
    if gaps[nearest] <= len(pick.point) // 2:
        return f"differs from {nearest} in {counted(gaps[nearest], 'setting')}; {expected}"
    return f"little is known about this part of the space; {expected}"


def _where_from(one: EarlierConfig) -> str:
    gain = f"{100 * math.expm1(one.gain):+.0f} %"
    return f"among the best of study {one.study}: {gain} there ({counted(one.runs, 'run')})"


def _is_ours(name: str) -> bool:
    return name.startswith(PREFIX)


def _batch(history: History, names: list[str], new: tuple[NewCandidate, ...] = ()) -> Proposal:
    block = history.last_block + 1
    return Proposal(screening_order(names, history.baseline, block, history.seed), new=new)

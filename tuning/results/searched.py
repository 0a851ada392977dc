"""What a search has screened: each config with its ratio to the baseline, and the noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import exp, log, sqrt
from statistics import fmean

from benchmarks.models import RunState
from tuning.models import Candidate, SlotPurpose
from tuning.results.slot_rows import RunRow, SlotRow
from tuning.results.study_result import StudyResult
from tuning.statistics.data import Metric
from tuning.statistics.rounds import ShortRun, is_better, mean_ratio, round_ratios

# Differences of successive runs of the baseline that are needed to say anything of the noise.
_MIN_DIFFERENCES = 2
# Says nothing of the config: it is measured again, or was not to be measured any more.
VOID = (RunState.DISTURBED, RunState.LOST, RunState.CANCELLED)


@dataclass(frozen=True)
class Look:
    """One screening run that ended and was not void; `ratio` to the baseline in its round (mean).

    `ratio` is None without a figure on either side; `ratios` has those of every metric that are
    known. `number` counts the looks from 1.
    """

    number: int
    round: int
    candidate: Candidate
    run: RunRow
    ratio: float | None
    ratios: Mapping[Metric, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Tried:
    """A config of a search; `ratio` is the mean (of logs) over its looks."""

    candidate: Candidate
    looks: tuple[Look, ...]
    ratio: float | None
    is_finalist: bool
    ratios: Mapping[Metric, float] = field(default_factory=dict)

    @property
    def last(self) -> Look:
        return self.looks[-1]


@dataclass(frozen=True)
class BestSoFar:
    """After look `number` this config had the best ratio."""

    number: int
    candidate: Candidate
    ratio: float


@dataclass(frozen=True)
class SearchResult:
    """A search so far, of its one device and workload.

    noise: standard deviation of one look's ratio, as a share, from the baseline's own runs; None
    until there are a few. given_up: refused, or the same as another.
    """

    metric: Metric
    looks: tuple[Look, ...]
    tried: tuple[Tried, ...]
    best: tuple[BestSoFar, ...]
    noise: float | None
    refused: int
    duplicates: int

    def front(self, cost: Metric) -> tuple[Tried, ...]:
        """The configs that neither another nor the baseline beats in both throughput and `cost`.

        The one with the most throughput first.

        By single short runs: which of two that are close is on the front is a matter of chance.
        """
        both = [one for one in self.tried if {Metric.TPMP, cost} <= one.ratios.keys()]
        both.sort(key=lambda one: (-one.ratios[Metric.TPMP], one.ratios[cost]))
        found: list[Tried] = []
        for one in both:
            is_worse = one.ratios[Metric.TPMP] <= 1 <= one.ratios[cost]
            if not is_worse and (not found or one.ratios[cost] < found[-1].ratios[cost]):
                found.append(one)
        return tuple(found)

    @property
    def leader(self) -> BestSoFar | None:
        """What looks best now."""
        return self.best[-1] if self.best else None


def search_result(result: StudyResult) -> SearchResult | None:
    """Of a study that searches; None for others."""
    if result.study.search is None:
        return None
    metric = result.aim.objective
    slots = [slot for slot in result.slots if slot.purpose == SlotPurpose.SEARCH]
    looks = _looks(slots, metric)
    raced = {s.candidate_id for s in result.slots if s.purpose == SlotPurpose.BLOCK}
    tried = _tried(looks, raced, metric)
    tried.sort(key=lambda one: _order(one.ratio, metric))
    made = [one for one in result.candidates.values() if one.found_by_search]
    return SearchResult(
        metric=metric,
        looks=tuple(looks),
        tried=tuple(tried),
        best=tuple(_best_so_far(looks, metric)),
        noise=_noise(slots, metric),
        refused=sum(bool(one.refusal) for one in made),
        duplicates=sum(one.merged_into_id is not None for one in made),
    )


def _figure(run: RunRow, metric: Metric) -> float | None:
    value: float | None = getattr(run, metric.value) if run.state == RunState.OK else None
    return value or None


def _looks(slots: Sequence[SlotRow], metric: Metric) -> list[Look]:
    rounds = {block: number for number, block in enumerate(sorted({s.block for s in slots}), 1)}
    ratios = {
        one: round_ratios(
            [ShortRun(s.block, s.candidate.is_baseline, _figure(s.run, one)) for s in slots]
        )
        for one in Metric
    }
    found: list[Look] = []
    for index, slot in enumerate(slots):
        is_void = not slot.run.is_finished or slot.run.state in VOID
        if not (slot.candidate.is_baseline or is_void):
            number = len(found) + 1
            known = {one: ratio for one in Metric if (ratio := ratios[one][index]) is not None}
            here = rounds[slot.block]
            ratio = known.get(metric)
            found.append(Look(number, here, slot.candidate, slot.run, ratio, known))
    return found


def _tried(looks: Sequence[Look], raced: set[int], metric: Metric) -> list[Tried]:
    by_candidate: dict[int, list[Look]] = {}
    for look in looks:
        by_candidate.setdefault(look.candidate.pk, []).append(look)
    found = []
    for pk, there in by_candidate.items():
        means = {
            one: mean_ratio(known)
            for one in Metric
            if (known := [look.ratios[one] for look in there if one in look.ratios])
        }
        ratio, is_finalist = means.get(metric), pk in raced
        found.append(Tried(there[0].candidate, tuple(there), ratio, is_finalist, means))
    return found


def _order(ratio: float | None, metric: Metric) -> tuple[bool, float]:
    return ratio is None, -(ratio or 0.0) if metric.more_is_better else (ratio or 0.0)


def _best_so_far(looks: Sequence[Look], metric: Metric) -> list[BestSoFar]:
    """By the mean of each config's looks so far: a lucky first look is taken back by the next."""
    found: list[BestSoFar] = []
    ratios: dict[Candidate, list[float]] = {}
    means: dict[Candidate, float] = {}
    leader: Candidate | None = None
    for number, look in enumerate(looks, 1):
        if look.ratio is not None:
            one = look.candidate
            ratios.setdefault(one, []).append(look.ratio)
            means[one] = mean_ratio(ratios[one])
            if leader is None or is_better(means[one], means[leader], metric):
                leader = one
            elif one == leader:  # its mean may have fallen below another's
                leader = min(means, key=lambda name: _order(means[name], metric))
        if leader is not None:
            found.append(BestSoFar(number, leader, means[leader]))
    return found


def _noise(slots: Sequence[SlotRow], metric: Metric) -> float | None:
    """From runs of the baseline that followed one another, so that slow drift is not counted."""
    logs = [
        log(figure)
        for slot in slots
        if slot.candidate.is_baseline and (figure := _figure(slot.run, metric)) is not None
    ]
    steps = [(b - a) ** 2 for a, b in pairwise(logs)]
    if len(steps) < _MIN_DIFFERENCES:
        return None
    # A difference has the noise of two runs, and so has a ratio.
    return exp(sqrt(fmean(steps))) - 1

"""What a search has looked at: each config with its ratio to the baseline, and the noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import pairwise
from math import exp, log, sqrt
from statistics import fmean

from benchmarks.models import Run, RunState
from tuning.models import Candidate, Slot, SlotPurpose
from tuning.results.study_result import StudyResult
from tuning.statistics.data import Metric

# Differences of successive runs of the baseline that are needed to say anything of the noise.
_MIN_DIFFERENCES = 2
# Says nothing of the config: it is measured again, or was not to be measured any more.
VOID = (RunState.DISTURBED, RunState.LOST, RunState.CANCELLED)


@dataclass(frozen=True)
class Look:
    """One screening run that ended and was not void; `ratio` to the baseline in its round (mean).

    `ratio` is None without a figure on either side. `number` counts the looks from 1.
    """

    number: int
    round: int
    candidate: Candidate
    run: Run
    ratio: float | None


@dataclass(frozen=True)
class Tried:
    """A config of a search; `ratio` is the mean (of logs) over its looks."""

    candidate: Candidate
    looks: tuple[Look, ...]
    ratio: float | None
    is_finalist: bool

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
    until there are a few. given up: refused, or the same as another.
    """

    metric: Metric
    looks: tuple[Look, ...]
    tried: tuple[Tried, ...]
    best: tuple[BestSoFar, ...]
    noise: float | None
    refused: int
    duplicates: int

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
    tried = _tried(looks, raced)
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


def _figure(run: Run, metric: Metric) -> float | None:
    value: float | None = getattr(run, metric.value) if run.state == RunState.OK else None
    return value or None


def _looks(slots: Sequence[Slot], metric: Metric) -> list[Look]:
    beside: dict[int, list[float]] = {}
    for slot in slots:
        figure = _figure(slot.run, metric)
        if slot.candidate.is_baseline and figure is not None:
            beside.setdefault(slot.block, []).append(log(figure))
    rounds = {block: number for number, block in enumerate(sorted({s.block for s in slots}), 1)}
    found: list[Look] = []
    for slot in slots:
        is_void = not slot.run.is_finished or slot.run.state in VOID
        if slot.candidate.is_baseline or is_void:
            continue
        figure, level = _figure(slot.run, metric), beside.get(slot.block)
        ratio = exp(log(figure) - fmean(level)) if figure and level else None
        number = len(found) + 1
        found.append(Look(number, rounds[slot.block], slot.candidate, slot.run, ratio))
    return found


def _tried(looks: Sequence[Look], raced: set[int]) -> list[Tried]:
    by_candidate: dict[int, list[Look]] = {}
    for look in looks:
        by_candidate.setdefault(look.candidate.pk, []).append(look)
    return [
        Tried(there[0].candidate, tuple(there), _mean(there), pk in raced)
        for pk, there in by_candidate.items()
    ]


def _mean(looks: Sequence[Look]) -> float | None:
    logs = [log(look.ratio) for look in looks if look.ratio is not None]
    return exp(fmean(logs)) if logs else None


def _order(ratio: float | None, metric: Metric) -> tuple[bool, float]:
    return ratio is None, -(ratio or 0.0) if metric.more_is_better else (ratio or 0.0)


def _best_so_far(looks: Sequence[Look], metric: Metric) -> list[BestSoFar]:
    """By the mean of each config's looks so far: a lucky first look is taken back by the next."""
    found: list[BestSoFar] = []
    logs: dict[int, list[float]] = {}
    places: dict[int, int] = {}
    by_place: list[Candidate] = []
    # (order of the mean, place of the first look, number of looks): an entry whose number is no
    # longer that of its config is out of date, and dropped when it comes to the front.
    front: list[tuple[float, int, int]] = []
    for number, look in enumerate(looks, 1):
        key = look.candidate.pk
        if key not in places:
            places[key] = len(by_place)
            by_place.append(look.candidate)
        if look.ratio is not None:
            there = logs.setdefault(key, [])
            there.append(log(look.ratio))
            mean = fmean(there)
            order = -mean if metric.more_is_better else mean
            heappush(front, (order, places[key], len(there)))
        while front and front[0][2] != len(logs[by_place[front[0][1]].pk]):
            heappop(front)
        if front:
            order, place, _ = front[0]
            mean = -order if metric.more_is_better else order
            found.append(BestSoFar(number, by_place[place], exp(mean)))
    return found


def _noise(slots: Sequence[Slot], metric: Metric) -> float | None:
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

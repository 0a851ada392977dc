"""A study's search: each config with its ratio to the baseline, the noise, the best so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import exp, log, sqrt
from statistics import fmean, geometric_mean
from typing import Any

from benchmarks.models import RunState
from tuning.models import SlotPurpose, Study
from tuning.results import document as doc
from tuning.results.boards import screened_runs
from tuning.results.study_rows import SlotRow, StudyRows
from tuning.statistics.aim import missed_texts
from tuning.statistics.data import Metric
from tuning.statistics.ratios import ShortRun, round_ratios
from tuning.strategy.search.importance import Importance, importance
from tuning.strategy.search.space import Space

#: The metrics that throughput is weighed against.
COSTS = (Metric.P95, Metric.SERVER_PATH_LENGTH)
# Differences of successive runs of the baseline that are needed to say anything of the noise.
_MIN_DIFFERENCES = 2
# Runs of the baseline before its limits are judged.
_MIN_BASELINES = 2
# Says nothing of the config: it is measured again, or was not to be measured any more.
VOID = (RunState.DISTURBED, RunState.LOST, RunState.CANCELLED)


def search_of(rows: StudyRows) -> doc.Search | None:
    """Return the search so far; None for a study that does not search."""
    stored = rows.study.search
    if stored is None:
        return None
    metric = rows.aim.objective
    slots = [slot for slot in rows.slots if slot.purpose == SlotPurpose.SEARCH]
    runs = _short_runs(slots, metric)
    raced = {s.candidate_id for s in rows.slots if s.purpose == SlotPurpose.BLOCK}
    tried = _tried(runs, raced, metric)
    made = [one for one in rows.candidates.values() if one.found_by_search]
    return doc.Search(
        metric=metric,
        space=stored.get("space", {}),
        runs=tuple(runs),
        tried=tuple(tried),
        best=tuple(best_so_far(runs, metric)),
        fronts={cost: _front(tried, cost) for cost in COSTS},
        noise=_noise(slots, metric),
        refused=sum(bool(one.refusal) for one in made),
        duplicates=sum(one.merged_into_id is not None for one in made),
        raced=len(raced - {one.pk for one in rows.candidates.values() if one.is_baseline}),
        misses=_missed_by_the_baseline(rows),
        importance=Importance.from_json(rows.study.learned) if rows.study.learned else None,
        began_with=began_with(stored),
    )


def _missed_by_the_baseline(rows: StudyRows) -> tuple[str, ...]:
    """Name the limits that the baseline misses: a user can stop if nothing may keep them."""
    if not rows.aim.keep:
        return ()
    ok = [s.observation for s in rows.slots if s.is_baseline and s.state == RunState.OK]
    return missed_texts(rows.aim, ok) if len(ok) >= _MIN_BASELINES else ()


def _short_runs(slots: Sequence[SlotRow], metric: Metric) -> list[doc.ShortRun]:
    rounds = {block: number for number, block in enumerate(sorted({s.block for s in slots}), 1)}
    ratios = {
        one: round_ratios([ShortRun(s.block, s.is_baseline, s.figure(one)) for s in slots])
        for one in Metric
    }
    shown = [
        (slot, {one: ratio for one in Metric if (ratio := ratios[one][index]) is not None})
        for index, slot in enumerate(slots)
        if slot.is_finished and not slot.is_baseline and slot.state not in VOID
    ]
    return [
        doc.ShortRun(
            number=number,
            round=rounds[slot.block],
            candidate_id=slot.candidate_id,
            run_id=slot.run.id,
            state=slot.state,
            ratio=known.get(metric),
            ratios=known,
        )
        for number, (slot, known) in enumerate(shown, 1)
    ]


def _tried(runs: Sequence[doc.ShortRun], raced: set[int], metric: Metric) -> list[doc.TriedConfig]:
    """Return the configs that were measured, best first."""
    by_candidate: dict[int, list[doc.ShortRun]] = {}
    for run in runs:
        by_candidate.setdefault(run.candidate_id, []).append(run)
    found = []
    for pk, there in by_candidate.items():
        ratios = {one: [run.ratios[one] for run in there if one in run.ratios] for one in Metric}
        means = {one: geometric_mean(known) for one, known in ratios.items() if known}
        found.append(
            doc.TriedConfig(
                candidate_id=pk,
                runs=len(there),
                last_run_id=there[-1].run_id,
                last_state=there[-1].state,
                ratio=means.get(metric),
                ratios=means,
                is_finalist=pk in raced,
            )
        )
    return sorted(found, key=lambda one: _order(one.ratio, metric))


def _order(ratio: float | None, metric: Metric) -> tuple[bool, float]:
    return ratio is None, -(ratio or 0.0) if metric.more_is_better else (ratio or 0.0)


def _front(tried: Sequence[doc.TriedConfig], cost: Metric) -> tuple[int, ...]:
    """Return whom neither another nor the baseline beats in both throughput and `cost`.

    The config with the most throughput comes first. Single short runs decide, so of two configs
    that are close, chance decides which is on the front.
    """
    both = [one for one in tried if {Metric.THROUGHPUT, cost} <= one.ratios.keys()]
    both.sort(key=lambda one: (-one.ratios[Metric.THROUGHPUT], one.ratios[cost]))
    found: list[doc.TriedConfig] = []
    for one in both:
        is_worse = one.ratios[Metric.THROUGHPUT] <= 1 <= one.ratios[cost]
        if not is_worse and (not found or one.ratios[cost] < found[-1].ratios[cost]):
            found.append(one)
    return tuple(one.candidate_id for one in found)


def best_so_far(runs: Sequence[doc.ShortRun], metric: Metric) -> list[doc.BestSoFar]:
    """Return the leader after each run, by the means of all runs so far.

    The mean takes a lucky first run back.
    """
    found: list[doc.BestSoFar] = []
    ratios: dict[int, list[float]] = {}
    means: dict[int, float] = {}
    leader: int | None = None
    for number, run in enumerate(runs, 1):
        if run.ratio is not None:
            one = run.candidate_id
            ratios.setdefault(one, []).append(run.ratio)
            means[one] = geometric_mean(ratios[one])
            if leader is None or metric.is_better(means[one], means[leader]):
                leader = one
            elif one == leader:  # its mean may have fallen below another's
                leader = min(means, key=lambda pk: _order(means[pk], metric))
        if leader is not None:
            best = doc.BestSoFar(number=number, candidate_id=leader, ratio=means[leader])
            found.append(best)
    return found


def _noise(slots: Sequence[SlotRow], metric: Metric) -> float | None:
    """Return the standard deviation of a run's ratio as a share; None until there are a few runs.

    Runs of the baseline that followed one another show it, so that slow drift is not counted.
    """
    logs = [
        log(figure)
        for slot in slots
        if slot.is_baseline and (figure := slot.figure(metric)) is not None
    ]
    steps = [(b - a) ** 2 for a, b in pairwise(logs)]
    if len(steps) < _MIN_DIFFERENCES:
        return None
    # A difference has the noise of two runs, and so has a ratio.
    return exp(sqrt(fmean(steps))) - 1


def learn_knobs(rows: StudyRows) -> None:
    """Store how much each knob of a search matters, if screening runs have ended last.

    To fit the model takes half a second of a processor, which no page has while a run is measured.
    """
    space, slots = (rows.study.search or {}).get("space"), rows.slots
    if space is None or not slots or slots[-1].purpose != SlotPurpose.SEARCH:
        return
    knobs = {one.name: one.config.knobs for one in rows.candidates.values()}
    found = importance(Space.from_json(space), screened_runs(slots), knobs, rows.aim.objective)
    Study.objects.filter(pk=rows.study.pk).update(learned=found.as_json())


def began_with(stored: Mapping[str, Any]) -> doc.EarlierStudies | None:
    """Return what a stored search began with; None without earlier studies."""
    earlier = stored.get("earlier", [])
    if not earlier:
        return None
    return doc.EarlierStudies(
        studies=tuple(sorted({one["study"] for one in earlier})),
        configs=len(earlier),
        runs=sum(len(one["runs"]) for one in earlier),
    )

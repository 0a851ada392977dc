"""The part of a result document that is about the study's search."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tuning.results import document as doc
from tuning.results.knob_importance import knob_importance
from tuning.results.searched import Tried, search_result
from tuning.results.study_result import StudyResult
from tuning.statistics.data import Metric
from tuning.strategy.search.importance import Importance

#: What throughput is weighed against.
COSTS = (Metric.P95, Metric.SERVER_PATH_LENGTH)


def search_of(result: StudyResult) -> doc.Search | None:
    """Return the search so far; None for a study that does not search."""
    found, stored = search_result(result), result.study.search
    if found is None or stored is None:
        return None
    missed = stored.get("missed_before", {})
    return doc.Search(
        metric=found.metric,
        space=stored.get("space", {}),
        runs=tuple(
            doc.ShortRun(
                number=look.number,
                round=look.round,
                candidate_id=look.candidate.pk,
                run_id=look.run.pk,
                state=look.run.state,
                ratio=look.ratio,
                ratios=dict(look.ratios),
            )
            for look in found.looks
        ),
        tried=tuple(map(_tried, found.tried)),
        best=tuple(
            doc.BestSoFar(number=one.number, candidate_id=one.candidate.pk, ratio=one.ratio)
            for one in found.best
        ),
        fronts={cost: tuple(one.candidate.pk for one in found.front(cost)) for cost in COSTS},
        noise=found.noise,
        refused=found.refused,
        duplicates=found.duplicates,
        importance=_importance(knob_importance(result)),
        began_with=_began_with(stored),
        baseline_missed_in=missed.get("study", 0),
        baseline_missed=tuple(missed.get("limits", ())),
    )


def _tried(one: Tried) -> doc.TriedConfig:
    return doc.TriedConfig(
        candidate_id=one.candidate.pk,
        runs=len(one.looks),
        last_run_id=one.last.run.pk,
        last_state=one.last.run.state,
        ratio=one.ratio,
        ratios=dict(one.ratios),
        is_finalist=one.is_finalist,
    )


def _importance(found: Importance | None) -> doc.Importance | None:
    if found is None:
        return None
    return doc.Importance(
        runs=found.runs,
        configs=found.configs,
        knobs=tuple(
            doc.KnobEffect(
                name=one.name,
                runs=one.runs,
                values=one.values,
                share=one.share,
                worst=one.worst,
                best=one.best,
                estimate=doc.Estimate(
                    ratio=one.ratio, low=one.low, high=one.high, confidence=0.95
                ),
            )
            for one in found.knobs
        ),
        together=found.together,
    )


def _began_with(stored: Mapping[str, Any]) -> doc.EarlierStudies | None:
    earlier = stored.get("earlier", [])
    if not earlier:
        return None
    return doc.EarlierStudies(
        studies=tuple(sorted({one["study"] for one in earlier})),
        configs=len(earlier),
        runs=sum(len(one["runs"]) for one in earlier),
    )

"""All gates of a name over time, and where the level of what they let through changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from math import log

from tuning.models import Candidate, GateVerdict, Study
from tuning.statistics.change_points import Level, levels, ratio_between
from tuning.statistics.data import Metric

#: The newest gates that are looked at.
MAX_POINTS = 200


@dataclass(frozen=True)
class Figures:
    """One metric of a gate: geometric means, and the change in percent of the baseline."""

    candidate: float | None
    baseline: float | None
    change_percent: float | None


@dataclass(frozen=True)
class GatePoint:
    """A gate that has a verdict. figures: one for each metric, None where it had no limit."""

    pk: int
    created_at: datetime
    verdict: str
    candidate: str
    figures: tuple[Figures | None, ...]


@dataclass(frozen=True)
class LevelChange:
    """Since the gate `since` the candidates' `metric` has another level than in `before` gates.

    is_of_the_host: the baseline changed alike, which was the same config in all of them.
    """

    metric: Metric
    since: GatePoint
    level: Level
    before: int
    is_of_the_host: bool


@dataclass(frozen=True)
class GateHistory:
    """The gates of one name on one host, device, workload and binary log, oldest first.

    levels: of each metric those of the candidates, of the gates that `measured` finds.
    """

    metrics: tuple[Metric, ...]
    points: tuple[GatePoint, ...]
    levels: tuple[Sequence[Level], ...]
    changes: tuple[LevelChange, ...]


def gate_history(study: Study) -> GateHistory:
    """Those that may be compared: same name, host, device, workload and binary log."""
    found = GateVerdict.objects.filter(
        study__name=study.name,
        study__host=study.host_id,
        study__binary_log=study.binary_log,
        study__devices__in=study.devices.all(),
        study__workloads__in=study.workloads.all(),
    )
    rows = list(found.select_related("study").order_by("-study_id")[:MAX_POINTS])[::-1]
    sides = Candidate.objects.filter(study__in=[row.study_id for row in rows])
    names = {
        (pk, is_baseline): (name, config)
        for pk, is_baseline, name, config in sides.values_list(
            "study_id", "is_baseline", "name", "config_id"
        )
    }
    there = {one["metric"] for row in rows for one in row.result["limits"]}
    metrics = [metric for metric in Metric if metric.value in there]
    points = tuple(
        GatePoint(
            pk=row.study_id,
            created_at=row.study.created_at,
            verdict=row.verdict,
            candidate=names[row.study_id, False][0],
            figures=_figures(row, metrics),
        )
        for row in rows
    )
    baselines = {row.study_id: names[row.study_id, True][1] for row in rows}
    seen = [measured(points, index) for index in range(len(metrics))]
    found_levels = tuple(levels([candidate for _, candidate, _ in one]) for one in seen)
    changes = [
        change
        for metric, there, of_metric in zip(metrics, seen, found_levels, strict=True)
        for change in _changes(metric, there, of_metric, baselines)
    ]
    return GateHistory(tuple(metrics), points, found_levels, tuple(changes))


def _figures(row: GateVerdict, metrics: Sequence[Metric]) -> tuple[Figures | None, ...]:
    limits = {one["metric"]: one for one in row.result["limits"]}
    return tuple(
        Figures(found.get("candidate"), found.get("baseline"), found.get("change_percent"))
        if (found := limits.get(metric.value))
        else None
        for metric in metrics
    )


def measured(points: Sequence[GatePoint], index: int) -> list[tuple[GatePoint, float, float]]:
    """Of the metric at `index` each gate with the candidate's and the baseline's figure."""
    return [
        (point, found.candidate, found.baseline)
        for point in points
        if (found := point.figures[index]) and found.candidate and found.baseline
    ]


def _changes(
    metric: Metric,
    seen: Sequence[tuple[GatePoint, float, float]],
    found: Sequence[Level],
    baselines: Mapping[int, int],
) -> list[LevelChange]:
    """Of the candidates' figures themselves: where each gate has a new baseline, their ratios stay
    small while the level goes down.
    """
    changes = []
    for before, level in pairwise(found):
        parts = seen[before.begin : before.end], seen[level.begin : level.end]
        is_one = len({baselines[point.pk] for part in parts for point, *_ in part}) == 1
        ours, _ = ratio_between(*([baseline for *_, baseline in part] for part in parts))
        is_alike = abs(log(ours)) > abs(log(level.ratio)) / 2 and (ours > 1) == (level.ratio > 1)
        changes.append(
            LevelChange(metric, parts[1][0][0], level, before.points, is_one and is_alike)
        )
    return changes

"""All gates of a name over time, and where the level of what they let through changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from math import exp, log
from typing import Any

from tuning.models import Candidate, GateVerdict, Study
from tuning.statistics.change_points import change_points
from tuning.statistics.data import Metric
from tuning.statistics.gate import LIMIT_NAMES

#: The newest gates that are looked at.
MAX_POINTS = 200


@dataclass(frozen=True)
class GatePoint:
    """A gate that has a verdict. changes: of each metric in percent of the baseline, or None."""

    pk: int
    created_at: datetime
    verdict: str
    candidate: str
    changes: tuple[float | None, ...]


@dataclass(frozen=True)
class LevelChange:
    """Since the gate `since` the candidates' `metric` has another level."""

    metric: Metric
    since: int
    sentence: str


@dataclass(frozen=True)
class GateHistory:
    """The gates of one name on one host, device and workload, oldest first."""

    metrics: tuple[str, ...]
    points: tuple[GatePoint, ...]
    changes: tuple[LevelChange, ...]


def gate_history(study: Study) -> GateHistory:
    """Those that are comparable with this gate: same name, host, device and workload."""
    found = GateVerdict.objects.filter(
        study__name=study.name,
        study__host=study.host_id,
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
    limits = [{one["metric"]: one for one in row.result["limits"]} for row in rows]
    points = tuple(
        GatePoint(
            pk=row.study_id,
            created_at=row.study.created_at,
            verdict=row.verdict,
            candidate=names[row.study_id, False][0],
            changes=tuple(
                by_metric.get(metric.value, {}).get("change_percent") for metric in metrics
            ),
        )
        for row, by_metric in zip(rows, limits, strict=True)
    )
    baselines = [names[row.study_id, True][1] for row in rows]
    changes = [
        change
        for metric in metrics
        for change in _changes(metric, [row.study_id for row in rows], limits, baselines)
    ]
    return GateHistory(tuple(LIMIT_NAMES[metric] for metric in metrics), points, tuple(changes))


def _changes(
    metric: Metric,
    pks: Sequence[int],
    limits: Sequence[dict[str, Any]],
    baselines: Sequence[int],
) -> list[LevelChange]:
    """Of the candidates' figures themselves: where each gate has a new baseline, their ratios stay
    small while the level goes down.
    """
    seen = [
        (pk, found["candidate"], found["baseline"], config)
        for pk, by_metric, config in zip(pks, limits, baselines, strict=True)
        if (found := by_metric.get(metric.value)) and found["candidate"] and found["baseline"]
    ]
    levels = [log(candidate) for _, candidate, _, _ in seen]
    places = change_points(levels)
    bounds = [0, *places, len(seen)]
    found = []
    for before, place, after in zip(bounds, bounds[1:], bounds[2:], strict=False):
        ratio = _mean(levels[place:after]) - _mean(levels[before:place])
        parts = seen[before:place], seen[place:after]
        text = (
            f"{LIMIT_NAMES[metric]} of the candidates is {(exp(ratio) - 1) * 100:+.1f} % since "
            f"gate {seen[place][0]} (mean of {after - place} gates, against {place - before} "
            "before)"
        )
        if len({config for part in parts for *_, config in part}) == 1:
            ours = [_mean([log(one[2]) for one in part]) for part in parts]
            if abs(ours[1] - ours[0]) > abs(ratio) / 2:
                text += "; so is the baseline, which is the same config: the host has changed"
        found.append(LevelChange(metric, seen[place][0], f"{text}."))
    return found


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)

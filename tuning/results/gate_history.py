"""All gates of a name over time, and how the newest candidates compare with those before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tuning.models import Candidate, GateVerdict, Study
from tuning.results.document import Gate, GateLimit
from tuning.statistics.data import Metric
from tuning.statistics.ratios import Recent, compare_recent

#: The newest gates that are looked at.
MAX_POINTS = 200


@dataclass(frozen=True)
class GatePoint:
    """A gate that has a verdict. figures: one for each metric, None where it had no limit."""

    pk: int
    created_at: datetime
    verdict: str
    candidate: str
    figures: tuple[GateLimit | None, ...]


@dataclass(frozen=True)
class GateHistory:
    """The gates of one name on one host, device, workload and binary log, oldest first."""

    metrics: tuple[Metric, ...]
    points: tuple[GatePoint, ...]

    def recent(self, index: int) -> Recent | None:
        """Compare the newest candidates by the metric at `index` with those before.

        Where each gate has a new baseline, their ratios stay small while the level goes down.
        """
        return compare_recent([ours for _, ours, _ in measured(self.points, index)])


def gate_history(study: Study) -> GateHistory:
    """Return the gates of the same name, host, device, workload and binary log."""
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
    limits = {
        row.study_id: {one.metric: one for one in Gate.model_validate(row.result).limits}
        for row in rows
    }
    metrics = [metric for metric in Metric if any(metric in one for one in limits.values())]
    points = tuple(
        GatePoint(
            pk=row.study_id,
            created_at=row.study.created_at,
            verdict=row.verdict,
            candidate=names[row.study_id, False][0],
            figures=tuple(limits[row.study_id].get(metric) for metric in metrics),
        )
        for row in rows
    )
    return GateHistory(tuple(metrics), points)


def measured(points: Sequence[GatePoint], index: int) -> list[tuple[GatePoint, float, float]]:
    """Return each gate with both figures of the metric at `index`."""
    return [
        (point, found.candidate, found.baseline)
        for point in points
        if (found := point.figures[index]) and found.candidate and found.baseline
    ]

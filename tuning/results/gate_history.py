"""All gates of a name over time, and how the newest candidates compare with those before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from tuning.models import Candidate, GateVerdict, Study
from tuning.results.document import Gate, GateLimit
from tuning.statistics.data import Metric
from tuning.statistics.ratios import Recent, compare_recent

#: The newest gates that are looked at.
MAX_POINTS = 200


class GatePoint(NamedTuple):
    """A gate that has a verdict, with its limits by metric."""

    pk: int
    created_at: datetime
    verdict: str
    candidate: str
    limits: Mapping[Metric, GateLimit]

    def figures(self, metric: Metric) -> tuple[float, float] | None:
        """Return the candidate's and the baseline's figure; None if one of them is missing."""
        found = self.limits.get(metric)
        if found is None or not found.candidate or not found.baseline:
            return None
        return found.candidate, found.baseline


def gate_history(study: Study) -> list[GatePoint]:
    """Return the gates of the same name, host, device, workload and binary log, oldest first."""
    found = GateVerdict.objects.filter(
        study__name=study.name,
        study__host=study.host_id,
        study__binary_log=study.binary_log,
        study__devices__in=study.devices.all(),
        study__workloads__in=study.workloads.all(),
    )
    rows = list(found.select_related("study").order_by("-study_id")[:MAX_POINTS])[::-1]
    ours = Candidate.objects.filter(study__in=[row.study_id for row in rows], is_baseline=False)
    names = dict(ours.values_list("study_id", "name"))
    return [
        GatePoint(
            pk=row.study_id,
            created_at=row.study.created_at,
            verdict=row.verdict,
            candidate=names[row.study_id],
            limits={one.metric: one for one in Gate.model_validate(row.result).limits},
        )
        for row in rows
    ]


def recent_candidates(points: Iterable[GatePoint], metric: Metric) -> Recent | None:
    """Compare the newest candidates by a metric with those before.

    Where each gate has a new baseline, their ratios stay small while the level goes down.
    """
    known = (point.figures(metric) for point in points)
    return compare_recent([both[0] for both in known if both is not None])

"""Over months: the baseline on one device, and the gates of one name.

A baseline is the same config in study after study. What changes in its figures is the host's, as
long as all else is the same: only runs of one comparability key are compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from math import exp
from typing import NamedTuple

from django.db.models import Avg, Count, Max
from django.db.models.functions import Ln

from benchmarks.models import Device, Server, Workload
from tuning.comparison.measured import baseline_slots, of_newest_studies
from tuning.models import Candidate, GateVerdict, Study
from tuning.results.document import Gate, GateLimit
from tuning.statistics.data import Metric
from tuning.statistics.ratios import Recent, compare_recent


@dataclass(frozen=True)
class Point:
    """The baseline in one study or gate.

    at: when its last run ended. throughput: geometric mean.
    """

    study: int
    name: str
    is_gate: bool
    at: datetime
    key: str
    server: str
    throughput: float


@dataclass(frozen=True)
class BaselineHistory:
    """The baseline and load that most studies of a device share; points oldest first."""

    name: str
    workload: Workload
    points: list[Point]

    @property
    def series(self) -> list[list[Point]]:
        """The points of each comparability key, in the order of their first points."""
        found: dict[str, list[Point]] = {}
        for point in self.points:
            found.setdefault(point.key, []).append(point)
        return list(found.values())

    @property
    def newest(self) -> list[Point]:
        """The points that can be compared with the newest one."""
        return [point for point in self.points if point.key == self.points[-1].key]

    @property
    def recent(self) -> Recent | None:
        return compare_recent([point.throughput for point in self.newest])


def baseline_history(device: Device) -> BaselineHistory | None:
    """Return the history of the newest studies; None if no baseline was measured on the device."""
    there = baseline_slots().filter(device=device)
    same = "candidate__config", "workload", "run__server__flavour"
    lines = there.order_by().values(*same)
    lines = lines.annotate(studies=Count("study", distinct=True), last=Max("run__finished_at"))
    line = lines.order_by("-studies", "-last").first()
    if line is None:
        return None
    runs = of_newest_studies(there.filter(**{name: line[name] for name in same}))
    rows = list(
        runs.order_by()
        .values_list("study", "run__comparability_key", "run__server")
        .annotate(
            at=Max("run__finished_at"), mean=Avg(Ln("run__throughput")), named=Max("candidate")
        )
        .order_by("at", "study")
    )
    studies = Study.objects.only("name", "gate").in_bulk({row[0] for row in rows})
    servers = Server.objects.in_bulk({row[2] for row in rows})
    points = [
        Point(
            study=study,
            name=studies[study].name,
            is_gate=studies[study].gate is not None,
            at=at,
            key=key,
            server=str(servers[server]),
            throughput=exp(mean),
        )
        for study, key, server, at, mean, _ in rows
    ]
    newest = Candidate.objects.get(pk=rows[-1][-1])
    return BaselineHistory(newest.name, Workload.objects.get(pk=line["workload"]), points)


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

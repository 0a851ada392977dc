"""The baseline over months on one device: is the host getting slower?

A baseline is the same config in study after study. What changes in its figures is the host's, as
long as all else is the same: only runs of one comparability key are compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from math import exp

from django.db.models import Avg, Count, Max
from django.db.models.functions import Ln

from benchmarks.models import Device, Server, Workload
from tuning.comparison.measured import baseline_slots, of_newest_studies
from tuning.models import Candidate, Study
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
    line = (
        there.order_by()
        .values("candidate__config", "workload", "run__server__flavour")
        .annotate(studies=Count("study", distinct=True), last=Max("run__finished_at"))
        .order_by("-studies", "-last")
        .first()
    )
    if line is None:
        return None
    runs = of_newest_studies(
        there.filter(
            candidate__config=line["candidate__config"],
            workload=line["workload"],
            run__server__flavour=line["run__server__flavour"],
        )
    )
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

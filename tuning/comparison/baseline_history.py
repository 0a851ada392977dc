"""The baseline over months on one device: is the host getting slower?

A baseline is the same config in study after study. What changes in its figures is the host's, as
long as all else is the same: only runs of one comparability key are one series, in which changes
are looked for. Every new key, such as that of another server version or kernel, begins a new one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import pairwise
from typing import Any, NamedTuple

from django.db.models import Count, Max
from django.db.models.fields.json import KT

from benchmarks.measurement.fingerprint import UNKNOWN, comparable_facts, fact_name
from benchmarks.models import Device, Run, Server, Workload
from tuning.models import Candidate, Study
from tuning.results.baseline_runs import line_token, of_newest_studies, runs_of_baselines
from tuning.statistics.change_points import MIN_POINTS, Level, levels
from tuning.statistics.data import Metric
from tuning.statistics.side_by_side import geometric_mean, mean_interval

_COLUMN = {metric: f"run__{metric.value}" for metric in Metric}
# Selected from the server's variables, some 20 KB per run.
_OF_THE_VARIABLES = {
    "log_bin": KT("variables__log_bin"),
    "page_size": KT("variables__innodb_page_size"),
}


@dataclass(frozen=True)
class Line:
    """What is followed: a baseline with one load on servers of one flavour, on one device.

    `name`: what the newest study calls the baseline. `last`: when its newest run ended.
    """

    config: int
    workload: Workload
    flavour: str
    name: str
    studies: int
    last: datetime

    @property
    def token(self) -> str:
        """Its name in addresses."""
        return line_token(self.config, self.workload.pk, self.flavour)


@dataclass(frozen=True)
class Figure:
    """The geometric mean of a study's runs of the baseline, and where the mean of such runs lies;
    no bounds with a single run.
    """

    mean: float
    low: float | None
    high: float | None
    runs: int


@dataclass(frozen=True)
class Point:
    """The baseline in one study or gate. `at`: when its last run ended."""

    study: int
    name: str
    is_gate: bool
    at: datetime
    key: str
    figures: Mapping[Metric, Figure]


@dataclass(frozen=True)
class Shift:
    """From the study `since` on a figure has another level: `level.ratio` times that of the
    `before` studies that came before.
    """

    metric: Metric
    since: Point
    level: Level
    before: int


class Difference(NamedTuple):
    """What was another before; `fact` as in a fingerprint, with spaces."""

    fact: str
    then: str
    now: str


@dataclass(frozen=True)
class Series:
    """Studies whose baselines may be compared, oldest first.

    `differs`: from the series that began before it; nothing for the first.
    `levels`: by metric those of the points that have the figure (`of`).
    """

    server: str
    differs: tuple[Difference, ...]
    points: tuple[Point, ...]
    levels: Mapping[Metric, Sequence[Level]]

    def of(self, metric: Metric) -> list[Point]:
        return [point for point in self.points if metric in point.figures]

    def shifts(self, metric: Metric) -> list[Shift]:
        there = self.of(metric)
        return [
            Shift(metric, there[level.begin], level, before.points)
            for before, level in pairwise(self.levels[metric])
        ]


class Trend(StrEnum):
    """What the newest series says of the host."""

    SLOWER = "slower"
    FASTER = "faster"
    OTHER = "other"  # tpmP stayed, another figure did not
    UNCHANGED = "unchanged"
    TOO_FEW = "too_few"


@dataclass(frozen=True)
class BaselineHistory:
    """One line on one device. `series` in the order of their first studies; there is one at
    least. `left_out`: studies of the line that are older than those looked at.
    """

    line: Line
    series: tuple[Series, ...]
    left_out: int

    @property
    def points(self) -> list[Point]:
        """Those of all series, oldest first."""
        return sorted((one for series in self.series for one in series.points), key=_when)

    @property
    def newest(self) -> Series:
        """The series that the newest study is part of."""
        return max(self.series, key=lambda series: series.points[-1].at)

    @property
    def trend(self) -> Trend:
        """Of tpmP by its last change, else whether another figure changed."""
        if shifts := self.newest.shifts(Metric.TPMP):
            return Trend.SLOWER if shifts[-1].level.ratio < 1 else Trend.FASTER
        if any(self.newest.shifts(metric) for metric in Metric):
            return Trend.OTHER
        return Trend.TOO_FEW if len(self.newest.points) < MIN_POINTS else Trend.UNCHANGED

    @property
    def in_all(self) -> float | None:
        """tpmP's last level by its first; None where there were fewer than two changes."""
        found = self.newest.levels[Metric.TPMP]
        return found[-1].mean / found[0].mean if len(found) > 2 else None


def baseline_lines(device: Device) -> list[Line]:
    """Those with most studies first; of equals the one that was measured last."""
    groups = list(
        runs_of_baselines()
        .filter(device=device)
        .order_by()
        .values("candidate__config", "workload", "run__server__flavour")
        .annotate(
            studies=Count("study", distinct=True),
            last=Max("run__finished_at"),
            newest=Max("candidate"),
        )
    )
    workloads = Workload.objects.in_bulk({group["workload"] for group in groups})
    Workload.objects.fetch_load_hosts(workloads.values())
    names = dict(
        Candidate.objects.filter(pk__in=[group["newest"] for group in groups]).values_list(
            "pk", "name"
        )
    )
    found = [
        Line(
            config=group["candidate__config"],
            workload=workloads[group["workload"]],
            flavour=group["run__server__flavour"],
            name=names[group["newest"]],
            studies=group["studies"],
            last=group["last"],
        )
        for group in groups
    ]
    return sorted(found, key=lambda line: (line.studies, line.last), reverse=True)


def chosen_history(device: Device, token: str) -> tuple[list[Line], BaselineHistory | None]:
    """The lines of the device, and the history of the one named, else of the first."""
    lines = baseline_lines(device)
    line = next((one for one in lines if one.token == token), lines[0] if lines else None)
    return lines, None if line is None else baseline_history(device, line)


def baseline_history(device: Device, line: Line) -> BaselineHistory:
    """The newest MAX_STUDIES studies; in four queries whatever their number."""
    there = runs_of_baselines().filter(
        device=device,
        workload=line.workload,
        candidate__config=line.config,
        run__server__flavour=line.flavour,
    )
    runs: dict[tuple[str, int], list[Mapping[str, Any]]] = defaultdict(list)
    newest = of_newest_studies(there, line.studies)
    for row in newest.order_by("run").values(*_COLUMNS):
        runs[row["run__comparability_key"], row["study"]].append(row)
    studies = Study.objects.only("name", "gate").in_bulk({study for _, study in runs})
    points = sorted(
        (_point(studies[study], key, rows) for (key, study), rows in runs.items()), key=_when
    )
    examples = {key: rows[-1]["run"] for (key, _), rows in runs.items()}
    series = _series(points, _facts(examples.values()))
    return BaselineHistory(line, series, line.studies - len(studies))


_COLUMNS = ("study", "run", "run__comparability_key", "run__finished_at", *_COLUMN.values())


def _point(study: Study, key: str, rows: Sequence[Mapping[str, Any]]) -> Point:
    figures = {}
    for metric, column in _COLUMN.items():
        values = [row[column] for row in rows if row[column]]
        mean = geometric_mean(values)
        if mean is not None:
            bounds = mean_interval(values)
            low, high = (bounds.low, bounds.high) if bounds else (None, None)
            figures[metric] = Figure(mean, low, high, len(values))
    at = max(row["run__finished_at"] for row in rows)
    return Point(study.pk, study.name, study.gate is not None, at, key, figures)


def _when(point: Point) -> tuple[datetime, int]:
    return point.at, point.study


def _series(points: Sequence[Point], facts: Mapping[str, Mapping[str, str]]) -> tuple[Series, ...]:
    by_key: dict[str, list[Point]] = defaultdict(list)
    for point in points:
        by_key[point.key].append(point)
    found: list[Series] = []
    earlier: Mapping[str, str] = {}
    for key, there in by_key.items():
        known = facts[key]
        found.append(
            Series(
                server=known["server"],
                differs=_differences(earlier, known) if found else (),
                points=tuple(there),
                levels={
                    metric: levels(
                        [one.figures[metric].mean for one in there if metric in one.figures]
                    )
                    for metric in Metric
                },
            )
        )
        earlier = known
    return tuple(found)


def _facts(runs: Iterable[int]) -> dict[str, dict[str, str]]:
    """By comparability key what its runs have in common, taken from one of each."""
    rows = Run.objects.filter(pk__in=list(runs)).values(
        *("comparability_key", "fingerprint", "driver_version"),
        *("server__flavour", "server__version", "server__digest"),
        **_OF_THE_VARIABLES,
    )
    return {row["comparability_key"]: _facts_of(row) for row in rows}


def _facts_of(row: Mapping[str, Any]) -> dict[str, str]:
    server = Server(flavour=row["server__flavour"], version=row["server__version"])
    return {
        "server": str(server),
        "server program": row["server__digest"][:12],
        "driver": row["driver_version"],
        **{fact_name(name): text for name, text in comparable_facts(row["fingerprint"]).items()},
        "binary log": row["log_bin"] or UNKNOWN,
        "page size": row["page_size"] or UNKNOWN,
    }


def _differences(then: Mapping[str, str], now: Mapping[str, str]) -> tuple[Difference, ...]:
    found = tuple(
        Difference(name, then.get(name, UNKNOWN), now.get(name, UNKNOWN))
        for name in {**now, **then}
        if then.get(name, UNKNOWN) != now.get(name, UNKNOWN)
    )
    # Another version is another program anyhow.
    is_other_version = any(one.fact == "server" for one in found)
    return tuple(one for one in found if not (is_other_version and one.fact == "server program"))

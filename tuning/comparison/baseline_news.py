"""Hosts that have become slower lately, over all devices in use."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import exp

from django.db.models import Avg, Max
from django.db.models.functions import Ln
from django.utils import timezone

from benchmarks.models import Device
from tuning.comparison.baseline_history import MAX_STUDIES, line_token, runs_of_baselines
from tuning.statistics.change_points import Level, levels

#: For so long a change is news.
LATELY = timedelta(days=30)


@dataclass(frozen=True)
class Slowdown:
    """A device whose baseline completes less since a day; `level`: of its tpmP, with its ratio to
    the one before. `line`: the name of the baseline and load in the address of the history.
    """

    device: Device
    line: str
    since: datetime
    level: Level


@dataclass(frozen=True)
class _Point:
    """The geometric mean of a study's tpmP, as `baseline_history` has it."""

    at: datetime
    study: int
    key: str
    mean: float


def slowdowns() -> list[Slowdown]:
    """One for each device at most, newest first; in two queries, whatever their number."""
    since = timezone.now() - LATELY
    found: dict[int, tuple[str, datetime, Level]] = {}
    for (device, line), points in _points().items():
        newest = points[-1]
        if newest.at < since:
            continue
        # Only the series that goes on, as the history's own sentence.
        studies = sorted({point.study for point in points})[-MAX_STUDIES:]
        series = [one for one in points if one.key == newest.key and one.study >= studies[0]]
        last = levels([point.mean for point in series])[-1]
        begun = series[last.begin].at
        if last.ratio < 1 and begun >= since and (device not in found or found[device][1] < begun):
            found[device] = line, begun, last
    devices = Device.objects.select_related("host").in_bulk(found) if found else {}
    news = [Slowdown(devices[pk], *values) for pk, values in found.items()]
    return sorted(news, key=lambda one: one.since, reverse=True)


def _points() -> dict[tuple[int, str], list[_Point]]:
    """By device and line, oldest first."""
    rows = (
        runs_of_baselines()
        .filter(device__retired_at=None, device__host__retired_at=None)
        .filter(device__host__imported__isnull=True)
        .values_list(
            *("device", "candidate__config", "workload", "run__server__flavour"),
            *("run__comparability_key", "study"),
        )
        .annotate(at=Max("run__finished_at"), mean=Avg(Ln("run__tpmP")))
        .order_by("at", "study_id")
    )
    found: dict[tuple[int, str], list[_Point]] = defaultdict(list)
    for device, config, workload, flavour, key, study, at, mean in rows:
        found[device, line_token(config, workload, flavour)].append(
            _Point(at, study, key, exp(mean))
        )
    return found

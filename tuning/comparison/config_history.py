"""Everywhere a config ran, study by study, with its ratio to the baseline there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Any

from django.db.models import Q, QuerySet

from benchmarks.models import Config, Device, RunState, Workload
from tuning.models import RANKED_PURPOSES, Slot, Study
from tuning.results.baseline_runs import line_token
from tuning.statistics.analysis import Interval
from tuning.statistics.side_by_side import ratio_of

#: The newest of a config that was measured for years.
MAX_RESULTS = 100

_Key = tuple[int, int, int]  # ids of a study, a device and a workload


@dataclass(frozen=True)
class ConfigResult:
    """A config in one study, on one device with one workload; its figures are medians.

    `ratio`: of tpmP to the study's baseline within the blocks; None for the baseline itself and
    where nothing can be compared.
    """

    study: Study
    device: Device
    workload: Workload
    config: int
    candidate: int
    name: str
    is_baseline: bool
    runs: int
    last: datetime | None
    tpmP: float
    p95_ms: float | None
    server_path_length: float | None
    ratio: float | None
    interval: Interval | None

    @property
    def line(self) -> str:
        """As a baseline: its name in the address of the device's history."""
        return line_token(self.config, self.workload.pk, self.study.server.flavour)


def config_history(config: Config) -> list[ConfigResult]:
    """Newest first, at most MAX_RESULTS; in four queries whatever the number of runs."""
    newest = (
        _measured()
        .filter(candidate__config=config)
        .values_list("study", "device", "workload")
        .distinct()
        .order_by("-study_id", "device", "workload")[:MAX_RESULTS]
    )
    keys: set[_Key] = {(study, device, workload) for study, device, workload in newest}
    studies = {study for study, _, _ in keys}
    rows: dict[_Key, list[Mapping[str, Any]]] = defaultdict(list)
    baseline: dict[_Key, list[Mapping[str, Any]]] = defaultdict(list)
    for row in _measured().filter(study__in=studies).filter(_of(config)).values(*_COLUMNS):
        key = row["study"], row["device"], row["workload"]
        if row["candidate__config"] == config.pk and key in keys:
            rows[key].append(row)
        if row["candidate__is_baseline"]:
            baseline[key].append(row)
    named = Study.objects.select_related("host", "server").defer(*_UNUSED).in_bulk(studies)
    devices = Device.objects.in_bulk({device for _, device, _ in keys})
    workloads = Workload.objects.in_bulk({workload for _, _, workload in keys})
    return [
        _result(named[key[0]], devices[key[1]], workloads[key[2]], rows[key], baseline[key])
        for key in sorted(rows, key=lambda one: (-one[0], one[1], one[2]))
    ]


_COLUMNS = (
    "study",
    "device",
    "workload",
    "block",
    "purpose",
    "candidate",
    "candidate__name",
    "candidate__config",
    "candidate__is_baseline",
    "run__tpmP",
    "run__p95_ms",
    "run__server_path_length",
    "run__finished_at",
    "run__comparability_key",
)


# Of each of many studies: what its host has may be tens of kilobytes.
_UNUSED = "host__inventory", "host__datasets", "host__imported", "log_tail"


def _measured() -> QuerySet[Slot]:
    return Slot.objects.filter(
        run__state=RunState.OK,
        run__tpmP__gt=0,
        purpose__in=RANKED_PURPOSES,
    )


def _of(config: Config) -> Q:
    return Q(candidate__config=config) | Q(candidate__is_baseline=True)


def _result(
    study: Study,
    device: Device,
    workload: Workload,
    rows: list[Mapping[str, Any]],
    baseline: list[Mapping[str, Any]],
) -> ConfigResult:
    is_baseline = all(row["candidate__is_baseline"] for row in rows)
    compared = None if is_baseline else ratio_of(_blocks(baseline), _blocks(rows))
    keys = {row["run__comparability_key"] for row in (*rows, *baseline)}
    ratio, interval = compared if compared and len(keys) == 1 else (None, None)
    ended = [row["run__finished_at"] for row in rows if row["run__finished_at"]]
    return ConfigResult(
        study=study,
        device=device,
        workload=workload,
        config=rows[0]["candidate__config"],
        candidate=rows[0]["candidate"],
        name=rows[0]["candidate__name"],
        is_baseline=is_baseline,
        runs=len(rows),
        last=max(ended, default=None),
        tpmP=median(row["run__tpmP"] for row in rows),
        p95_ms=_median(rows, "run__p95_ms"),
        server_path_length=_median(rows, "run__server_path_length"),
        ratio=ratio,
        interval=interval,
    )


def _blocks(rows: list[Mapping[str, Any]]) -> dict[tuple[str, int], float]:
    blocks: dict[tuple[str, int], list[float]] = defaultdict(list)
    for row in rows:
        blocks[row["purpose"], row["block"]].append(row["run__tpmP"])
    # The median of a baseline's two runs is their mean.
    return {block: median(values) for block, values in blocks.items()}


def _median(rows: list[Mapping[str, Any]], name: str) -> float | None:
    known = [row[name] for row in rows if row[name] is not None]
    return median(known) if known else None

"""Everywhere a config ran, study by study, with its ratio to the baseline there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import NamedTuple

from django.db.models import Max, Q

from benchmarks.models import Config, Device, Workload
from tuning.comparison.measured import ranked_slots
from tuning.models import Study
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


def config_history(config: Config) -> list[ConfigResult]:
    """Newest first, at most MAX_RESULTS; in five queries whatever the number of runs."""
    newest = (
        ranked_slots()
        .filter(candidate__config=config)
        .values_list("study", "device", "workload")
        .annotate(last=Max("run__finished_at"))
        .order_by("-study_id", "device", "workload")[:MAX_RESULTS]
    )
    ended = {(study, device, workload): last for study, device, workload, last in newest}
    if not ended:
        return []
    studies = {study for study, _, _ in ended}
    rows: dict[_Key, list[_Row]] = defaultdict(list)
    baseline: dict[_Key, list[_Row]] = defaultdict(list)
    with_baselines = ranked_slots().filter(
        Q(candidate__config=config) | Q(candidate__is_baseline=True), study__in=studies
    )
    for row in map(_Row._make, with_baselines.values_list(*_COLUMNS)):
        key = row.study, row.device, row.workload
        if row.config == config.pk and key in ended:
            rows[key].append(row)
        if row.is_baseline:
            baseline[key].append(row)
    shown = Study.objects.select_related("host", "server").only(*_SHOWN).in_bulk(studies)
    devices = Device.objects.in_bulk({device for _, device, _ in ended})
    workloads = Workload.objects.in_bulk({workload for _, _, workload in ended})
    return [
        _result(
            *(shown[key[0]], devices[key[1]], workloads[key[2]]),
            *(last, rows[key], baseline[key]),
        )
        for key, last in ended.items()
        if key in rows
    ]


class _Row(NamedTuple):
    """A run of the config or of a baseline; `study` to `config` are ids."""

    study: int
    device: int
    workload: int
    candidate: int
    config: int
    name: str
    is_baseline: bool
    block: int
    purpose: str
    tpmP: float
    p95_ms: float | None
    server_path_length: float | None
    comparability_key: str


_COLUMNS = (
    *("study", "device", "workload", "candidate", "candidate__config", "candidate__name"),
    *("candidate__is_baseline", "block", "purpose"),
    *("run__tpmP", "run__p95_ms", "run__server_path_length", "run__comparability_key"),
)
_SHOWN = "name", "host__name", "server__flavour"


def _result(
    study: Study,
    device: Device,
    workload: Workload,
    last: datetime | None,
    rows: Sequence[_Row],
    baseline: Sequence[_Row],
) -> ConfigResult:
    is_baseline = all(row.is_baseline for row in rows)
    compared = None if is_baseline else ratio_of(_blocks(baseline), _blocks(rows))
    keys = {row.comparability_key for row in (*rows, *baseline)}
    ratio, interval = compared if compared and len(keys) == 1 else (None, None)
    return ConfigResult(
        study=study,
        device=device,
        workload=workload,
        config=rows[0].config,
        candidate=rows[0].candidate,
        name=rows[0].name,
        is_baseline=is_baseline,
        runs=len(rows),
        last=last,
        tpmP=median(row.tpmP for row in rows),
        p95_ms=_median(row.p95_ms for row in rows),
        server_path_length=_median(row.server_path_length for row in rows),
        ratio=ratio,
        interval=interval,
    )


def _blocks(rows: Iterable[_Row]) -> dict[tuple[str, int], float]:
    blocks: dict[tuple[str, int], list[float]] = defaultdict(list)
    for row in rows:
        blocks[row.purpose, row.block].append(row.tpmP)
    # The median of a baseline's two runs is their mean.
    return {block: median(values) for block, values in blocks.items()}


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None

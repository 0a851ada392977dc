"""The charts of the device comparison, and the figures of the paper that they repeat."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from django.db.models import F
from django.db.models.functions import Coalesce
from pydantic.dataclasses import dataclass

from advisor.charts.by_setting import BySetting, DeviceLine, by_setting_figure
from advisor.charts.figure import Figure
from advisor.charts.seconds import Line, seconds_figure
from advisor.charts.style import series_style
from benchmarks.counted import plural
from benchmarks.datafiles import STRICT, read_data_file
from benchmarks.drivers.workloads import TPCC
from benchmarks.models import Sample
from tuning.comparison.devices import DeviceComparison
from tuning.published.loader import whitepaper


@dataclass(frozen=True, config=STRICT)
class ChartWords:
    """A chart: `field` is one of `Cell`, or of Sample for those over time; `axis` has the unit."""

    key: str
    title: str
    figures: tuple[int, ...]
    kind: Literal["by connections", "over time"]
    field: str
    axis: str
    unit: str
    note: str = ""
    scale: float = 1.0

    @property
    def repeats(self) -> str:
        """The whitepaper's figures, as people cite them."""
        numbers = " and ".join(map(str, self.figures))
        return f"{plural(len(self.figures), 'Figure')} {numbers}"


CHARTS = read_data_file(Path(__file__).with_name("device_charts.yaml"), tuple[ChartWords, ...])


def comparison_figures(
    comparison: DeviceComparison, connections: int | None, with_published: bool
) -> dict[str, Figure]:
    """The charts that have data, by key."""
    number = connections_of(comparison, connections)
    samples = _samples(comparison, number)
    figures: dict[str, Figure | None] = {}
    for words in CHARTS:
        if words.kind == "by connections":
            series = _by_connections(comparison, words, with_published)
            figures[words.key] = by_setting_figure(series)
        elif lines := _over_seconds(comparison, number, samples, words.field):
            figures[words.key] = seconds_figure(lines, words.unit, words.axis, may_be_log=True)
    return {key: figure for key, figure in figures.items() if figure is not None}


def connections_of(comparison: DeviceComparison, asked: int | None) -> int | None:
    """The number of connections of the charts over time: the requested one, if it was measured."""
    return asked if asked in comparison.connections else comparison.usual_connections


def _by_connections(
    comparison: DeviceComparison, words: ChartWords, with_published: bool
) -> BySetting:
    lines = []
    for index, device in enumerate(comparison.devices):
        points = {}
        for number in comparison.connections:
            cell = comparison.cell(device, number)
            found = getattr(cell, words.field) if cell else None
            if found is not None:
                points[number] = found
        name, is_emulated = comparison.names[device.pk], device.emulation is not None
        lines.append(DeviceLine(name, series_style(index), is_emulated, points))
    is_tpcc = comparison.run_set.workload.name == TPCC
    layer = _layer(words.key) if with_published and is_tpcc else {}
    return BySetting(words.axis, words.unit, lines, layer, words.scale)


def _layer(key: str) -> Mapping[str, Mapping[int, float | None]]:
    """Return the published figures for that chart, by what follows their source in the legend."""
    layer: Mapping[str, Mapping[int, float | None]] = {}
    if key == "throughput":
        layer = whitepaper().throughput
    elif key == "path-length":
        layer = whitepaper().path_lengths
    note = " (computed)" if key == "path-length" else ""
    return {f"{note}: {device}": line for device, line in layer.items()}


# By run and name a figure for each measured second.
Samples = Mapping[int, Mapping[str, Sequence[float | None]]]
_OF_A_SECOND = ("completed", "p95_ms", "read_iops", "write_iops")


def _samples(comparison: DeviceComparison, connections: int | None) -> Samples:
    """The measured seconds of each device's median run."""
    runs = [
        cell.middle_run
        for device in comparison.devices
        if connections is not None and (cell := comparison.cell(device, connections))
    ]
    if not runs:
        return {}
    found: dict[int, list[list[float | None]]] = defaultdict(list)
    iops = {
        f"{what}_iops": F(f"data_{what}_iops") + Coalesce(f"log_{what}_iops", 0.0)
        for what in ("read", "write")
    }
    seconds = Sample.objects.filter(run__in=runs, second__gte=0).order_by("run_id", "second")
    for run, *figures in seconds.annotate(**iops).values_list("run_id", *_OF_A_SECOND):
        found[run].append(figures)
    return {
        run: dict(zip(_OF_A_SECOND, zip(*rows, strict=True), strict=True))
        for run, rows in found.items()
    }


def _over_seconds(
    comparison: DeviceComparison, connections: int | None, samples: Samples, field: str
) -> list[Line]:
    lines = []
    for index, device in enumerate(comparison.devices):
        cell = None if connections is None else comparison.cell(device, connections)
        values = samples.get(cell.middle_run, {}).get(field, ()) if cell else ()
        if any(value is not None for value in values):
            name, style = comparison.names[device.pk], series_style(index)
            lines.append(Line(name, style.colour, style.dash, range(len(values)), values))
    return lines

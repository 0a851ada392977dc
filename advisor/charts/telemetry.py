"""The charts of a run's page: its telemetry of each second."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Count

from advisor.charts.figure import Figure
from advisor.charts.seconds import Line, seconds_figure
from advisor.charts.style import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, series_style
from benchmarks.models import Run


@dataclass(frozen=True)
class Chart:
    """A chart of a run; lines: label, colour and field of Sample. scale: from field to unit."""

    title: str
    unit: str
    lines: tuple[tuple[str, str, str], ...]
    stacked: bool = False
    scale: float = 1.0


def _of_disks(unit: str) -> tuple[tuple[str, str, str], ...]:
    """Return lines for data and log device; `unit` ends the names of their fields."""
    names = ("data read", "data write", "log read", "log write")
    return tuple(
        (name, colour, f"{name.replace(' ', '_')}_{unit}")
        for name, colour in zip(names, (BLUE, ORANGE, GREEN, PURPLE), strict=True)
    )


_CPU = (
    ("user", BLUE, "cpu_user_pct"),
    ("system", ORANGE, "cpu_sys_pct"),
    ("I/O wait", GREY, "cpu_iowait_pct"),
    ("steal", RED, "cpu_steal_pct"),
)
CHARTS = {
    "completed": Chart("Transactions", "per second", (("transactions", BLUE, "completed"),)),
    "p95": Chart("Response time of transactions", "ms (p95)", (("p95", ORANGE, "p95_ms"),)),
    "cpu": Chart("CPU of the host", "% of all CPUs", _CPU, stacked=True),
    "server_cores": Chart("CPU of the server", "cores", (("mysqld", GREEN, "server_cores"),)),
    "server_rss": Chart(
        "Memory of the server", "MB", (("resident", GREEN, "server_rss_bytes"),), scale=1e-6
    ),
    "iops": Chart("I/O operations", "per second", _of_disks("iops")),
    "throughput": Chart("I/O throughput", "MB/s", _of_disks("mb_s")),
}
_FIELDS = tuple(field for chart in CHARTS.values() for *_, field in chart.lines)


def run_charts(run: Run) -> dict[str, Chart]:
    """Return the charts that have data; the seconds of the run are counted, not read."""
    seen = run.samples.aggregate(**{name: Count(name) for name in _FIELDS})
    return {
        key: chart
        for key, chart in CHARTS.items()
        if any(seen[field] for *_, field in chart.lines)
    }


def telemetry_figures(run: Run) -> dict[str, Figure]:
    """Return the charts of a run by key, from its seconds, of which a day has 86,400."""
    return sampled_figures(run.samples.values_list("second", *_FIELDS, named=True))


def sampled_figures(samples: Iterable[Any]) -> dict[str, Figure]:
    """Draw samples in order; a line without any value, such as of no log device, is left out."""
    rows = list(samples)
    seconds = [row.second for row in rows]
    figures = {}
    for key, chart in CHARTS.items():
        columns = [
            (label, colour, [_scaled(getattr(row, field), chart.scale) for row in rows])
            for label, colour, field in chart.lines
        ]
        known = [one for one in columns if any(value is not None for value in one[2])]
        lines = [
            Line(label, colour, series_style(at).dash, seconds, values)
            for at, (label, colour, values) in enumerate(known)
        ]
        if lines:
            figures[key] = seconds_figure(lines, chart.unit, chart.unit, stacked=chart.stacked)
    return figures


def _scaled(value: float | None, scale: float) -> float | None:
    return value if value is None or scale == 1.0 else value * scale

"""A run's charts: telemetry per second, the warm-up shaded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Count

from advisor.charts.figure import Figure
from advisor.charts.palette import (
    BAND,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    RED,
    faded,
    series_style,
)
from advisor.charts.thinning import kept_places
from benchmarks.models import Run


@dataclass(frozen=True)
class Line:
    """One line of a chart, a value per second (None where nothing was counted)."""

    name: str
    colour: str
    values: list[float | None]


@dataclass(frozen=True)
class TelemetrySeries:
    """One chart: seconds relative to the start of measuring (warm-up is negative)."""

    title: str
    unit: str
    seconds: list[int]
    lines: list[Line]
    stacked: bool = False

    @property
    def warmup(self) -> tuple[int, int] | None:
        """First and last second of the warm-up; None without one."""
        first = min(self.seconds, default=0)
        return (first, 0) if first < 0 else None


# Factors for fields that are stored in another unit.
SCALES = {"server_rss_bytes": 1e-6}


def _of_disks(unit: str) -> tuple[tuple[str, str, str], ...]:
    """Lines for data and log device; `unit` ends the names of their fields."""
    names = ("data read", "data write", "log read", "log write")
    return tuple(
        (name, colour, f"{name.replace(' ', '_')}_{unit}")
        for name, colour in zip(names, (BLUE, ORANGE, GREEN, PURPLE), strict=True)
    )


# Key, title, unit, whether lines are stacked, and per line: label, colour, field of Sample.
CHARTS: tuple[tuple[str, str, str, bool, tuple[tuple[str, str, str], ...]], ...] = (
    ("new_orders", "New-Orders", "per second", False, (("New-Orders", BLUE, "new_orders"),)),
    ("p95", "Response time of New-Order", "ms (p95)", False, (("p95", ORANGE, "p95_ms"),)),
    (
        "cpu",
        "CPU of the host",
        "% of all CPUs",
        True,
        (
            ("user", BLUE, "cpu_user_pct"),
            ("system", ORANGE, "cpu_sys_pct"),
            ("I/O wait", GREY, "cpu_iowait_pct"),
            ("steal", RED, "cpu_steal_pct"),
        ),
    ),
    ("server_cores", "CPU of the server", "cores", False, (("mysqld", GREEN, "server_cores"),)),
    (
        "server_rss",
        "Memory of the server",
        "MB",
        False,
        (("resident", GREEN, "server_rss_bytes"),),
    ),
    ("iops", "I/O operations", "per second", False, _of_disks("iops")),
    ("throughput", "I/O throughput", "MB/s", False, _of_disks("mb_s")),
)


_FIELDS = tuple(name for *_, lines in CHARTS for _, _, name in lines)


def series_of_run(run: Run) -> dict[str, TelemetrySeries]:
    """The charts of a run by key, from its seconds, of which a day has 86,400."""
    return telemetry_series(run.samples.values_list("second", *_FIELDS, named=True))


def drawn_of_run(run: Run) -> list[tuple[str, str, str]]:
    """Key, title and unit of the charts of a run; its seconds are counted, not read."""
    seen = run.samples.aggregate(**{name: Count(name) for name in _FIELDS})
    return [
        (key, title, unit)
        for key, title, unit, _, lines in CHARTS
        if any(seen[name] for _, _, name in lines)
    ]


def telemetry_series(samples: Iterable[Any]) -> dict[str, TelemetrySeries]:
    """The charts by key; lines without any value (no log device, say) are left out.

    `samples`: in order, each with the figures of a Sample as attributes.
    """
    rows = list(samples)
    seconds = [row.second for row in rows]
    charts = {}
    for key, title, unit, stacked, lines in CHARTS:
        drawn = [
            Line(label, colour, [_scaled(row, name) for row in rows])
            for label, colour, name in lines
        ]
        drawn = [line for line in drawn if any(value is not None for value in line.values)]
        if drawn:
            charts[key] = TelemetrySeries(title, unit, seconds, drawn, stacked)
    return charts


def _scaled(row: Any, name: str) -> float | None:
    value: float | None = getattr(row, name)
    return value * SCALES[name] if value is not None and name in SCALES else value


def _sums(lines: list[Line]) -> list[float | None]:
    return [
        sum(known) if (known := [value for value in values if value is not None]) else None
        for values in zip(*(line.values for line in lines), strict=True)
    ]


def _rounded(value: float | None) -> float | None:
    """Five significant digits: what a chart can show, in half the bytes."""
    return None if value is None else float(f"{value:.5g}")


def telemetry_figure(series: TelemetrySeries) -> Figure:
    """Lines (or stacked areas) over the seconds of the run, the warm-up as a grey band.

    A long run is thinned (`kept_places`): stacked areas by their sum, which they share.
    """
    figure = Figure()
    together = kept_places(_sums(series.lines)) if series.stacked else []
    for index, line in enumerate(series.lines):
        kept = together if series.stacked else kept_places(line.values)
        area = (
            {"stackgroup": "all", "fillcolor": faded(line.colour, 0.45)} if series.stacked else {}
        )
        figure.add_scatter(
            x=[series.seconds[at] for at in kept],
            y=[_rounded(line.values[at]) for at in kept],
            name=line.name,
            mode="lines",
            line={"color": line.colour, "width": 1.5, "dash": series_style(index).dash},
            hovertemplate=f"%{{y:,.4~g}} {series.unit}<extra>{line.name}</extra>",
            **area,
        )
    if series.warmup:
        start, end = series.warmup
        figure.add_vrect(x0=start, x1=end, fillcolor=BAND, line_width=0, layer="below")
        figure.add_annotation(
            text="warm-up",
            font_size=11,
            showarrow=False,
            x=start,
            xanchor="left",
            y=1,
            yref="paper",
            yanchor="bottom",
        )
    figure.update_xaxes(title_text="seconds since the start of the measurement", zeroline=False)
    figure.update_yaxes(title_text=series.unit, rangemode="tozero")
    figure.update_layout(
        showlegend=len(series.lines) > 1,
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.0, "xanchor": "right", "x": 1},
        margin={"l": 8, "r": 8, "t": 30, "b": 8},
        hovermode="x unified",
        height=260,
    )
    return figure

"""Results of a probe: IOPS and latency by queue depth, latency by part, commit latency."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from advisor.charts.axes import log_ticks
from advisor.charts.figure import Figure
from advisor.charts.style import BLUE, GREEN, ORANGE, PURPLE, faded, lay_out
from benchmarks.probe.jobs import Pattern
from benchmarks.probe.result import JobResult, ProbeResult

_HEIGHT = 300
WORDS = {
    Pattern.RANDOM_READ: "Random read",
    Pattern.RANDOM_WRITE: "Random write",
    Pattern.SEQUENTIAL_READ: "Sequential read",
    Pattern.SEQUENTIAL_WRITE: "Sequential write",
}
_COLOURS = {Pattern.RANDOM_READ: BLUE, Pattern.RANDOM_WRITE: ORANGE}
_PERCENTILES = {"p50": (GREEN, "circle"), "p95": (BLUE, "square"), "p99": (ORANGE, "diamond")}
# Part of a latency, its colour and the field of LatencySplit that holds it.
_PARTS = (
    ("user (the program)", GREEN, "user_us"),
    ("kernel", BLUE, "kernel_us"),
    ("queue (block layer)", PURPLE, "queue_us"),
    ("device", ORANGE, "device_us"),
)


@dataclass(frozen=True)
class DepthLine:
    """Values by queue depth, shallow first; a dashed line is of buffered requests."""

    name: str
    colour: str
    depths: list[int]
    values: list[float]
    dashed: bool = False
    symbol: str = "circle"


def probe_figures(found: ProbeResult) -> dict[str, Figure]:
    """Return the charts that have data, by key."""
    figures = {
        "iops": _depth_figure(iops_lines(found), "IOPS", "IOPS (log scale)"),
        "split": _split_figure(found),
        "commit": _commit_figure(found),
    }
    for key, pattern in (
        ("read-latency", Pattern.RANDOM_READ),
        ("write-latency", Pattern.RANDOM_WRITE),
    ):
        lines = latency_lines(found, pattern)
        figures[key] = _depth_figure(lines, "µs", "latency, µs (log scale)")
    return {key: figure for key, figure in figures.items() if figure is not None}


def iops_lines(found: ProbeResult) -> list[DepthLine]:
    """Return IOPS of random requests of 16 KB: direct, and buffered if that was measured too."""
    lines = []
    for way in ("direct", "buffered"):
        for pattern, colour in _COLOURS.items():
            jobs = found.by_depth(pattern, direct=way == "direct")
            values = [job.iops for job in jobs]
            name = f"{WORDS[pattern]}, {way}"
            lines.append(DepthLine(name, colour, _depths(jobs), values, way == "buffered"))
    return [line for line in lines if line.values]


def latency_lines(found: ProbeResult, pattern: Pattern) -> list[DepthLine]:
    """Return percentiles of 16 KB requests in microseconds; direct ones if possible."""
    jobs = found.by_depth(pattern)
    lines = [
        DepthLine(
            name,
            colour,
            _depths(jobs),
            [getattr(job.latency, name) for job in jobs],
            symbol=symbol,
        )
        for name, (colour, symbol) in _PERCENTILES.items()
    ]
    return lines if jobs else []


def split_jobs(found: ProbeResult) -> list[tuple[str, JobResult]]:
    """Return the jobs whose latency is split: requests at low load, and at queue depth 1."""
    jobs = []
    for pattern in _COLOURS:
        low = found.low_load(pattern)
        if low is not None:
            jobs.append((f"{WORDS[pattern]}, low load", low))
        single = (job for job in found.by_depth(pattern) if job.job.queue_depth == 1)
        jobs += [(f"{WORDS[pattern]}, depth 1", job) for job in single]
    return jobs


def _depths(jobs: Sequence[JobResult]) -> list[int]:
    return [job.job.queue_depth for job in jobs]


def _depth_figure(lines: Sequence[DepthLine], unit: str, title: str) -> Figure | None:
    """Draw lines on logarithmic axes: depths quadruple, devices differ."""
    if not lines:
        return None
    figure = Figure()
    for line in lines:
        figure.add_scatter(
            x=line.depths,
            y=line.values,
            name=line.name,
            mode="lines+markers",
            line={"color": line.colour, "width": 2, "dash": "dot" if line.dashed else "solid"},
            marker={"size": 8, "symbol": "circle-open" if line.dashed else line.symbol},
            hovertemplate=f"depth %{{x}}: %{{y:,.4~g}} {unit}<extra>{line.name}</extra>",
        )
    depths = sorted({depth for line in lines for depth in line.depths})
    texts = [str(depth) for depth in depths]
    figure.update_xaxes(title_text="queue depth", type="log", tickvals=depths, ticktext=texts)
    values = [value for line in lines for value in line.values]
    figure.update_yaxes(title_text=title, type="log", **log_ticks(values))
    return lay_out(figure, _HEIGHT, legend=len(lines) > 1)


def _split_figure(found: ProbeResult) -> Figure | None:
    """Draw mean microseconds of one request: a bar with its parts in the order of processing."""
    bars = [(name, job.split) for name, job in split_jobs(found) if job.split is not None]
    if not bars:
        return None
    figure = Figure()
    # The disk's counters start before the block layer's queue, so the device's part includes it.
    has_queue_time = any(split.source == "tracepoints" for _, split in bars)
    for part, colour, field in _PARTS:
        values = [getattr(split, field) for _, split in bars]
        if all(value is None for value in values):
            continue
        label = "device, incl. queue" if part == "device" and not has_queue_time else part
        figure.add_bar(
            orientation="h",
            y=[name for name, _ in bars],
            x=values,
            name=label,
            marker={"color": faded(colour, 0.75), "line": {"color": colour, "width": 1}},
            customdata=[split.source for _, split in bars],
            hovertemplate=f"%{{y}}<br>%{{x:,.4~g}} µs (%{{customdata}})<extra>{label}</extra>",
        )
    figure.update_xaxes(title_text="mean latency of one request, µs")
    figure.update_yaxes(autorange="reversed", showgrid=False)
    figure.update_layout(barmode="stack", bargap=0.35)
    return _in_order(figure)


def _commit_figure(found: ProbeResult) -> Figure | None:
    """Draw percentiles of one flush after a write of 4 KB, by the call that flushes."""
    figure = Figure()
    for sync, colour in (("fsync", BLUE), ("fdatasync", GREEN)):
        job = found.commit(sync)
        if job is None or job.flush is None:
            continue
        values = [getattr(job.flush, name) for name in _PERCENTILES]
        figure.add_bar(
            x=list(_PERCENTILES),
            y=values,
            name=sync,
            text=[f"{value:,.0f}" for value in values],
            textposition="outside",
            cliponaxis=False,
            marker={"color": faded(colour, 0.6), "line": {"color": colour, "width": 1}},
            hovertemplate=f"%{{x}}: %{{y:,.4~g}} µs<extra>{sync}</extra>",
        )
    if not figure.data:
        return None
    figure.update_xaxes(showgrid=False)
    figure.update_yaxes(title_text="time of one flush, µs", rangemode="tozero")
    figure.update_layout(barmode="group", bargap=0.3)
    return _in_order(figure)


def _in_order(figure: Figure) -> Figure:
    lay_out(figure, _HEIGHT)
    figure.update_layout(legend={"traceorder": "normal"})
    return figure

"""Results of a probe: IOPS and latency by queue depth, latency by part, commit latency."""

from __future__ import annotations

from collections.abc import Sequence

from advisor.charts.axes import log_ticks
from advisor.charts.figure import Figure, lay_out
from advisor.charts.style import BLUE, GREEN, ORANGE, PURPLE, faded
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


def probe_figures(found: ProbeResult) -> dict[str, Figure]:
    """Return the charts that have data, by key."""
    figures = {
        "iops": _iops_figure(found),
        "split": _split_figure(found),
        "commit": _commit_figure(found),
        "read-latency": _latency_figure(found, Pattern.RANDOM_READ),
        "write-latency": _latency_figure(found, Pattern.RANDOM_WRITE),
    }
    return {key: figure for key, figure in figures.items() if figure.data}


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


def _iops_figure(found: ProbeResult) -> Figure:
    """Draw IOPS of random requests of 16 KB; buffered ones, where measured, are dashed."""
    figure = Figure()
    for way, dash, symbol in (("direct", "solid", "circle"), ("buffered", "dot", "circle-open")):
        for pattern, colour in _COLOURS.items():
            jobs = found.by_depth(pattern, direct=way == "direct")
            values = [job.iops for job in jobs]
            _add_line(figure, f"{WORDS[pattern]}, {way}", jobs, values, (colour, dash, symbol))
    return _by_depth(figure, "IOPS (log scale)")


def _latency_figure(found: ProbeResult, pattern: Pattern) -> Figure:
    """Draw percentiles of 16 KB requests in microseconds; direct ones if possible."""
    figure, jobs = Figure(), found.by_depth(pattern)
    for name, (colour, symbol) in _PERCENTILES.items():
        values = [getattr(job.latency, name) for job in jobs]
        _add_line(figure, name, jobs, values, (colour, "solid", symbol))
    return _by_depth(figure, "latency, µs (log scale)")


def _add_line(
    figure: Figure,
    name: str,
    jobs: Sequence[JobResult],
    values: Sequence[float],
    look: tuple[str, str, str],
) -> None:
    """Draw values by queue depth, if there are any; look: colour, dash, symbol."""
    colour, dash, symbol = look
    if jobs:
        figure.add_scatter(
            x=[job.job.queue_depth for job in jobs],
            y=values,
            name=name,
            mode="lines+markers",
            line={"color": colour, "width": 2, "dash": dash},
            marker={"size": 8, "symbol": symbol},
            hovertemplate=f"depth %{{x}}: %{{y:,.4~g}}<extra>{name}</extra>",
        )


def _by_depth(figure: Figure, title: str) -> Figure:
    """Lay out lines on logarithmic axes: depths quadruple, devices differ."""
    depths = sorted({depth for line in figure.data for depth in line["x"]})
    figure.update_axes("x", type="log", tickvals=depths, ticktext=[str(depth) for depth in depths])
    values = [value for line in figure.data for value in line["y"]]
    figure.update_axes("y", type="log", **log_ticks(values))
    return lay_out(figure, _HEIGHT, x="queue depth", y=title, legend=len(figure.data) > 1)


def _split_figure(found: ProbeResult) -> Figure:
    """Draw mean microseconds of one request: a bar with its parts in the order of processing."""
    bars = [(name, job.split) for name, job in split_jobs(found) if job.split is not None]
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
    figure.update_axes("y", autorange="reversed", showgrid=False)
    figure.update(barmode="stack", bargap=0.35, legend={"traceorder": "normal"})
    return lay_out(figure, _HEIGHT, x="mean latency of one request, µs")


def _commit_figure(found: ProbeResult) -> Figure:
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
    figure.update_axes("x", showgrid=False)
    figure.update_axes("y", rangemode="tozero")
    figure.update(barmode="group", bargap=0.3, legend={"traceorder": "normal"})
    return lay_out(figure, _HEIGHT, y="time of one flush, µs")

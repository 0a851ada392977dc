"""Results of a probe: IOPS and latency by queue depth, latency by part, commit latency."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from advisor.charts.axes import log_ticks
from advisor.charts.figure import Figure
from advisor.charts.style import BLUE, GREEN, GREY, ORANGE, PURPLE, faded, lay_out
from benchmarks.probe.jobs import Pattern
from benchmarks.probe.result import JobResult, Latency, ProbeResult

HEIGHT = 300
WORDS = {
    Pattern.RANDOM_READ: "Random read",
    Pattern.RANDOM_WRITE: "Random write",
    Pattern.SEQUENTIAL_READ: "Sequential read",
    Pattern.SEQUENTIAL_WRITE: "Sequential write",
}
_COLOURS = {Pattern.RANDOM_READ: BLUE, Pattern.RANDOM_WRITE: ORANGE}
_PERCENTILES = (("p50", GREEN, "circle"), ("p95", BLUE, "square"), ("p99", ORANGE, "diamond"))
# Part of a latency, its colour and the field of LatencySplit that holds it.
_PARTS = (
    ("user (the program)", GREEN, "user_us"),
    ("kernel", BLUE, "kernel_us"),
    ("queue (block layer)", PURPLE, "queue_us"),
    ("device", ORANGE, "device_us"),
)


@dataclass(frozen=True)
class DepthLine:
    """Values by queue depth, shallow first; dashed if buffered."""

    name: str
    colour: str
    depths: list[int]
    values: list[float]
    dashed: bool = False
    symbol: str = "circle"


@dataclass(frozen=True)
class SplitBar:
    """Mean microseconds of one request by part; a part that is not separated is missing."""

    name: str
    parts: dict[str, float]
    source: str


def iops_series(found: ProbeResult) -> list[DepthLine]:
    """Random reads and writes of 16 KB by queue depth, IOPS: direct, and buffered if that was
    measured too.
    """
    lines = []
    for direct in (True, False):
        for pattern, colour in _COLOURS.items():
            jobs = found.by_depth(pattern, direct=direct)
            way = "direct" if direct else "buffered"
            lines.append(
                _line(f"{WORDS[pattern]}, {way}", colour, jobs, [job.iops for job in jobs], direct)
            )
    return [line for line in lines if line.values]


def latency_series(found: ProbeResult, pattern: Pattern) -> list[DepthLine]:
    """p50, p95 and p99 of 16 KB requests by queue depth, microseconds; direct if possible."""
    jobs = found.by_depth(pattern)
    if not jobs:
        return []
    return [
        DepthLine(
            name,
            colour,
            [job.job.queue_depth for job in jobs],
            [getattr(job.latency, name) for job in jobs],
            symbol=symbol,
        )
        for name, colour, symbol in _PERCENTILES
    ]


def split_jobs(found: ProbeResult) -> list[tuple[str, JobResult]]:
    """The jobs whose latency is split: single requests at low load, and at queue depth 1."""
    jobs = []
    for pattern in _COLOURS:
        low = found.low_load(pattern)
        if low is not None:
            jobs.append((f"{WORDS[pattern]}, low load", low))
        jobs += [
            (f"{WORDS[pattern]}, depth 1", job)
            for job in found.by_depth(pattern)
            if job.job.queue_depth == 1
        ]
    return jobs


def split_series(found: ProbeResult) -> list[SplitBar]:
    """The bars that have figures; `split_missing` says why others have none."""
    bars = []
    for name, job in split_jobs(found):
        if job.split is not None:
            values = {part: getattr(job.split, field) for part, _, field in _PARTS}
            known = {part: value for part, value in values.items() if value is not None}
            bars.append(SplitBar(name, known, job.split.source))
    return bars


def commit_series(found: ProbeResult) -> dict[str, Latency]:
    """The time of one flush after a write of 4 KB, by the call that flushes; microseconds."""
    flushes = {}
    for sync in ("fsync", "fdatasync"):
        job = found.commit(sync)
        if job is not None and job.flush is not None:
            flushes[sync] = job.flush
    return flushes


def probe_figures(found: ProbeResult) -> dict[str, Figure]:
    """The charts that have data, by key."""
    figures = {}
    iops = iops_series(found)
    if iops:
        figures["iops"] = depth_figure(iops, "IOPS", "IOPS (log scale)")
    for key, pattern in (
        ("read-latency", Pattern.RANDOM_READ),
        ("write-latency", Pattern.RANDOM_WRITE),
    ):
        lines = latency_series(found, pattern)
        if lines:
            figures[key] = depth_figure(lines, "µs", "latency, µs (log scale)")
    bars = split_series(found)
    if bars:
        figures["split"] = split_figure(bars)
    flushes = commit_series(found)
    if flushes:
        figures["commit"] = commit_figure(flushes)
    return figures


def depth_figure(lines: Iterable[DepthLine], unit: str, title: str) -> Figure:
    """Lines over the queue depth, both axes logarithmic: depths quadruple, devices differ."""
    lines = list(lines)
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
    figure.update_xaxes(
        title_text="queue depth",
        type="log",
        tickvals=depths,
        ticktext=[str(depth) for depth in depths],
    )
    values = [value for line in lines for value in line.values]
    figure.update_yaxes(title_text=title, title_standoff=10, type="log", **log_ticks(values))
    return _laid_out(figure, legend=len(lines) > 1)


def split_figure(bars: list[SplitBar]) -> Figure:
    """One horizontal bar per kind of request, with its parts in the order of processing."""
    figure = Figure()
    names = [bar.name for bar in bars]
    # The disk's counters start before the block layer's queue, so the device's part includes it.
    has_queue_time = any(bar.source == "tracepoints" for bar in bars)
    for part, colour, _ in _PARTS:
        if any(part in bar.parts for bar in bars):
            label = "device, incl. queue" if part == "device" and not has_queue_time else part
            figure.add_bar(
                orientation="h",
                y=names,
                x=[bar.parts.get(part) for bar in bars],
                name=label,
                marker={"color": faded(colour, 0.75), "line": {"color": colour, "width": 1}},
                customdata=[bar.source for bar in bars],
                hovertemplate=f"%{{y}}<br>%{{x:,.4~g}} µs (%{{customdata}})<extra>{label}</extra>",
            )
    figure.update_xaxes(title_text="mean latency of one request, µs")
    figure.update_yaxes(autorange="reversed", showgrid=False)
    figure.update_layout(barmode="stack", bargap=0.35)
    return _laid_out(figure)


def commit_figure(flushes: dict[str, Latency]) -> Figure:
    """p50, p95 and p99 of a flush, side by side."""
    figure = Figure()
    colours = {"fsync": BLUE, "fdatasync": GREEN}
    for sync, latency in flushes.items():
        values = [getattr(latency, name) for name, *_ in _PERCENTILES]
        colour = colours.get(sync, GREY)
        figure.add_bar(
            x=[name for name, *_ in _PERCENTILES],
            y=values,
            name=sync,
            text=[f"{value:,.0f}" for value in values],
            textposition="outside",
            cliponaxis=False,
            marker={"color": faded(colour, 0.6), "line": {"color": colour, "width": 1}},
            hovertemplate=f"%{{x}}: %{{y:,.4~g}} µs<extra>{sync}</extra>",
        )
    figure.update_xaxes(showgrid=False)
    figure.update_yaxes(title_text="time of one flush, µs", rangemode="tozero")
    figure.update_layout(barmode="group", bargap=0.3)
    return _laid_out(figure)


def _line(
    name: str, colour: str, jobs: list[JobResult], values: list[float], direct: bool
) -> DepthLine:
    depths = [job.job.queue_depth for job in jobs]
    return DepthLine(name, colour, depths, values, dashed=not direct)


def _laid_out(figure: Figure, *, legend: bool = True) -> Figure:
    lay_out(figure, HEIGHT, legend=legend)
    figure.update_layout(legend={"traceorder": "normal"})
    return figure

"""Finished runs as input for the statistics, and the arrays made from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import log
from statistics import fmean
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.outcomes import Outcome

Floats = NDArray[np.float64]


class Metric(StrEnum):
    """A metric by which candidates are ranked; the values are fields of `Observation`."""

    THROUGHPUT = "throughput"
    P95 = "p95_ms"
    SERVER_PATH_LENGTH = "server_path_length"

    @property
    def more_is_better(self) -> bool:
        return self is Metric.THROUGHPUT

    def is_better(self, value: float, other: float) -> bool:
        """Whether a figure or ratio is better than another."""
        return value > other if self.more_is_better else value < other


class Observation(NamedTuple):
    """One finished run. Times in ms, path lengths in cycles per transaction; None is "no figure".

    `outcome` is a value of `benchmarks.outcomes.Outcome`; only figures of "ok" runs count.
    replicate: 0, or 1 for the second run of the baseline in a block (A/A); others are refused.
    throughput_at_most: the upper bound of a run that was cut short; it has no other figure.
    started_at: seconds of any clock that all runs share; needed to detect drift.
    """

    candidate: str
    block: int
    outcome: str
    throughput: float | None = None
    p95_ms: float | None = None
    p99_ms: float | None = None
    max_ms: float | None = None
    server_path_length: float | None = None
    host_path_length: float | None = None
    replicate: int = 0
    throughput_at_most: float | None = None
    started_at: float | None = None

    @property
    def counts(self) -> bool:
        """Whether the run may enter a ranking."""
        return self.outcome == Outcome.OK and self.throughput is not None and self.throughput > 0

    @property
    def is_cut_short(self) -> bool:
        """Whether the run was stopped early: it has an upper bound and no figure."""
        return (
            self.throughput_at_most is not None and self.throughput_at_most > 0 and not self.counts
        )

    def figure(self, metric: Metric) -> float | None:
        """The metric's value if the run counts and the value is above zero."""
        value: float | None = getattr(self, metric.value)
        return value if self.counts and value is not None and value > 0 else None


@dataclass(frozen=True)
class Table:
    """One metric of one study as an array, oriented so that more is better.

    names: the candidates, the baseline first. blocks: the numbers of the blocks.
    y: (rows, blocks), logs; rows 0 and 1 are the baseline's two runs, row 2 the first other
        candidate. NaN is "no figure", also for every run of a candidate that was cut short.
    at_most: for each candidate that was cut short, the log of the upper bound by index of the
        block.
    """

    names: tuple[str, ...]
    blocks: tuple[int, ...]
    y: Floats
    at_most: Mapping[str, Mapping[int, float]] = field(default_factory=dict)

    @property
    def treatment(self) -> NDArray[np.int64]:
        """(rows,), the index of each row in `names`."""
        return np.array([0, *range(len(self.names))])


def table(
    observations: Iterable[Observation],
    baseline: str,
    candidates: Sequence[str] = (),
    metric: Metric = Metric.THROUGHPUT,
) -> Table:
    """The runs of one board by one metric. Repeated runs are averaged as logs.

    Raises ValueError for a replicate other than 0 or 1.
    """
    seen = list(observations)
    if any(run.replicate not in (0, 1) for run in seen):
        raise ValueError("a block has a first and a second baseline: replicate is 0 or 1")
    others = dict.fromkeys([*candidates, *(run.candidate for run in seen)])
    names = (baseline, *(name for name in others if name != baseline))
    blocks = tuple(sorted({run.block for run in seen}))
    column = {block: index for index, block in enumerate(blocks)}
    row_of = {name: row for row, name in enumerate(names, start=1)}
    cut = {run.candidate for run in seen if run.is_cut_short} - {baseline}
    at_most: dict[str, dict[int, float]] = {name: {} for name in names if name in cut}
    logs: dict[tuple[int, int], list[float]] = {}
    for run in seen:
        if run.candidate in cut:
            bound = run.throughput_at_most if run.is_cut_short else run.figure(Metric.THROUGHPUT)
            if bound is not None and metric is Metric.THROUGHPUT:
                at_most[run.candidate][column[run.block]] = log(bound)
        elif (figure := run.figure(metric)) is not None:
            row = run.replicate if run.candidate == baseline else row_of[run.candidate]
            logs.setdefault((row, column[run.block]), []).append(log(figure))
    y = np.full((len(names) + 1, len(blocks)), np.nan)
    for place, found in logs.items():
        y[place] = fmean(found)
    return Table(names, blocks, y if metric.more_is_better else -y, at_most)

"""Drift of the host during a study, seen in the baseline, which runs in every block."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import erfc, expm1, log, sqrt

import numpy as np

from tuning.statistics.data import Observation

# A drift is named if it is this unlikely on a steady host and at least this large.
NAMED_P = 0.01
NAMED_CHANGE = 0.05


@dataclass(frozen=True)
class Drift:
    """Trend of the baseline's throughput over wall time.

    change: over the whole study, as a fraction (-0.14: it lost 14 %). minutes: its length.
    p: chance of a trend this clear on a steady host (Kendall 1938, normal approximation).
    """

    change: float
    minutes: float
    p: float
    runs: int

    @property
    def is_named(self) -> bool:
        return self.p < NAMED_P and abs(self.change) >= NAMED_CHANGE

    def sentence(self, baseline: str) -> str:
        """The sentence for the verdict."""
        did = "lost" if self.change < 0 else "gained"
        return (
            f"The host drifted: {baseline} {did} {abs(self.change) * 100:.0f} % over the "
            f"{self.minutes:.0f} minutes of the study. Comparisons within a block cancel this out."
        )


def find_drift(observations: Iterable[Observation], baseline: str) -> Drift | None:
    """Return the baseline's trend; None with fewer than 4 runs that have a start time.

    Theil-Sen slope: the median over all pairs of runs, robust against stalled runs.
    """
    points = sorted(
        (run.started_at, log(run.throughput))
        for run in observations
        if run.candidate == baseline
        and run.counts
        and run.started_at is not None
        and run.throughput
    )
    length = points[-1][0] - points[0][0] if points else 0.0
    if len(points) < 4 or length <= 0:
        return None
    n = len(points)
    at, level = np.array(points).T
    first, second = np.triu_indices(n, k=1)
    run, rise = at[second] - at[first], level[second] - level[first]
    slope = float(np.median(rise[run > 0] / run[run > 0]))
    score = int(np.sign(rise).sum())
    deviation = sqrt(n * (n - 1) * (2 * n + 5) / 18)
    p = erfc(max(abs(score) - 1, 0) / deviation / sqrt(2))
    return Drift(change=expm1(slope * length), minutes=length / 60, p=p, runs=n)

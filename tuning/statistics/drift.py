"""Does the host change while it measures? Seen on the baseline, which runs all along."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from math import erfc, expm1, log, sqrt
from statistics import median

from tuning.statistics.data import Observation

# Named when so unlikely in a steady host, and at least so large over the study.
NAMED_P = 0.01
NAMED_CHANGE = 0.05


@dataclass(frozen=True)
class Drift:
    """Trend of the baseline's tpmP over wall time.

    change: over the whole study, as a share (-0.14: it lost 14 %). minutes: its length.
    p: chance of so clear a trend on a steady host (Kendall 1938, normal approximation).
    """

    change: float
    minutes: float
    p: float
    runs: int

    @property
    def is_named(self) -> bool:
        return self.p < NAMED_P and abs(self.change) >= NAMED_CHANGE

    def sentence(self, baseline: str) -> str:
        """What the verdict says of it."""
        did = "lost" if self.change < 0 else "gained"
        return (
            f"The host drifted: {baseline} {did} {abs(self.change) * 100:.0f} % over the "
            f"{self.minutes:.0f} minutes of the study; within the blocks this cancels out."
        )


def find_drift(observations: Iterable[Observation], baseline: str) -> Drift | None:
    """The baseline's trend; None below 4 runs with a time.

    Slope by Theil and Sen: the median over all pairs of runs, which stalled runs do not bend.
    """
    points = sorted(
        (run.started_at, log(run.tpmP))
        for run in observations
        if run.candidate == baseline and run.counts and run.started_at is not None and run.tpmP
    )
    length = points[-1][0] - points[0][0] if points else 0.0
    if len(points) < 4 or length <= 0:
        return None
    pairs = [(b[0] - a[0], b[1] - a[1]) for a, b in combinations(points, 2)]
    slope = median(rise / run for run, rise in pairs if run > 0)
    score = sum((rise > 0) - (rise < 0) for _, rise in pairs)
    n = len(points)
    deviation = sqrt(n * (n - 1) * (2 * n + 5) / 18)
    p = erfc(max(abs(score) - 1, 0) / deviation / sqrt(2))
    return Drift(change=expm1(slope * length), minutes=length / 60, p=p, runs=n)

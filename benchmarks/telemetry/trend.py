"""Whether throughput was steady while it was measured, or the server was still warming up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# Less than this over the whole interval is no reason to distrust a figure.
MIN_TREND_PCT = 10.0
# Mann-Kendall's test: so seldom is a steady run flagged.
_MAX_CHANCE = 0.01
# Neighbouring seconds are alike (checkpoints, flushing), which the test takes for a trend: it
# uses the means of this many stretches at most. With fewer than the minimum nothing can be said.
_MAX_STRETCHES = 20
_MIN_VALUES = 8


@dataclass(frozen=True)
class Trend:
    """`pct`: change of the throughput over the whole interval, in percent of its median, by the
    Theil-Sen line. `chance`: how likely a steady run shows as much (two-sided Mann-Kendall).
    """

    pct: float
    chance: float

    @property
    def is_steady(self) -> bool:
        return abs(self.pct) < MIN_TREND_PCT or self.chance > _MAX_CHANCE


def find_trend(per_second: Sequence[int]) -> Trend | None:
    """Return the trend of the transactions of each measured second; None where too few."""
    length = math.ceil(len(per_second) / _MAX_STRETCHES) or 1
    count = len(per_second) // length
    # Seconds that make no whole stretch are dropped at the beginning.
    used = np.asarray(per_second[len(per_second) - count * length :], dtype=np.float64)
    values = used.reshape(count, length).mean(axis=1)
    middle = float(np.median(values)) if values.size else 0.0
    if values.size < _MIN_VALUES or middle <= 0:
        return None
    # Imported here, because it takes most of a second and few processes need it.
    from scipy.stats import kendalltau, theilslopes

    at = np.arange(values.size)
    chance = float(kendalltau(at, values).pvalue)
    return Trend(
        pct=100.0 * float(theilslopes(values, at).slope) * values.size / middle,
        chance=1.0 if math.isnan(chance) else chance,  # all values are equal
    )

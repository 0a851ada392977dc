"""A ratio with the interval in which it lies."""

from __future__ import annotations

from math import exp, inf, isfinite, log
from typing import Self

from pydantic import BaseModel, ConfigDict

from tuning.statistics.data import Metric

# The logarithm of a bound above which it does not fit into a float.
_LARGEST_LOG = 700.0


class Estimate(BaseModel):
    """A ratio with its interval.

    low, high: None where they are unknown; of a known interval `high` is None if it has no bound.
    confidence: of the interval, 0 to 1; None without an interval. The confidence of a ranking is
        that of all its intervals holding at once.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    ratio: float
    low: float | None = None
    high: float | None = None
    confidence: float | None = None

    @classmethod
    def of_gain(
        cls, gain: float, half: float, alpha: float, metric: Metric = Metric.THROUGHPUT
    ) -> Self:
        """Return the estimate of a gain, a log that is positive where better.

        half: half the width of the interval; NaN where that is unknown. alpha: its error rate.
        """
        centre = gain if metric.more_is_better else -gain
        if not isfinite(half):
            return cls(ratio=exp(centre))
        high = centre + half
        return cls(
            ratio=exp(centre),
            low=exp(centre - half),
            high=exp(high) if high < _LARGEST_LOG else None,
            confidence=1 - alpha,
        )

    @property
    def has_interval(self) -> bool:
        return self.low is not None

    @property
    def excludes_no_change(self) -> bool:
        """Whether the interval lies wholly on one side of 1."""
        if self.low is None:
            return False
        return self.low > 1 or (self.high is not None and self.high < 1)

    @property
    def bounds(self) -> tuple[float, float]:
        """The ends of the interval; an end that is unknown is 0 or infinite."""
        return self.low or 0.0, inf if self.high is None else self.high

    def gain(self, metric: Metric) -> float:
        """Return the log of the ratio, positive where better."""
        return log(self.ratio) if metric.more_is_better else -log(self.ratio)

    def gains(self, metric: Metric) -> tuple[float, float]:
        """Return the least and the largest gain, logs that are positive where better."""
        low, high = (log(end) if end else -inf for end in self.bounds)
        return (low, high) if metric.more_is_better else (-high, -low)

    def inverse(self) -> Estimate:
        """Return the estimate of the other divided by this one."""
        if self.low is None:
            return Estimate(ratio=1 / self.ratio)
        return Estimate(
            ratio=1 / self.ratio,
            low=1 / self.high if self.high is not None else 0.0,
            high=1 / self.low if self.low else None,
            confidence=self.confidence,
        )

    def text(self) -> str:
        """Return the interval as `95 % interval +12 to +35 %`; "" where it is unknown."""
        if self.low is None or self.confidence is None:
            return ""
        high = " % or more" if self.high is None else f" to {(self.high - 1) * 100:+.1f} %"
        return f"{self.confidence * 100:.3g} % interval {(self.low - 1) * 100:+.1f}{high}"

    def change(self, of: str = "") -> str:
        """Return 1.123 as `+12.3 %`, with what it is a change of, and the interval if known."""
        spread = f" ({self.text()})" if self.has_interval else ""
        return f"{(self.ratio - 1) * 100:+.1f} %{of and f' {of}'}{spread}"

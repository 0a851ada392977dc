"""Compare the newest figures of a series with the figures before them.

The comparison describes and does not test. Figures of months are autocorrelated, so a test that
takes them for independent would promise a rate of false alarms that it does not keep.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

#: So many figures are the newest; as many have to come before them.
NEWEST: Final = 5


@dataclass(frozen=True)
class Recent:
    """The median of the newest figures, divided by the median of the `before` figures before.

    `low` and `high` are the smallest and the largest of the figures before, in the same unit.
    """

    ratio: float
    before: int
    low: float
    high: float

    @property
    def is_outside(self) -> bool:
        """Whether the newest median lies where no figure lay before."""
        return not self.low <= self.ratio <= self.high


def compare_recent(series: Sequence[float]) -> Recent | None:
    """Compare the newest figures, oldest first; None for too few. All are above zero."""
    if len(series) < 2 * NEWEST:
        return None
    before, newest = series[:-NEWEST], series[-NEWEST:]
    usual = median(before)
    return Recent(median(newest) / usual, len(before), min(before) / usual, max(before) / usual)

"""How far two rankings agree where they say anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations


@dataclass(frozen=True)
class Standing:
    """A config's ratio to the baseline with its interval."""

    ratio: float
    low: float
    high: float

    def is_tied_with(self, other: Standing) -> bool:
        """Whether the intervals overlap."""
        return self.low <= other.high and other.low <= self.high


@dataclass(frozen=True)
class Agreement:
    """Pairs of configs that are tied in neither ranking: in the same and in the other order."""

    same: int
    other: int

    @property
    def tau(self) -> float | None:
        """Kendall's tau beyond ties, None where every pair is tied."""
        pairs = self.same + self.other
        return (self.same - self.other) / pairs if pairs else None


def agreement(one: Mapping[str, Standing], two: Mapping[str, Standing]) -> Agreement:
    """Return how two rankings agree on the configs that both have."""
    same = other = 0
    for first, second in combinations(sorted(one.keys() & two.keys()), 2):
        if one[first].is_tied_with(one[second]) or two[first].is_tied_with(two[second]):
            continue
        agrees = (one[first].ratio > one[second].ratio) == (two[first].ratio > two[second].ratio)
        same, other = same + agrees, other + (not agrees)
    return Agreement(same, other)

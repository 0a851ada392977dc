"""The space of a search: one dimension per knob, with the values that are tried.

Plain data, so that it can be stored with a study and shown before the start. Built from the
catalogue by `tuning.search_space`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from benchmarks.documents import Document

Kind = Literal["number", "choice"]

# Values of a number that are distinguished: runs cannot resolve finer steps.
MAX_LEVELS = 25
# How far outside its range a value may be seen, as a share of it: a server's default may be far.
_MAX_OUTSIDE = 1.0
# 0.3 / 0.1 is a little less than 3.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Dimension:
    """One knob of the space.

    low, high: of a number, as the server takes it (bytes as bytes). step: values are multiples of
    it; 0 is "any", below 1 it is a power of ten. values: those on the scale that are tried, where
    an even spread over it will not do. special: values of a number that are not part of its
    scale, such as "0" for "no limit". choices: the words of a choice. default: what the server
    has where the knob is not set; "" where that is not known. source: why this range.
    """

    name: str
    kind: Kind
    low: float = 0.0
    high: float = 0.0
    is_log: bool = False
    step: float = 0.0
    values: tuple[str, ...] = ()
    special: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    default: str = ""
    source: str = ""

    @property
    def is_number(self) -> bool:
        return self.kind == "number"

    @property
    def levels(self) -> tuple[str, ...]:
        """The values that are tried: special ones first, then those on the scale, ascending."""
        if not self.is_number:
            return self.choices
        if self.values:
            within = [one for one in self.values if self.low <= float(one) <= self.high]
            return (*self.special, *within)
        shares = (number / (MAX_LEVELS - 1) for number in range(MAX_LEVELS))
        scale = {self._written(self._at(share)) for share in shares}
        if self.default and self.low <= float(self.default) <= self.high:
            scale.add(self.default)
        return (*self.special, *sorted(scale - set(self.special), key=float))

    def features(self, value: str) -> tuple[float, ...]:
        """Return a value as a model sees it: its place on the scale, or 0 or 1 per word.

        A default outside the range lies below 0 or above 1: it is where it is.
        """
        if not self.is_number:
            if len(self.choices) == 2:
                return (float(value == self.choices[1]),)
            return tuple(float(value == word) for word in self.choices)
        if value in self.special:
            return (0.5, 1.0)
        share = min(max(self.share(float(value)), -_MAX_OUTSIDE), 1 + _MAX_OUTSIDE)
        return (share, 0.0) if self.special else (share,)

    def share(self, number: float) -> float:
        """The place on the scale: 0 is `low`, 1 is `high`."""
        if self.high <= self.low:
            return 0.5
        if self.is_log:
            return math.log(max(number, 1e-9) / self.low) / math.log(self.high / self.low)
        return (number - self.low) / (self.high - self.low)

    def _at(self, share: float) -> float:
        if self.is_log:
            return self.low * math.exp(share * math.log(self.high / self.low))
        return self.low + share * (self.high - self.low)

    def _written(self, number: float) -> str:
        if self.step:
            last = math.floor(self.high / self.step + _ROUNDING)
            first = min(math.ceil(self.low / self.step - _ROUNDING), last)
            number = min(max(round(number / self.step), first), last) * self.step
        if 0 < self.step < 1:
            # The step is a power of ten: as many digits as it has.
            digits = round(-math.log10(self.step))
            return f"{number:.{digits}f}".rstrip("0").rstrip(".")
        return str(round(number))


@dataclass(frozen=True)
class Rule:
    """`lower` may not be above `upper`; `moves` says which of the two is changed to fit."""

    lower: str
    upper: str
    moves: Literal["lower", "upper"]


@dataclass(frozen=True)
class Space(Document):
    """The dimensions, the knobs that every candidate sets besides, and rules across dimensions."""

    dimensions: tuple[Dimension, ...]
    pinned: Mapping[str, str] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.dimensions)

    def knobs(self, values: Mapping[str, str]) -> dict[str, str]:
        """The config of a value per dimension: the pinned knobs and those off their default."""
        changed = {
            one.name: values[one.name]
            for one in self.dimensions
            if values[one.name] != one.default
        }
        return dict(self.pinned) | changed

    def values(self, knobs: Mapping[str, str]) -> tuple[str, ...]:
        """The value that a config has in each dimension, be it set or the server's default.

        Where that is not known, the middle of the range.
        """
        return tuple(
            knobs.get(one.name) or one.default or one.levels[len(one.levels) // 2]
            for one in self.dimensions
        )

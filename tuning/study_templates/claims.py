"""What the source of a template found, as statements that a study can check.

`tuning.study_templates.evaluation` says whether a study confirms them.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StrictBool
from pydantic.dataclasses import dataclass

from benchmarks.datafiles import STRICT, Number, Some, distinct
from benchmarks.storage.kinds import DeviceKind
from tuning.statistics.data import Metric

Candidate = Annotated[str, Field(min_length=1)]
#: A part of 1.
Share = Annotated[Number, Field(ge=0, lt=1)]
# What a ratio, of the claim's first config to its second, would have to lie in: None is no bound.
Range = tuple[float | None, float | None]


@dataclass(frozen=True, config=STRICT)
class Faster:
    """`candidate` is better than `than` by more than the share `by` (0.05 is 5 %) of `metric`."""

    candidate: Candidate
    than: Candidate
    by: Share = 0.0
    metric: Metric = Metric.TPMP

    @property
    def names(self) -> tuple[str, ...]:
        return (self.candidate, self.than)

    @property
    def claimed(self) -> Range:
        """Of the metric, candidate over `than`."""
        return _better(1 + self.by, self.metric)


@dataclass(frozen=True, config=STRICT)
class Best:
    """`candidate` is better than each of `among` (empty: than all others)."""

    candidate: Candidate
    among: Some[Candidate] = ()
    metric: Metric = Metric.TPMP

    @property
    def names(self) -> tuple[str, ...]:
        return (self.candidate, *self.among)

    @property
    def claimed(self) -> Range:
        """Of the metric, candidate over each of the others."""
        return _better(1.0, self.metric)


@dataclass(frozen=True, config=STRICT)
class NoDifference:
    """`candidate` and `other` differ by less than the share `within` of `metric`."""

    candidate: Candidate
    other: Candidate
    within: Share = 0.05
    metric: Metric = Metric.TPMP

    @property
    def names(self) -> tuple[str, ...]:
        return (self.candidate, self.other)

    @property
    def claimed(self) -> Range:
        """Of the metric, candidate over `other`."""
        return 1 / (1 + self.within), 1 + self.within


@dataclass(frozen=True, config=STRICT)
class Knee:
    """More connections stop paying: the most that were measured complete less than the share
    `within` more than at most the share `before` of them do.
    """

    candidate: Candidate
    before: Share = 0.5
    within: Share = 0.05

    @property
    def names(self) -> tuple[str, ...]:
        return (self.candidate,)

    @property
    def claimed(self) -> Range:
        """Of tpmP, the most connections over the fewer."""
        return None, 1 + self.within

    @property
    def metric(self) -> Metric:
        return Metric.TPMP


Statement = Faster | Best | NoDifference | Knee


@dataclass(frozen=True, config=STRICT)
class Claim:
    """A finding of a source: its words, where they stand, the figures it gives ("": none).

    `devices` are the kinds of device that it speaks of; empty: every one. With `needs_seeks` it
    is about seek times, of which an emulated device tells nothing.
    """

    says: Annotated[str, Field(min_length=10)]
    source: Annotated[str, Field(min_length=10)]
    published: Annotated[str, Field(min_length=5)] = ""
    faster: Faster | None = None
    best: Best | None = None
    no_difference: NoDifference | None = None
    knee: Knee | None = None
    devices: Annotated[Some[DeviceKind], distinct()] = ()
    needs_seeks: StrictBool = False

    def __post_init__(self) -> None:
        if len(self._stated) != 1:
            raise ValueError("states one of faster, best, no_difference and knee")

    @property
    def statement(self) -> Statement:
        """The one that it states."""
        return self._stated[0]

    @property
    def _stated(self) -> list[Statement]:
        stated = (self.faster, self.best, self.no_difference, self.knee)
        return [one for one in stated if one is not None]


def _better(ratio: float, metric: Metric) -> Range:
    return (ratio, None) if metric.more_is_better else (None, 1 / ratio)

"""Claims of a template's source, as statements that a study can check.

`tuning.study_templates.evaluation` decides whether a study confirms them.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StrictBool
from pydantic.dataclasses import dataclass

from benchmarks.datafiles import STRICT, Number, Some, distinct
from benchmarks.storage.kinds import DeviceKind
from tuning.statistics.data import Metric

Candidate = Annotated[str, Field(min_length=1)]
#: A fraction of 1.
Share = Annotated[Number, Field(ge=0, lt=1)]
# The range that a claim states for the ratio of its first config to its second; None: no bound.
Range = tuple[float | None, float | None]


@dataclass(frozen=True, config=STRICT)
class Faster:
    """`candidate` is better than `than` in `metric` by more than the fraction `by` (0.05: 5 %)."""

    candidate: Candidate
    than: Candidate
    by: Share = 0.0
    metric: Metric = Metric.TPMP

    @property
    def names(self) -> tuple[str, ...]:
        return (self.candidate, self.than)

    @property
    def claimed(self) -> Range:
        """The range of the metric's ratio, candidate to `than`."""
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
        """The range of the metric's ratio, candidate to each of the others."""
        return _better(1.0, self.metric)


@dataclass(frozen=True, config=STRICT)
class NoDifference:
    """`candidate` and `other` differ in `metric` by less than the fraction `within`."""

    candidate: Candidate
    other: Candidate
    within: Share = 0.05
    metric: Metric = Metric.TPMP

    @property
    def names(self) -> tuple[str, ...]:
        return (self.candidate, self.other)

    @property
    def claimed(self) -> Range:
        """The range of the metric's ratio, candidate to `other`."""
        return 1 / (1 + self.within), 1 + self.within


@dataclass(frozen=True, config=STRICT)
class Knee:
    """More connections have no use.

    The largest number of connections completes at most the fraction `within` more than a number of
    connections up to the fraction `before` of it.
    """

    candidate: Candidate
    before: Share = 0.5
    within: Share = 0.05

    @property
    def names(self) -> tuple[str, ...]:
        return (self.candidate,)

    @property
    def claimed(self) -> Range:
        """The range of the tpmP ratio, most connections to fewer."""
        return None, 1 + self.within

    @property
    def metric(self) -> Metric:
        return Metric.TPMP


Statement = Faster | Best | NoDifference | Knee


@dataclass(frozen=True, config=STRICT)
class Claim:
    """A claim of a source: its words, their place and its figures ("": none).

    `devices` are the kinds of device that it applies to; empty: all. With `needs_seeks` it is
    about seek times, which an emulated device does not have.
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
            raise ValueError("must have exactly one of faster, best, no_difference and knee")

    @property
    def statement(self) -> Statement:
        """The statement of the claim."""
        return self._stated[0]

    @property
    def _stated(self) -> list[Statement]:
        stated = (self.faster, self.best, self.no_difference, self.knee)
        return [one for one in stated if one is not None]


def _better(ratio: float, metric: Metric) -> Range:
    return (ratio, None) if metric.more_is_better else (None, 1 / ratio)

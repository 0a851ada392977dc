"""Claims of a template's source: a ratio that a study measures, and the range it should lie in.

`tuning.study_templates.evaluation` decides whether a study confirms them.
"""

from __future__ import annotations

from math import inf
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StrictBool
from pydantic.dataclasses import dataclass

from benchmarks.datafiles import STRICT, Number, Some, distinct
from benchmarks.storage.kinds import DeviceKind
from tuning.statistics.data import Metric

Candidate = Annotated[str, Field(min_length=1)]
#: A fraction of 1.
Share = Annotated[Number, Field(gt=0, lt=1)]
Bound = Annotated[Number, Field(gt=0)]


def _several(written: Any) -> Any:
    return [written] if isinstance(written, str) else written


@dataclass(frozen=True, config=STRICT)
class Ratio:
    """The ratio of a metric between two configs, and its claimed range (None: no bound).

    `of` is divided by each of `to`, and the claim is about every one of these ratios. With
    `connections` it is one ratio of `of` alone: with the largest number of connections, divided by
    that with the largest number up to this share of it.
    """

    of: Candidate
    to: Annotated[Some[Candidate], BeforeValidator(_several), distinct()] = ()
    connections: Share | None = None
    above: Bound | None = None
    below: Bound | None = None
    metric: Metric = Metric.THROUGHPUT

    def __post_init__(self) -> None:
        if bool(self.to) == (self.connections is not None):
            raise ValueError("must have either `to` or `connections`")
        if self.above is None and self.below is None:
            raise ValueError("must have `above`, `below` or both")
        if self.above is not None and self.below is not None and self.above >= self.below:
            raise ValueError("`above` must be less than `below`")

    @property
    def names(self) -> tuple[str, ...]:
        return (self.of, *self.to)

    @property
    def bounds(self) -> tuple[float, float]:
        return self.above or 0.0, self.below or inf


@dataclass(frozen=True, config=STRICT)
class Claim:
    """A claim of a source: its words, their place and its figures ("": none).

    `devices` are the kinds of device that it applies to; empty: all. With `needs_seeks` it is
    about seek times, which an emulated device does not have.
    """

    says: Annotated[str, Field(min_length=10)]
    source: Annotated[str, Field(min_length=10)]
    ratio: Ratio
    published: Annotated[str, Field(min_length=5)] = ""
    devices: Annotated[Some[DeviceKind], distinct()] = ()
    needs_seeks: StrictBool = False

"""What the source of a template found, as statements that a study can check.

`tuning.study_templates.evaluation` says whether a study confirms them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tuning.statistics.data import Metric

# What a ratio, of the claim's first config to its second, would have to lie in: None is no bound.
Range = tuple[float | None, float | None]


@dataclass(frozen=True)
class Faster:
    """`candidate` is better than `than` by more than the share `by` (0.05 is 5 %) of `metric`."""

    candidate: str
    than: str
    by: float = 0.0
    metric: Metric = Metric.TPMP

    @property
    def names(self) -> tuple[str, ...]:
        return (self.candidate, self.than)

    @property
    def claimed(self) -> Range:
        """Of the metric, candidate over `than`."""
        return _better(1 + self.by, self.metric)


@dataclass(frozen=True)
class Best:
    """`candidate` is better than each of `among` (empty: than all others)."""

    candidate: str
    among: tuple[str, ...] = ()
    metric: Metric = Metric.TPMP

    @property
    def names(self) -> tuple[str, ...]:
        return (self.candidate, *self.among)

    @property
    def claimed(self) -> Range:
        """Of the metric, candidate over each of the others."""
        return _better(1.0, self.metric)


@dataclass(frozen=True)
class NoDifference:
    """`candidate` and `other` differ by less than the share `within` of `metric`."""

    candidate: str
    other: str
    within: float = 0.05
    metric: Metric = Metric.TPMP

    @property
    def names(self) -> tuple[str, ...]:
        return (self.candidate, self.other)

    @property
    def claimed(self) -> Range:
        """Of the metric, candidate over `other`."""
        return 1 / (1 + self.within), 1 + self.within


@dataclass(frozen=True)
class Knee:
    """More connections stop paying: the most that were measured complete less than the share
    `within` more than at most the share `before` of them do.
    """

    candidate: str
    before: float = 0.5
    within: float = 0.05

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


@dataclass(frozen=True)
class Claim:
    """A finding of a source: its words, where they stand, the figures it gives ("": none).

    `devices` are the kinds of device that it speaks of; empty: every one. With `needs_seeks` it
    is about seek times, of which an emulated device tells nothing.
    """

    says: str
    source: str
    published: str
    statement: Statement
    devices: tuple[str, ...] = ()
    needs_seeks: bool = False


def read_claim(content: Mapping[str, Any]) -> Claim:
    """A claim as the schema of templates allows it."""
    return Claim(
        says=content["says"].strip(),
        source=content["source"].strip(),
        published=content.get("published", "").strip(),
        statement=_statement(content),
        devices=tuple(content.get("devices", ())),
        needs_seeks=content.get("needs_seeks", False),
    )


def _better(ratio: float, metric: Metric) -> Range:
    return (ratio, None) if metric.more_is_better else (None, 1 / ratio)


def _statement(content: Mapping[str, Any]) -> Statement:
    if "faster" in content:
        return Faster(**_with_metric(content["faster"]))
    if "best" in content:
        found = _with_metric(content["best"])
        return Best(**(found | {"among": tuple(found.get("among", ()))}))
    if "no_difference" in content:
        return NoDifference(**_with_metric(content["no_difference"]))
    return Knee(**content["knee"])


def _with_metric(content: Mapping[str, Any]) -> dict[str, Any]:
    return {**content, "metric": Metric(content.get("metric", Metric.TPMP))}

"""A gate: may a candidate be worse than the baseline, and by how much, decided pair by pair.

A limit is a non-inferiority margin. The gate passes when the interval of every limit lies wholly
inside it, fails when one lies wholly outside, and is undecided in between. The intervals hold at
all looks at once (`tuning.statistics.looks`), so that a gate may stop at any of them.

With several limits a candidate that exceeds one of them passes in at most 1 - confidence of gates,
because every limit must pass. So that one which keeps them all fails no more often than that,
each of k limits fails at 1/k of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import ceil, exp, inf, log

import numpy as np

from benchmarks.counted import percent
from benchmarks.documents import Document
from tuning.statistics.aim import metric_name
from tuning.statistics.data import Metric
from tuning.statistics.looks import FIRST_LOOK, MAX_LOOKS, Floats, bounds, growing

DEFAULT_PAIRS = 30
DEFAULT_CONFIDENCE = 0.95
CONFIDENCES = (0.8, 0.999)
MAX_LOSS = 0.9
# More pairs than this are no plan.
MAX_FORESEEN = 1000

#: How a metric is called where a limit is typed.
LIMIT_NAMES = {metric: metric_name(metric).replace(" ", "-") for metric in Metric}
_LIMIT = re.compile(r"\s*([A-Za-z0-9_-]+)\s*[:=]?\s*([+-])\s*([0-9]+(?:\.[0-9]+)?)\s*%?\s*")


class Verdict(StrEnum):
    PASS = "pass"  # noqa: S105  # no password
    FAIL = "fail"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Limit:
    """How much worse a metric may be: `loss` is the share by which throughput may be lower,
    or a time or path length higher than the baseline's.
    """

    metric: Metric
    loss: float

    def __post_init__(self) -> None:
        """Raises ValueError for a loss that is no limit."""
        if not 0 < self.loss <= MAX_LOSS:
            raise ValueError(f"a limit is more than 0 % and at most {percent(MAX_LOSS)}")

    @property
    def margin(self) -> float:
        """The loss as a log, above zero."""
        return -log(1 - self.loss) if self.metric.more_is_better else log(1 + self.loss)

    @property
    def text(self) -> str:
        """The limit as `throughput at least -3 %`."""
        return f"{metric_name(self.metric)} {self.allowed}"

    @property
    def typed(self) -> str:
        """The limit as `parse` takes it: `throughput -3%`."""
        sign = "-" if self.metric.more_is_better else "+"
        return f"{LIMIT_NAMES[self.metric]} {sign}{self.loss * 100:g}%"

    @property
    def allowed(self) -> str:
        """The bound as `at least -3 %`."""
        side = "at least -" if self.metric.more_is_better else "at most +"
        return f"{side}{self.loss * 100:.4g} %"

    @classmethod
    def parse(cls, text: str) -> Limit:
        """Read `throughput -3%` or `p95 +5%`. Raises ValueError, which says what is wrong."""
        found = _LIMIT.fullmatch(text)
        names = {name.lower(): metric for metric, name in LIMIT_NAMES.items()}
        metric = names.get(found[1].lower().replace("_", "-")) if found else None
        if found is None or metric is None:
            known = ", ".join(LIMIT_NAMES.values())
            raise ValueError(f"{text!r} is not a limit such as 'p95 +5%'; metrics: {known}")
        if (found[2] == "-") is not metric.more_is_better:
            sign = "-" if metric.more_is_better else "+"
            raise ValueError(f"{text!r}: a limit of {found[1]} begins with {sign}")
        return cls(metric, float(found[3]) / 100)


DEFAULT_LIMITS = (
    Limit(Metric.THROUGHPUT, 0.03),
    Limit(Metric.P95, 0.05),
    Limit(Metric.SERVER_PATH_LENGTH, 0.05),
)


@dataclass(frozen=True)
class GatePlan(Document):
    """The limits that a gate decides, and after how many pairs it gives up."""

    limits: tuple[Limit, ...] = DEFAULT_LIMITS
    confidence: float = DEFAULT_CONFIDENCE
    max_pairs: int = DEFAULT_PAIRS

    def __post_init__(self) -> None:
        """Raises ValueError for a plan that cannot be carried out."""
        if not self.limits or len({limit.metric for limit in self.limits}) < len(self.limits):
            raise ValueError("a gate has at least one limit and one for each metric at most")
        if not CONFIDENCES[0] <= self.confidence <= CONFIDENCES[1]:
            raise ValueError(f"confidence is between {CONFIDENCES[0]} and {CONFIDENCES[1]}")
        if not FIRST_LOOK <= self.max_pairs <= MAX_LOOKS:
            raise ValueError(f"a gate has {FIRST_LOOK} to {MAX_LOOKS} pairs")

    @property
    def errors(self) -> tuple[float, float]:
        """How often a limit is passed, and failed, by what is exactly at it."""
        alpha = round(1 - self.confidence, 10)
        return alpha, alpha / len(self.limits)


@dataclass(frozen=True)
class PairFigures:
    """A candidate's and the baseline's figures of one pair, by metric; None is "no figure"."""

    candidate: Mapping[Metric, float | None]
    baseline: Mapping[Metric, float | None]

    def both(self, metric: Metric) -> tuple[float, float] | None:
        """The baseline's and the candidate's figure; None unless both are above zero."""
        found = self.baseline.get(metric), self.candidate.get(metric)
        return (found[0], found[1]) if found[0] and found[1] else None


@dataclass(frozen=True)
class LimitResult:
    """The result of the pairs for one limit.

    ratio: candidate divided by baseline. low, high: its interval over all looks, each end with
        the plan's error rates; None before the first look, and of pairs that contradict each
        other. pairs: those with both figures.
    is_inconsistent: whether earlier pairs exclude every ratio that later ones allow: what is
        measured has changed during the gate.
    pairs_to_decide: how many it would have taken in all, if the difference is what it looks like;
        None where that is not known, or more than MAX_FORESEEN.
    """

    limit: Limit
    verdict: Verdict
    pairs: int
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    pairs_to_decide: int | None = None
    is_inconsistent: bool = False


def percent_text(value: float | None) -> str:
    """Return a change in percent with one decimal."""
    return "unknown" if value is None else f"{value:+.1f} %"


@dataclass(frozen=True)
class GateResult:
    """The verdict after `pairs` pairs, and what decided it."""

    verdict: Verdict
    pairs: int
    limits: tuple[LimitResult, ...]


def judge_gate(plan: GatePlan, pairs: Sequence[PairFigures]) -> GateResult:
    """The verdict on the pairs, in their order; those beyond the plan do not count."""
    seen = pairs[: plan.max_pairs]
    found = tuple(_judge(limit, plan, seen) for limit in plan.limits)
    return GateResult(overall(one.verdict for one in found), len(seen), found)


def overall(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict of a gate from the verdicts of its limits."""
    there = set(verdicts)
    if Verdict.FAIL in there:
        return Verdict.FAIL
    return Verdict.PASS if there == {Verdict.PASS} else Verdict.UNDECIDED


def intervals(mean: Floats, error: Floats, plan: GatePlan) -> tuple[Floats, Floats]:
    """Ends of the interval of the gain after each pair; they only move inwards.

    mean, error: (..., pairs) as `growing` returns them, more is better. -inf and inf before the
        first look.
    """
    count = mean.shape[-1]
    to_pass, to_fail = (np.array(bounds(plan.max_pairs, alpha)[:count]) for alpha in plan.errors)
    error = np.where(np.isfinite(error), error, inf)
    mean = np.where(np.isfinite(mean), mean, 0.0)
    with np.errstate(invalid="ignore"):  # an error of 0 where there is no bound yet
        low, high = mean - to_pass * error, mean + to_fail * error
    low, high = np.where(np.isnan(low), -inf, low), np.where(np.isnan(high), inf, high)
    return np.maximum.accumulate(low, axis=-1), np.minimum.accumulate(high, axis=-1)


def first_crossings(low: Floats, high: Floats, margin: float) -> tuple[Floats, Floats]:
    """Pairs after which the limit was passed, and failed; inf for never. From (..., pairs)."""
    passed, failed = (
        np.where(crossed.any(axis=-1), crossed.argmax(axis=-1) + 1.0, inf)
        for crossed in (low > -margin, high < -margin)
    )
    return passed, failed


def _judge(limit: Limit, plan: GatePlan, pairs: Sequence[PairFigures]) -> LimitResult:
    whole = [both for pair in pairs if (both := pair.both(limit.metric))]
    count = len(whole)
    if count < FIRST_LOOK:
        return LimitResult(limit, Verdict.UNDECIDED, count)
    sign = 1.0 if limit.metric.more_is_better else -1.0
    mean, error = growing(sign * np.log(np.array(whole, dtype=float).T))
    lows, highs = intervals(mean, error, plan)
    passed, failed = first_crossings(lows, highs, limit.margin)
    verdict = Verdict.UNDECIDED
    if passed != failed:
        verdict = Verdict.PASS if passed < failed else Verdict.FAIL
    gain, least, most = float(mean[-1]), float(lows[-1]), float(highs[-1])
    ratio = exp(sign * gain)
    if least > most:
        return LimitResult(limit, verdict, count, ratio, is_inconsistent=True)
    low, high = sorted((exp(sign * least), exp(sign * most)))
    more = None
    if verdict is Verdict.UNDECIDED:
        more = _pairs_to_decide(plan, gain + limit.margin, float(error[-1]) * count**0.5, count)
    return LimitResult(limit, verdict, count, ratio, low, high, more)


def _pairs_to_decide(plan: GatePlan, distance: float, noise: float, count: int) -> int | None:
    """Estimate the pairs to a decision, if the mean stays `distance` from the limit."""
    last = bounds(plan.max_pairs, plan.errors[0 if distance > 0 else 1])[-1]
    if abs(distance) * MAX_FORESEEN**0.5 <= last * noise:
        return None
    return max(count + 1, ceil((last * noise / distance) ** 2))

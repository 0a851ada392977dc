"""The promises of the gate: how often it errs, what it finds and how many pairs it takes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import inf, log, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bench.statistics.criteria import Table
from bench.statistics.noise import Scenario, scenarios
from benchmarks.counted import percent
from tuning.statistics.data import Metric
from tuning.statistics.gate import GatePlan, Limit, first_crossings, intervals
from tuning.statistics.looks import growing

Floats = NDArray[np.float64]

LOSS = 0.10
MAX_ERRORS = 0.05
# At the limit itself the rate is 5 % by design; 2,000 gates tell it within one percent.
MAX_ERRORS_AT_LIMIT = 0.06
MIN_FOUND = 0.95
MAX_PAIRS_SHARE = 0.60

USUAL = GatePlan((Limit(Metric.THROUGHPUT, 0.05),))
SEVERAL = GatePlan(
    (
        Limit(Metric.THROUGHPUT, 0.05),
        Limit(Metric.P95, 0.05),
        Limit(Metric.SERVER_PATH_LENGTH, 0.05),
    )
)
FEW = 10
# Of those few pairs the limit by which a loss of 10 % is promised to be found, and others.
PROMISED_LIMIT = 0.01
LIMITS = (PROMISED_LIMIT, 0.02, 0.03, 0.05)


@dataclass(frozen=True)
class Gates:
    """Shares of gates that passed and failed, and their mean number of pairs."""

    passed: float
    failed: float
    pairs: float


@dataclass(frozen=True)
class Ends:
    """Ends of the intervals of gates of an equal candidate, (gates, pairs); shifted for others."""

    plan: GatePlan
    low: Floats
    high: Floats

    def of(self, gain: float) -> Gates:
        """The same gates if the candidate's true gain is `gain`, a log."""
        margin = self.plan.limits[0].margin + gain
        passed, failed = first_crossings(self.low, self.high, margin)
        ended = np.minimum(np.minimum(passed, failed), self.plan.max_pairs)
        return Gates(
            float((passed < failed).mean()), float((failed < passed).mean()), float(ended.mean())
        )


@lru_cache(maxsize=64)
def _growing(scenario: Scenario, gates: int, number: int) -> tuple[Floats, Floats]:
    """Means and errors of a candidate that is a copy of the baseline; `number` is of the draw."""
    seed = [ord(letter) for letter in scenario.name] + [gates, number]
    y = scenario.draw(np.random.default_rng(seed), gates, 4, USUAL.max_pairs)[:, [0, 2]]
    mean, error = np.array([growing(gate) for gate in y]).transpose(1, 0, 2)
    return mean, error


def ends(scenario: Scenario, plan: GatePlan, gates: int, number: int = 0) -> Ends:
    """Simulated gates of a candidate that is a copy of the baseline."""
    mean, error = (part[:, : plan.max_pairs] for part in _growing(scenario, gates, number))
    return Ends(plan, *intervals(mean, error, plan))


def gates(studies: int) -> Table:
    """Errors, power and pairs by noise family."""
    table = Table(
        "Gate",
        f"Gates of at most {USUAL.max_pairs} pairs with the limit {USUAL.limits[0].text}. "
        f"Promised: an equal candidate fails in at most {_percent(MAX_ERRORS)}, one exactly at "
        f"the limit passes and fails in {_percent(MAX_ERRORS)} each (within one percent, as "
        f"{studies} gates tell it); at 5 % noise at most {percent(MAX_PAIRS_SHARE)} of the pairs "
        "of a t-test with a fixed number of pairs that decides as often (last columns).",
        [
            "noise",
            "equal: fails",
            "equal: passes",
            "pairs",
            "at the limit: passes",
            "at the limit: fails",
            f"-{percent(LOSS)}: fails",
            "pairs",
            "share of the pairs: equal",
            f"-{percent(LOSS)}",
        ],
    )
    for scenario in scenarios():
        _one_family(table, scenario, studies)
    return table


def _one_family(table: Table, scenario: Scenario, studies: int) -> None:
    found = ends(scenario, USUAL, studies)
    margin = USUAL.limits[0].margin
    equal, at_limit, worse = (found.of(gain) for gain in (0.0, -margin, log(1 - LOSS)))
    shares = ["", ""]
    if scenario.name == "5 %":
        noise = sqrt(2) * scenario.typical
        fixed = (
            fixed_pairs(margin, noise, equal.passed),
            fixed_pairs(-log(1 - LOSS) - margin, noise, worse.failed),
        )
        used = [one.pairs / most for one, most in zip((equal, worse), fixed, strict=True)]
        shares = [_percent(share) for share in used]
        table.check(max(used) <= MAX_PAIRS_SHARE, f"{scenario.title}: {shares} of the pairs")
    table.lines.append(
        [
            scenario.title,
            _percent(equal.failed),
            _percent(equal.passed),
            f"{equal.pairs:.1f}",
            _percent(at_limit.passed),
            _percent(at_limit.failed),
            _percent(worse.failed),
            f"{worse.pairs:.1f}",
            *shares,
        ]
    )
    table.check(equal.failed <= MAX_ERRORS, f"{scenario.title}: {_percent(equal.failed)} fail")
    at_most = max(at_limit.passed, at_limit.failed)
    table.check(
        at_most <= MAX_ERRORS_AT_LIMIT, f"{scenario.title}: {_percent(at_most)} err at the limit"
    )


def few_pairs(studies: int) -> Table:
    """What a loss of 10 % can be found with in ten pairs, and what no test can do."""
    scenario = next(one for one in scenarios() if one.name == "5 %")
    noise = sqrt(2) * scenario.typical
    table = Table(
        f"Gate of {FEW} pairs",
        f"How often a candidate that loses {percent(LOSS)} fails within {FEW} pairs at 5 % noise. "
        f"Promised for the limit of {percent(PROMISED_LIMIT)}: at least {_percent(MIN_FOUND)}. "
        f"With the limit of {percent(LIMITS[-1])} no test of {FEW} pairs that errs as seldom can "
        "do it: the last columns are those of a single look at all of them, also if the noise "
        "were known.",
        ["limit", "found", "pairs", "t-test after the last pair", "known noise"],
    )
    for loss in LIMITS:
        plan = GatePlan((Limit(Metric.THROUGHPUT, loss),), max_pairs=FEW)
        found = ends(scenario, plan, studies).of(log(1 - LOSS))
        distance = (-log(1 - LOSS) - plan.limits[0].margin) / noise * sqrt(FEW)
        bound = special.stdtrit(FEW - 1, 1 - MAX_ERRORS)
        single = 1 - float(special.nctdtr(FEW - 1, distance, bound))
        known = float(special.ndtr(distance - special.ndtri(1 - MAX_ERRORS)))
        table.lines.append(
            [
                plan.limits[0].text,
                _percent(found.failed),
                f"{found.pairs:.1f}",
                _percent(single),
                _percent(known),
            ]
        )
        table.check(
            loss != PROMISED_LIMIT or found.failed >= MIN_FOUND,
            f"{plan.limits[0].text}: {_percent(found.failed)} of -{percent(LOSS)} found",
        )
    return table


def several_limits(studies: int) -> Table:
    """Three limits at once, with independent noise: the hardest case for the one that fails."""
    table = Table(
        "Gate with several limits",
        f"{len(SEVERAL.limits)} limits of 5 % and independent noise. Promised: a candidate that "
        f"keeps all of them fails, and one that is exactly at one of them passes, in at most "
        f"{_percent(MAX_ERRORS)} (within one percent).",
        ["noise", "equal: fails", "at all limits: fails", "at one limit: passes"],
    )
    margins = [limit.margin for limit in SEVERAL.limits]
    for scenario in scenarios():
        found = [ends(scenario, SEVERAL, studies, number) for number in range(len(margins))]

        def shares(gains: list[float], found: list[Ends] = found) -> tuple[float, float]:
            crossed = [
                first_crossings(one.low, one.high, margin + gain)
                for one, margin, gain in zip(found, margins, gains, strict=True)
            ]
            passed = np.array([one[0] for one in crossed])
            failed = np.array([one[1] for one in crossed])
            failed = np.where(failed < passed, failed, inf)
            all_passed = np.where(passed < failed, passed, inf).max(axis=0)
            first_failed = failed.min(axis=0)
            return float((all_passed < inf).mean()), float((first_failed < inf).mean())

        at_one = [-margins[0], *([0.0] * (len(margins) - 1))]
        equal = shares([0.0] * len(margins))[1]
        at_all = shares([-margin for margin in margins])[1]
        wrongly_passed = shares(at_one)[0]
        cells = [_percent(one) for one in (equal, at_all, wrongly_passed)]
        table.lines.append([scenario.title, *cells])
        for share in (equal, at_all, wrongly_passed):
            table.check(share <= MAX_ERRORS_AT_LIMIT, f"{scenario.title}: {cells}")
    return table


def fixed_pairs(distance: float, noise: float, power: float) -> int:
    """Pairs of a fixed number whose one-sided t-test decides so often, `noise` of a pair."""
    for pairs in range(3, 1000):
        bound = special.stdtrit(pairs - 1, 1 - MAX_ERRORS)
        if 1 - special.nctdtr(pairs - 1, distance / noise * sqrt(pairs), bound) >= power:
            return pairs
    raise ValueError(f"no number of pairs decides {power:.1%}")


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"

"""The gate: limits, its verdict pair by pair, and the bounds that may be looked at each time."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from math import exp, inf

import numpy as np
import pytest
from scipy import special

from tuning.statistics.data import Metric
from tuning.statistics.gate import (
    GatePlan,
    Limit,
    LimitResult,
    PairFigures,
    Verdict,
    judge_gate,
)
from tuning.statistics.looks import FIRST_LOOK, bounds

THROUGHPUT = GatePlan((Limit(Metric.THROUGHPUT, 0.05),))


def pairs(gain: float, count: int, noise: float = 0.02, seed: int = 1) -> list[PairFigures]:
    """Pairs of a candidate that is better by `gain`, a log, in every metric."""
    chance = random.Random(seed)

    def figures(gain: float) -> dict[Metric, float | None]:
        return {
            metric: 500 * exp((gain if metric.more_is_better else -gain) + chance.gauss(0, noise))
            for metric in Metric
        }

    return [PairFigures(figures(gain), figures(0.0)) for _ in range(count)]


def ends(found: LimitResult) -> tuple[float, float, float]:
    """Return low, ratio and high of a limit that has an interval."""
    assert found.low is not None
    assert found.ratio is not None
    assert found.high is not None
    return found.low, found.ratio, found.high


@pytest.mark.parametrize(
    ("text", "limit", "shown"),
    [
        ("p95 +5%", Limit(Metric.P95, 0.05), "p95 at most +5 %"),
        ("throughput -3 %", Limit(Metric.THROUGHPUT, 0.03), "throughput at least -3 %"),
        (
            "path-length=+2.5%",
            Limit(Metric.SERVER_PATH_LENGTH, 0.025),
            "path length at most +2.5 %",
        ),
        ("path_length:+5", Limit(Metric.SERVER_PATH_LENGTH, 0.05), "path length at most +5 %"),
    ],
)
def test_a_limit_is_read_and_shown(text: str, limit: Limit, shown: str) -> None:
    found = Limit.parse(text)
    assert found.metric is limit.metric
    assert found.loss == pytest.approx(limit.loss)
    assert found.text == shown


@pytest.mark.parametrize(
    "text",
    [
        "",
        "p95",
        "p99 +5%",
        "throughput +3%",
        "p95 -5%",
        "throughput -0%",
        "throughput -95%",
        "p95 +nan%",
    ],
)
def test_what_is_no_limit_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"limit"):
        Limit.parse(text)


def test_a_plan_is_checked_and_stored() -> None:
    plan = GatePlan(confidence=0.9, max_pairs=12)
    assert GatePlan.from_json(json.loads(json.dumps(plan.as_json()))) == plan
    for wrong in (
        {"limits": ()},
        {"limits": (Limit(Metric.P95, 0.05), Limit(Metric.P95, 0.1))},
        {"confidence": 1.0},
        {"max_pairs": FIRST_LOOK - 1},
        {"max_pairs": 10_000},
    ):
        with pytest.raises(ValueError, match=r"gate|confidence"):
            GatePlan(**wrong)


def test_bounds_are_those_of_t_where_there_is_one_look_and_higher_where_there_are_many() -> None:
    one = bounds(FIRST_LOOK, 0.05)
    assert one[:-1] == (inf,) * (FIRST_LOOK - 1)
    assert one[-1] == pytest.approx(special.stdtrit(FIRST_LOOK - 1, 0.95), rel=0.03)
    many = bounds(30, 0.05)
    assert list(many[FIRST_LOOK - 1 :]) == sorted(many[FIRST_LOOK - 1 :], reverse=True)
    assert many[-1] > special.stdtrit(29, 0.95)
    with pytest.raises(ValueError, match="can be planned"):
        bounds(3, 0.05)


def test_looking_after_every_pair_errs_no_more_often_than_promised() -> None:
    limits = np.array(bounds(20, 0.05))
    drawn = np.random.default_rng(7).standard_normal((20_000, 20))
    n = np.arange(1, 21)
    mean = drawn.cumsum(axis=1) / n
    with np.errstate(all="ignore"):
        error = np.sqrt(((drawn**2).cumsum(axis=1) / n - mean**2) / (n - 1))
        assert ((mean / error) >= limits).any(axis=1).mean() == pytest.approx(0.05, abs=0.005)
        # The usual value at every look is what must not be done.
        assert ((mean / error) >= special.stdtrit(19, 0.95))[:, 3:].any(axis=1).mean() > 0.12


def test_an_equal_candidate_passes_and_a_worse_one_fails_as_soon_as_that_is_clear() -> None:
    equal = judge_gate(THROUGHPUT, pairs(0.0, 30))
    assert equal.verdict is Verdict.PASS
    (only,) = equal.limits
    low, _, high = ends(only)
    assert 0.95 < low < 1 < high
    worse = judge_gate(THROUGHPUT, pairs(-0.3, 8))
    assert worse.verdict is Verdict.FAIL
    assert ends(worse.limits[0])[2] < 0.95


def test_a_time_is_judged_from_its_own_side() -> None:
    plan = GatePlan((Limit(Metric.P95, 0.05),))
    slower = judge_gate(plan, pairs(-0.3, 10))
    assert slower.verdict is Verdict.FAIL
    (only,) = slower.limits
    low, ratio, _ = ends(only)
    assert ratio == pytest.approx(exp(0.3), rel=0.05)
    assert low > 1.05
    assert judge_gate(plan, pairs(0.3, 10)).verdict is Verdict.PASS


def test_what_is_not_clear_says_what_it_would_take() -> None:
    early = judge_gate(THROUGHPUT, pairs(0.0, 3))
    assert (early.verdict, early.limits[0].ratio) == (Verdict.UNDECIDED, None)
    near = judge_gate(THROUGHPUT, pairs(-0.03, 8, noise=0.05))
    assert near.verdict is Verdict.UNDECIDED
    assert near.limits[0].pairs_to_decide is not None
    assert near.limits[0].pairs_to_decide > 8
    # A difference that is exactly the limit is never decided.
    exact = [
        PairFigures({Metric.THROUGHPUT: 95.0 + d}, {Metric.THROUGHPUT: 100.0 + d})
        for d in (-1, 1) * 4
    ]
    noisy = [
        PairFigures({Metric.THROUGHPUT: 95.0 * f}, {Metric.THROUGHPUT: 100.0 / f})
        for f in (1.1, 1 / 1.1) * 4
    ]
    assert judge_gate(THROUGHPUT, noisy).limits[0].pairs_to_decide is None
    assert judge_gate(THROUGHPUT, exact).pairs == 8


@pytest.mark.long
def test_one_limit_fails_the_gate_and_all_have_to_pass() -> None:
    plan = GatePlan((Limit(Metric.THROUGHPUT, 0.05), Limit(Metric.P95, 0.05)))
    assert judge_gate(plan, pairs(0.0, 30)).verdict is Verdict.PASS
    # One that keeps both is failed no more often than by one: each is failed half as easily.
    one = judge_gate(replace(plan, limits=plan.limits[:1]), pairs(0.0, 30)).limits[0]
    two = judge_gate(plan, pairs(0.0, 30)).limits[0]
    assert ends(one)[:2] == ends(two)[:2]
    assert ends(one)[2] < ends(two)[2]
    mixed = [
        PairFigures(
            {**one.candidate, Metric.P95: 2 * (one.candidate[Metric.P95] or 0)}, one.baseline
        )
        for one in pairs(0.0, 30)
    ]
    found = judge_gate(plan, mixed)
    assert found.verdict is Verdict.FAIL
    assert [one.verdict for one in found.limits] == [Verdict.PASS, Verdict.FAIL]
    # A metric without figures is never passed.
    silent = [
        PairFigures({**one.candidate, Metric.P95: None}, one.baseline) for one in pairs(0, 9)
    ]
    assert judge_gate(plan, silent).limits[1].pairs == 0
    assert judge_gate(plan, silent).verdict is Verdict.UNDECIDED


def test_pairs_beyond_the_plan_do_not_count_and_a_decision_stays() -> None:
    plan = GatePlan((Limit(Metric.THROUGHPUT, 0.05),), max_pairs=10)
    passed = pairs(0.0, 10, noise=0.005)
    assert judge_gate(plan, passed).verdict is Verdict.PASS
    assert judge_gate(plan, passed + pairs(-0.5, 10)).verdict is Verdict.PASS
    long = GatePlan((Limit(Metric.THROUGHPUT, 0.05),), max_pairs=20)
    first = judge_gate(long, passed)
    assert first.verdict is Verdict.PASS
    later = judge_gate(long, passed + pairs(-0.02, 5))
    assert later.verdict is Verdict.PASS
    # Its interval only ever becomes narrower.
    (low, ratio, _), (later_low, later_ratio, _) = ends(first.limits[0]), ends(later.limits[0])
    assert later_low >= low
    assert later_ratio < ratio


def test_noise_of_nothing_is_no_trouble() -> None:
    same = [PairFigures({Metric.THROUGHPUT: 100.0}, {Metric.THROUGHPUT: 100.0})] * 6
    assert judge_gate(THROUGHPUT, same).verdict is Verdict.PASS


def test_pairs_that_contradict_each_other_have_no_interval() -> None:
    """A host that changes under a gate: first the candidate gains 10 %, then it loses 12 %."""
    plan = GatePlan((Limit(Metric.THROUGHPUT, 0.2),), max_pairs=26)
    seen = pairs(0.1, 12, noise=0.005) + pairs(-0.12, 14, noise=0.005)
    (found,) = judge_gate(plan, seen).limits
    assert found.is_inconsistent
    assert (found.low, found.high) == (None, None)
    (before,) = judge_gate(plan, seen[:12]).limits
    low, _, high = ends(before)
    assert low < 1.105 < high
    assert not before.is_inconsistent

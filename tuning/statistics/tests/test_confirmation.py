"""A config is recommended by fresh pairs only."""

from __future__ import annotations

import numpy as np
import pytest

from tuning.statistics.analysis import analyse
from tuning.statistics.confirmation import (
    MAX_PAIRS,
    MIN_PAIRS,
    MIN_WHOLE_PAIRS,
    ConfirmationState,
    confirm,
    confirm_each,
    error_of,
    is_worth_pairs,
    most_pairs,
    pairs_needed,
)
from tuning.statistics.data import Metric
from tuning.statistics.tests.helpers import BASE, bounds, study


def pairs(
    gain: float, count: int = 5, noise: float = 0.05, seed: int = 1
) -> list[tuple[float | None, float | None]]:
    rng = np.random.default_rng(seed)
    values = 1000 * np.exp(rng.normal(0, noise, (count, 2)))
    return [(float(ours * (1 + gain)), float(theirs)) for ours, theirs in values]


def test_a_true_gain_is_confirmed_with_its_own_effect() -> None:
    found = confirm(pairs(0.3), "fast", BASE, run_noise=0.05)
    assert found.state is ConfirmationState.CONFIRMED
    low, ratio, high = bounds(found.estimate)
    assert ratio == pytest.approx(1.3, rel=0.05)
    assert 1 < low < 1.3 < high
    assert found.sentence.startswith("Confirmed: fast +")
    assert "5 fresh pairs" in found.sentence


def test_a_lead_that_does_not_repeat_is_withdrawn() -> None:
    found = confirm(pairs(0.0), "lucky", BASE, run_noise=0.05)
    assert found.state is ConfirmationState.WITHDRAWN
    assert found.sentence.startswith("Not confirmed: lucky ")


def test_fewer_pairs_decide_nothing() -> None:
    some = [*pairs(0.3, count=MIN_WHOLE_PAIRS - 1), (None, 1000.0), (1300.0, None)]
    found = confirm(some, "fast", BASE)
    assert (found.state, found.pairs, found.estimate) == (ConfirmationState.UNFINISHED, 3, None)
    assert found.sentence.startswith(
        "Not confirmed: 3 of 5 pairs of fast and base have both figures, and 4 are needed. "
    )


def test_one_void_pair_of_five_does_not_cost_the_answer() -> None:
    some = [*pairs(0.3, count=MIN_PAIRS - 1), (None, 1000.0)]
    found = confirm(some, "fast", BASE, run_noise=0.05)
    assert (found.state, found.pairs) == (ConfirmationState.CONFIRMED, 4)
    assert "in 4 fresh pairs" in found.sentence
    whole = confirm(pairs(0.3), "fast", BASE, run_noise=0.05)
    narrow, wide = bounds(whole.estimate), bounds(found.estimate)
    assert wide[2] - wide[0] > narrow[2] - narrow[0]


def test_for_response_times_less_confirms() -> None:
    assert confirm(pairs(-0.3), "a", BASE, metric=Metric.P95).state is ConfirmationState.CONFIRMED
    found = confirm(pairs(0.3), "a", BASE, metric=Metric.P95)
    assert found.state is ConfirmationState.WITHDRAWN
    low, _, high = bounds(found.estimate)
    assert low < 1.3 < high


@pytest.mark.long
@pytest.mark.parametrize("noise", [0.05, 0.2])
@pytest.mark.parametrize("count", [MIN_WHOLE_PAIRS, MIN_PAIRS])
def test_what_is_no_better_is_confirmed_in_few_of_many(count: int, noise: float) -> None:
    states = [
        confirm(pairs(0.0, count, noise, seed), "a", BASE, run_noise=noise).state
        for seed in range(400)
    ]
    assert states.count(ConfirmationState.CONFIRMED) <= 0.05 * 400


def test_a_small_effect_takes_more_pairs_up_to_what_choosing_took() -> None:
    large = analyse(study({"a": 0.5}, noise=0.05), BASE)
    small = analyse(study({"a": 0.09}, noise=0.05, blocks=12, seed=3), BASE)
    assert pairs_needed(large, "a", MAX_PAIRS) == MIN_PAIRS
    assert MIN_PAIRS < pairs_needed(small, "a", MAX_PAIRS) <= MAX_PAIRS
    assert pairs_needed(small, "a", 6) == 6
    # Three blocks of six candidates and two baselines are 24 runs.
    assert most_pairs(3, 6) == 12
    assert (most_pairs(1, 6), most_pairs(20, 6)) == (MIN_PAIRS, MAX_PAIRS)
    unsure = analyse(study({"a": 0.01}, noise=0.05, blocks=3), BASE)
    assert is_worth_pairs(large, "a", MIN_PAIRS)
    assert not is_worth_pairs(unsure, "a", MAX_PAIRS)


def test_all_that_are_tried_share_one_error() -> None:
    errors = [error_of(number) for number in range(1, 30)]
    assert errors == sorted(errors, reverse=True)
    assert sum(errors) == pytest.approx(0.05, rel=1e-6)
    # So pairs that confirm the first config may not confirm the second.
    seen = pairs(0.04, count=8, noise=0.03, seed=5)
    found = confirm_each({"first": seen, "second": seen}, BASE, run_noise=0.03)
    first, second = found["first"], found["second"]
    low, ratio, _ = bounds(first.estimate)
    assert bounds(second.estimate)[1] == ratio
    assert (first.state, second.state) == (
        ConfirmationState.CONFIRMED,
        ConfirmationState.WITHDRAWN,
    )
    assert first.estimate is not None
    assert first.estimate.confidence == pytest.approx(0.96)
    assert bounds(second.estimate)[0] < 1 < low

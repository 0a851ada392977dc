"""Figures laid beside each other: intervals hold as often as they say; newest against before."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest

from tuning.statistics.ratios import NEWEST, compare_recent, mean_interval, ratio_of
from tuning.statistics.tests.helpers import bounds

STUDIES = 1500


@pytest.mark.parametrize(("shared", "drift"), [(True, 0.3), (False, 0.0)])
def test_the_interval_of_a_ratio_holds_in_95_of_100(shared: bool, drift: float) -> None:
    dice = np.random.default_rng(20261122)
    hits = 0
    for _ in range(STUDIES):
        blocks = dice.normal(0, drift, 5)
        first = np.exp(blocks + dice.normal(0, 0.03, 5)) * 1000
        other = np.exp(log(1.1) + blocks + dice.normal(0, 0.06, 5)) * 1000
        keys = range(5) if shared else range(10, 15)
        sides = dict(enumerate(first.tolist())), dict(zip(keys, other.tolist(), strict=True))
        low, _, high = bounds(ratio_of(*sides))
        hits += low <= 1.1 <= high
    assert hits / STUDIES == pytest.approx(0.95, abs=0.015)


def test_what_drifts_falls_out_within_blocks_and_makes_it_wide_without() -> None:
    first = {block: 1000.0 * 2**block for block in range(4)}
    other = {block: value * 1.1 for block, value in first.items()}
    assert bounds(ratio_of(first, other)) == pytest.approx((1.1, 1.1, 1.1))
    low, ratio, high = bounds(
        ratio_of(first, {block + 10: value for block, value in other.items()})
    )
    assert ratio == pytest.approx(1.1)
    assert (low < 0.5, high > 2) == (True, True)
    assert bounds(ratio_of({1: 5.0, 2: 5.0}, {3: 5.0, 4: 5.0})) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("first", "other"),
    [({1: 100.0}, {2: 110.0}), ({1: 100.0, 2: 50.0}, {1: 110.0})],
    ids=["no common block", "one common block"],
)
def test_single_runs_have_a_ratio_and_no_interval(
    first: dict[int, float], other: dict[int, float]
) -> None:
    found = ratio_of(first, other)
    assert found is not None
    assert found.ratio == pytest.approx(1.1)
    assert not found.has_interval
    assert ratio_of({}, other) is None


def test_the_mean_is_that_of_the_logs() -> None:
    assert mean_interval([100.0]) is None
    # By hand: logs 0 and 0.2, mean 0.1, standard error 0.1, t(0.975, 1) = 12.706.
    low, high = mean_interval([1.0, exp(0.2)]) or (0.0, 0.0)
    assert (log(low), log(high)) == pytest.approx((0.1 - 1.2706, 0.1 + 1.2706), 1e-3)


def test_a_fall_below_all_that_was_before_is_seen() -> None:
    found = compare_recent([100, 102, 98, 101, 99, 100, *[88.0] * NEWEST])
    assert found is not None
    assert found.before == 6
    assert [found.ratio, found.low, found.high] == pytest.approx([0.88, 0.98, 1.02])
    assert found.is_outside


def test_scatter_and_one_stray_figure_are_no_change() -> None:
    found = compare_recent([100, 104, 97, 101, 99, 100, 98, 50, 103, 101])
    assert found is not None
    assert not found.is_outside


def test_few_figures_are_not_compared() -> None:
    assert compare_recent([100.0] * (2 * NEWEST - 1)) is None
    assert compare_recent([]) is None

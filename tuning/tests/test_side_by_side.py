"""Side by side: the intervals hold as often as they say, in simulation and by hand."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest

from tuning.statistics.side_by_side import geometric_mean, mean_interval, ratio_of

STUDIES = 1500


def covered(shared: bool, drift: float) -> float:
    """How often the interval of a true +10 % holds; with `drift` from block to block."""
    dice = np.random.default_rng(20261122)
    hits = 0
    for _ in range(STUDIES):
        blocks = dice.normal(0, drift, 5)
        first = np.exp(blocks + dice.normal(0, 0.03, 5)) * 1000
        other = np.exp(log(1.1) + blocks + dice.normal(0, 0.06, 5)) * 1000
        keys = range(5) if shared else range(10, 15)
        found = ratio_of(
            dict(enumerate(first.tolist())), dict(zip(keys, other.tolist(), strict=True))
        )
        assert found is not None
        assert found[1] is not None
        hits += found[1].low <= 1.1 <= found[1].high
    return hits / STUDIES


@pytest.mark.parametrize(("shared", "drift"), [(True, 0.3), (False, 0.0)])
def test_the_interval_of_a_ratio_holds_in_95_of_100(shared: bool, drift: float) -> None:
    assert covered(shared, drift) == pytest.approx(0.95, abs=0.015)


def test_what_drifts_falls_out_within_blocks_and_makes_it_wide_without() -> None:
    first = {block: 1000.0 * 2**block for block in range(4)}
    other = {block: value * 1.1 for block, value in first.items()}
    paired = ratio_of(first, other)
    apart = ratio_of(first, {block + 10: value for block, value in other.items()})
    assert paired is not None
    assert apart is not None
    assert paired[0] == pytest.approx(1.1)
    assert paired[1] is not None
    assert paired[1].high - paired[1].low < 1e-6
    assert apart[0] == pytest.approx(1.1)
    assert apart[1] is not None
    assert apart[1].low < 0.5
    assert apart[1].high > 2


def test_single_runs_have_a_ratio_and_no_interval() -> None:
    single = ratio_of({1: 100.0}, {2: 110.0})
    assert single is not None
    assert single[0] == pytest.approx(1.1)
    assert single[1] is None
    # Of one block in both, whatever the other blocks were like.
    shared = ratio_of({1: 100.0, 2: 50.0}, {1: 110.0})
    assert shared is not None
    assert shared[0] == pytest.approx(1.1)
    assert shared[1] is None
    assert ratio_of({}, {2: 110.0}) is None
    assert mean_interval([100.0]) is None
    assert geometric_mean([]) is None
    assert geometric_mean([1.0, 100.0]) == pytest.approx(10.0)
    # By hand: logs 0 and 0.2, mean 0.1, standard error 0.1, t(0.975, 1) = 12.706.
    found = mean_interval([1.0, exp(0.2)])
    assert found is not None
    assert (log(found.low), log(found.high)) == pytest.approx((0.1 - 1.2706, 0.1 + 1.2706), 1e-3)
    alike = ratio_of({1: 5.0, 2: 5.0}, {3: 5.0, 4: 5.0})
    assert alike is not None
    assert alike[1] is not None
    assert (alike[1].low, alike[1].high) == (1.0, 1.0)

"""Changes of level: found where they are, and hardly ever where there are none."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from tuning.statistics.change_points import change_points, levels


def noise(points: int, seed: int) -> list[float]:
    return list(np.random.default_rng(seed).normal(0, 1, points))


@pytest.mark.parametrize("points", [6, 12, 40, 70])
def test_a_series_without_a_change_is_hardly_ever_said_to_have_one(points: int) -> None:
    false = sum(bool(change_points(noise(points, seed))) for seed in range(600))
    assert false <= 600 * 0.025


def test_a_step_is_found_where_it_is() -> None:
    found = [
        change_points([*noise(12, seed), *(x - 5 for x in noise(8, seed + 1000))])
        for seed in range(50)
    ]
    assert sum(bool(places) for places in found) >= 48
    first = [places[0] for places in found if places]
    assert all(abs(place - 12) <= 1 for place in first)


def test_a_slow_drift_whose_every_step_is_small_is_seen() -> None:
    # Each step is a third of the noise.
    seen = [
        change_points([x - n / 3 for n, x in enumerate(noise(24, seed))]) for seed in range(50)
    ]
    assert sum(bool(places) for places in seen) >= 48


def test_two_changes_are_told_apart_and_a_stray_point_is_none() -> None:
    two = [*noise(10, 1), *(x + 8 for x in noise(10, 2)), *noise(10, 3)]
    first, second = change_points(two)
    assert abs(first - 10) <= 1
    assert abs(second - 20) <= 1
    stairs = [*noise(10, 1), *(x + 20 for x in noise(10, 2)), *(x + 28 for x in noise(10, 3))]
    first, second = change_points(stairs)
    assert abs(first - 10) <= 1
    assert abs(second - 20) <= 1
    loud = noise(20, 4)
    loud[10] += 60
    ends = [0, *change_points(loud), 20]
    assert all(end - begin >= 3 for begin, end in pairwise(ends)), "no part is of one point"
    stray = noise(20, 4)
    stray[10] += 12
    assert change_points(stray) == []
    assert change_points([1.0, 2.0, 3.0]) == []
    assert change_points([5.0] * 12) == []
    assert change_points([5.0] * 6 + [6.0] * 6) == [6]


def test_levels_have_their_mean_and_the_size_of_each_change() -> None:
    figures = [6000 * float(np.exp(0.01 * x)) for x in noise(10, 5)]
    figures += [4500 * float(np.exp(0.01 * x)) for x in noise(8, 6)]
    first, second = levels(figures)
    assert (first.begin, first.end, second.begin, second.end) == (0, 10, 10, 18)
    assert (first.points, second.points) == (10, 8)
    assert first.mean == pytest.approx(6000, rel=0.01)
    assert (first.ratio, first.interval) == (1.0, None)
    assert second.ratio == pytest.approx(second.mean / first.mean)
    assert second.interval is not None
    assert second.interval.low < 0.75 < second.interval.high
    assert second.interval.high - second.interval.low < 0.03
    assert levels([]) == []
    [only] = levels([5.0, 6.0])
    assert only.points == 2
    assert only.mean == pytest.approx(30**0.5)

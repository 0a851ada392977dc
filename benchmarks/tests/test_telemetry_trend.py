"""Still warming up: a trend is found, noise is not taken for one."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.telemetry.trend import Trend, find_trend


def noisy(level: np.ndarray, share: float, seed: int) -> list[int]:
    noise = np.random.default_rng(seed).normal(0.0, share, level.size)
    return [int(count) for count in np.maximum(0, level * (1 + noise))]


def test_the_change_is_over_the_whole_interval_in_percent() -> None:
    trend = find_trend([1000 + 10 * second for second in range(20)])
    assert trend is not None
    assert trend.pct == pytest.approx(100 * 200 / 1095)
    assert trend.chance < 1e-6
    assert not trend.is_steady


@pytest.mark.parametrize("seconds", [12, 60, 300])
def test_a_server_that_warms_up_or_slows_down_is_not_steady(seconds: int) -> None:
    for factors in ((0.7, 1.3), (1.3, 0.7)):
        ramp = np.linspace(*factors, seconds) * 500
        found = [find_trend(noisy(ramp, 0.08, seed)) for seed in range(50)]
        assert sum(trend is not None and not trend.is_steady for trend in found) >= 45
        assert all(trend is not None and trend.pct * (factors[1] - 1) > 0 for trend in found)


@pytest.mark.parametrize("seconds", [12, 60, 300])
def test_noise_is_no_trend(seconds: int) -> None:
    flat = np.full(seconds, 500.0)
    found = [find_trend(noisy(flat, 0.2, seed)) for seed in range(200)]
    assert sum(trend is not None and not trend.is_steady for trend in found) <= 6


def test_a_sure_trend_of_a_few_percent_does_no_harm() -> None:
    trend = find_trend(noisy(np.linspace(0.98, 1.02, 300) * 5000, 0.005, 1))
    assert trend is not None
    assert trend.chance < 0.001
    assert trend.is_steady


def test_a_second_without_work_does_not_make_a_trend() -> None:
    per_second = [500, 510, 495, 505, 500, 498, 507, 503, 500, 502, 0, 0]
    trend = find_trend(per_second)
    assert trend is not None
    assert trend.is_steady
    assert abs(trend.pct) < 10


@pytest.mark.parametrize("per_second", [[], [5] * 7, [0] * 30])
def test_too_few_seconds_for_a_trend(per_second: list[int]) -> None:
    assert find_trend(per_second) is None


def test_equal_seconds_have_no_trend() -> None:
    assert find_trend([100] * 30) == Trend(pct=0.0, chance=1.0)

"""The critical values agree with scipy's and with simulation."""

from __future__ import annotations

import numpy as np
import pytest
import scipy  # its `stats` are loaded where they are used: each process imports all tests

from tuning.statistics.compare import against_baseline, among_all, critical_value


@pytest.mark.parametrize("df", [3.0, 7.0, 55.0, 9e3])
def test_one_difference_is_students_t(df: float) -> None:
    expected = scipy.stats.t.ppf(0.975, df)
    assert critical_value(0.05, np.array(df)) == pytest.approx(expected)
    for correlation in (0.0, 0.4, 0.8):
        found = against_baseline(1, 0.05, np.array(df), correlation)
        assert found == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize(("count", "df"), [(2, 5.0), (8, 20.0), (8, 4.0), (5, 60.0)])
def test_all_pairs_are_the_studentized_range(count: int, df: float) -> None:
    expected = scipy.stats.studentized_range.ppf(0.95, count, df) / np.sqrt(2)
    assert among_all(count, 0.05, np.array(df)) == pytest.approx(expected, rel=3e-3)


@pytest.mark.parametrize(("correlation", "df"), [(1 / 3, 12.0), (0.5, 30.0), (0.25, 5.0)])
def test_differences_to_a_baseline_err_together_as_often_as_said(
    correlation: float, df: float
) -> None:
    rng = np.random.default_rng(3)
    shared, own = rng.normal(size=(200_000, 1)), rng.normal(size=(200_000, 6))
    z = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own
    t = z / np.sqrt(rng.chisquare(df, (200_000, 1)) / df)
    limit = against_baseline(6, 0.05, np.array(df), correlation)
    assert (np.abs(t) > limit).any(axis=1).mean() == pytest.approx(0.05, abs=0.002)


def test_stricter_and_more_means_larger() -> None:
    df, correlation = np.array([3.0, 10.0, 50.0]), 0.3
    usual = against_baseline(5, 0.05, df, correlation)
    assert (np.diff(usual) < 0).all()
    assert (against_baseline(5, 0.01, df, correlation) > usual).all()
    assert (against_baseline(9, 0.05, df, correlation) > usual).all()
    assert (among_all(6, 0.05, df) > usual).all()


@pytest.mark.parametrize("alpha", [1e-8, 1e-10])
def test_an_error_rate_below_what_can_be_computed_has_a_value(alpha: float) -> None:
    df = np.array([7.0, 1e4])
    for found in (against_baseline(3, alpha, df, 1 / 3), among_all(3, alpha, df)):
        assert (found >= critical_value(alpha, df)).all()
        assert (found <= 1.01 * critical_value(alpha / 3, df)).all()

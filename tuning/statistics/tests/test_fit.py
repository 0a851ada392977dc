"""The fit: means of log ratios within blocks, outliers pulled in, gaps filled from the blocks."""

from __future__ import annotations

import numpy as np
import pytest

from tuning.statistics import fit as fitting
from tuning.statistics.compare import compare, noise_floor, same_config
from tuning.statistics.fit import fit

TREATMENT = np.array([0, 0, 1, 2, 3])


def quiet(blocks: int, seed: int = 1, noise: float = 0.02) -> np.ndarray:
    rng = np.random.default_rng(seed)
    y = rng.normal(0, noise, (5, blocks)) + rng.normal(0, 0.2, blocks)
    y[2] += 0.3
    return y


def test_without_outliers_it_is_the_textbook() -> None:
    y = quiet(6)
    found = fit(y, TREATMENT, clip=50)
    expected = (y[2:] - y[:2].mean(axis=0)).mean(axis=1)
    assert found.effects == pytest.approx([0, *expected])
    assert found.df == 30 - 4 - 5
    v = found.variances
    assert found.variance()[1, 0] == pytest.approx(v[1] / 6 + v[0] / 12)
    assert found.variance()[1, 2] == pytest.approx(v[1] / 6 + v[2] / 6)
    assert found.correlation() == pytest.approx(1 / 3, abs=0.15)


def test_a_stalled_run_moves_the_effect_by_a_fraction_of_what_it_moves_the_mean() -> None:
    y = quiet(6)
    before = fit(y, TREATMENT).effects[2]
    y[3, 4] -= 2.0
    assert abs(fit(y, TREATMENT).effects[2] - before) < 0.05  # the mean moves by 0.33


def test_a_missing_run_changes_little_and_costs_precision() -> None:
    y = quiet(5)
    whole = fit(y, TREATMENT)
    y[2, 1] = np.nan
    gap = fit(y, TREATMENT)
    assert gap.effects[1] == pytest.approx(whole.effects[1], abs=0.03)
    assert compare(gap).half[1] > compare(whole).half[1]


def test_a_candidate_that_left_after_three_blocks_is_judged_by_those() -> None:
    y = quiet(12)
    y[4, 3:] = np.nan
    found = compare(fit(y, TREATMENT))
    assert found.effects[3] == pytest.approx(0, abs=0.06)
    assert found.half[3] > 1.4 * found.half[2]


def test_nothing_is_estimated_without_a_common_block_with_the_baseline() -> None:
    y = quiet(4)
    y[:2, 2:] = np.nan
    y[4, :2] = np.nan
    effects = fit(y, TREATMENT).effects
    assert list(np.isfinite(effects)) == [True, True, True, False]


@pytest.mark.parametrize("rows", [5, 2])
def test_one_block_gives_effects_and_no_interval(rows: int) -> None:
    found = compare(fit(quiet(1)[:rows], TREATMENT[:rows]))
    assert np.isfinite(found.effects).all()
    assert np.isnan(found.half[1:]).all()
    assert found.winner() == 0


def test_it_ends_where_further_iterations_change_no_figure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    y = quiet(20)
    y[2, 3] -= 1.0
    found = fit(y, TREATMENT)
    monkeypatch.setattr(fitting, "_SETTLED", 0.0)
    monkeypatch.setattr(fitting, "_ITERATIONS", 200)
    longer = fit(y, TREATMENT)
    assert found.effects == pytest.approx(longer.effects, abs=1e-7)
    assert found.variances == pytest.approx(longer.variances, rel=1e-5)


def test_a_noisy_candidate_has_the_wider_interval() -> None:
    y = quiet(12)
    y[4] += np.random.default_rng(7).normal(0, 0.2, 12)
    half = compare(fit(y, TREATMENT)).half
    assert half[3] > 1.7 * half[1]


def test_the_floor_is_at_least_what_the_two_baselines_differ_by() -> None:
    y = quiet(6, noise=0.01)
    assert noise_floor(fit(y, TREATMENT)) < 0.02
    y[1] += 0.08
    assert noise_floor(fit(y, TREATMENT)) > 0.07
    assert same_config(fit(y[1:], TREATMENT[1:])) is None


@pytest.mark.parametrize("pairs", [10, 20])
def test_the_noise_floor_is_exceeded_in_at_most_five_percent_of_studies(pairs: int) -> None:
    rng, treatment = np.random.default_rng(8), np.array([0, *range(7)])
    fitted = [fit(rng.normal(0, 0.05, (8, pairs)), treatment) for _ in range(400)]
    # The floor is the larger of the difference that was measured and the limit of such ones.
    exceeded = [noise_floor(one) <= abs(same_config(one) or 0.0) for one in fitted]
    assert np.mean(exceeded) <= 0.05


def test_equal_figures_are_equal_with_certainty() -> None:
    found = compare(fit(np.zeros((5, 3)), TREATMENT))
    assert found.effects == pytest.approx(0)
    assert found.half == pytest.approx(0, abs=1e-6)
    assert found.winner() == 0

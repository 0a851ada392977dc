"""The fit: means of log ratios within blocks, outliers pulled in, gaps filled from the blocks."""

from __future__ import annotations

import numpy as np
import pytest

from tuning.statistics import fit as fitting
from tuning.statistics.compare import compare, noise_floor
from tuning.statistics.fit import fit

TREATMENT = np.array([0, 0, 1, 2, 3])


def quiet(blocks: int, seed: int = 1, noise: float = 0.02) -> np.ndarray:
    rng = np.random.default_rng(seed)
    y = rng.normal(0, noise, (1, 5, blocks)) + rng.normal(0, 0.2, (1, 1, blocks))
    y[:, 2] += 0.3
    return y


def test_without_outliers_effects_are_means_of_log_ratios_within_the_blocks() -> None:
    y = quiet(6)
    found = fit(y, TREATMENT, clip=50)
    expected = (y[0, 2:] - y[0, :2].mean(axis=0)).mean(axis=1)
    assert found.effects[0] == pytest.approx([0, *expected])
    assert found.df[0] == 30 - 4 - 5


def test_their_variance_is_that_of_the_textbook() -> None:
    found = fit(quiet(6), TREATMENT, clip=50)
    v = found.variances[0]
    assert found.variance()[0, 1, 0] == pytest.approx(v[1] / 6 + v[0] / 12)
    assert found.variance()[0, 1, 2] == pytest.approx(v[1] / 6 + v[2] / 6)
    assert found.correlation()[0] == pytest.approx(1 / 3, abs=0.15)


def test_a_stalled_run_moves_the_effect_by_a_fraction_of_what_it_moves_the_mean() -> None:
    y = quiet(6)
    before = fit(y, TREATMENT).effects[0, 2]
    y[0, 3, 4] -= 2.0
    after = fit(y, TREATMENT).effects[0, 2]
    assert abs(after - before) < 0.05  # the mean moves by 0.33


def test_a_missing_run_changes_little_and_costs_precision() -> None:
    y = quiet(5)
    whole = fit(y, TREATMENT)
    y[0, 2, 1] = np.nan
    gap = fit(y, TREATMENT)
    assert gap.effects[0, 1] == pytest.approx(whole.effects[0, 1], abs=0.03)
    assert compare(gap).half[0, 1] > compare(whole).half[0, 1]


def test_a_candidate_that_left_after_three_blocks_is_judged_by_those() -> None:
    y = quiet(12)
    y[0, 4, 3:] = np.nan
    found = compare(fit(y, TREATMENT))
    assert found.effects[0, 3] == pytest.approx(0, abs=0.06)
    assert found.half[0, 3] > 1.4 * found.half[0, 2]


def test_nothing_is_estimated_without_a_common_block_with_the_baseline() -> None:
    y = quiet(4)
    y[0, :2, 2:] = np.nan
    y[0, 4, :2] = np.nan
    effects = fit(y, TREATMENT).effects[0]
    assert np.isnan(effects[3])
    assert np.isfinite(effects[:3]).all()


def test_one_block_gives_effects_and_no_interval() -> None:
    found = compare(fit(quiet(1), TREATMENT))
    assert np.isfinite(found.effects).all()
    assert np.isnan(found.half[0, 1:]).all()
    assert found.winner()[0] == 0


def test_many_studies_at_once_are_judged_as_one_by_one() -> None:
    y = np.concatenate([quiet(4, seed) for seed in range(5)])
    y[2, 3, 1] = y[3, 0, 0] = np.nan
    together = compare(fit(y, TREATMENT))
    for study in range(5):
        alone = compare(fit(y[study : study + 1], TREATMENT))
        assert alone.effects[0] == pytest.approx(together.effects[study])
        assert alone.half[0] == pytest.approx(together.half[study])


def test_it_ends_where_further_iterations_change_no_figure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    y = np.concatenate([quiet(20, seed) for seed in range(5)])
    y[:, 2, 3] -= 1.0
    found = fit(y, TREATMENT)
    monkeypatch.setattr(fitting, "_SETTLED", 0.0)
    monkeypatch.setattr(fitting, "_ITERATIONS", 200)
    longer = fit(y, TREATMENT)
    assert found.effects == pytest.approx(longer.effects, abs=1e-7)
    assert found.variances == pytest.approx(longer.variances, rel=1e-5)


def test_a_noisy_candidate_has_the_wider_interval() -> None:
    y = quiet(12)
    y[0, 4] += np.random.default_rng(7).normal(0, 0.2, 12)
    half = compare(fit(y, TREATMENT)).half[0]
    assert half[3] > 1.7 * half[1]


def test_the_floor_is_at_least_what_the_two_baselines_differ_by() -> None:
    y = quiet(6, noise=0.01)
    assert noise_floor(fit(y, TREATMENT))[0] < 0.02
    y[:, 1] += 0.08
    assert noise_floor(fit(y, TREATMENT))[0] > 0.07


def test_equal_figures_are_equal_with_certainty() -> None:
    found = compare(fit(np.zeros((1, 5, 3)), TREATMENT))
    assert found.effects[0] == pytest.approx(0)
    assert found.half[0] == pytest.approx(0, abs=1e-6)
    assert found.winner()[0] == 0

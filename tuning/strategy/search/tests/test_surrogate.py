"""The model finds what is there, and knows what it does not know."""

from __future__ import annotations

import numpy as np
import pytest

from tuning.strategy.search.surrogate import Floats, Ints, Surrogate, fit, fit_robust


def worth(x: Floats) -> Floats:
    return np.asarray(0.3 * np.sin(3 * x[:, 0]) + 0.2 * x[:, 1] * x[:, 2])


def measured(runs: int, shift: float = 0.0) -> tuple[Floats, Floats, Ints]:
    random = np.random.default_rng(5)
    x = random.random((runs, 6))
    batch = np.arange(runs) // 6
    shifts = random.normal(0, shift, batch.max() + 1)
    return x, worth(x) + shifts[batch] + random.normal(0, 0.03, runs), batch


def test_it_learns_effects_interactions_and_what_does_not_matter() -> None:
    x, y, batch = measured(60)
    model = fit(x, y, batch)
    there = np.random.default_rng(6).random((500, 6))
    mean, sd = model.predict(there)
    gap = mean - worth(there)
    gap -= gap.mean()
    assert np.sqrt((gap**2).mean()) < 0.3 * worth(there).std()
    assert (np.abs(gap) < 2 * sd).mean() > 0.85
    assert model.weight[0] > 5 * model.weight[3:].max()


def test_a_drifting_host_is_not_taken_for_good_configs() -> None:
    x, y, batch = measured(60, shift=0.15)
    model = fit(x, y, batch)
    there = np.random.default_rng(6).random((500, 6))
    gap = model.predict(there)[0] - worth(there)
    assert model.shift > 0.045
    assert (gap - gap.mean()).std() < 0.4 * worth(there).std()


def test_what_is_known_by_a_bound_only_counts_less() -> None:
    x, y, batch = measured(40)
    y[0] -= 1.0
    sure = fit(x, y, batch).predict(x[:1])[0]
    unsure = fit(x, y, batch, np.array([1.0] + [0.0] * 39)).predict(x[:1])[0]
    assert abs(unsure[0] - worth(x[:1])[0]) < abs(sure[0] - worth(x[:1])[0])


def test_covariance_agrees_with_the_deviations() -> None:
    x, y, batch = measured(30)
    model = fit(x, y, batch)
    there = np.random.default_rng(7).random((20, 6))
    deviations = np.sqrt(np.diag(model.covariance(there)))
    assert deviations == pytest.approx(model.predict(there)[1], rel=1e-6)


def test_nothing_is_learned_from_nothing() -> None:
    with pytest.raises(ValueError, match="nothing to learn"):
        fit(np.zeros((0, 3)), np.zeros(0), np.zeros(0, dtype=np.int64))


def test_a_run_that_is_far_off_bends_nothing() -> None:
    x, y, batch = measured(60)
    clean = fit(x, y, batch)
    y[[7, 30]] -= 0.8
    nothing = np.zeros(len(y))
    bent, robust = fit(x, y, batch), fit_robust(x, y, batch, nothing)
    there = np.random.default_rng(6).random((500, 6))

    def error(model: Surrogate) -> float:
        gap = model.predict(there)[0] - worth(there)
        return float((gap - gap.mean()).std())

    assert error(robust) < 1.3 * error(clean) < error(bent)
    assert robust.noise < bent.noise


def test_the_search_for_a_fit_stays_where_numbers_are_numbers() -> None:
    random = np.random.default_rng(8)
    for runs in (1, 2, 3, 12):
        x = random.random((runs, 18))
        model = fit_robust(x, np.zeros(runs), np.arange(runs), np.zeros(runs))
        mean, sd = model.predict(random.random((5, 18)))
        assert np.isfinite(mean).all()
        assert np.isfinite(sd).all()

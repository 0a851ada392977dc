"""The model finds what is there, and knows what it does not know."""

from __future__ import annotations

import numpy as np
import pytest

from tuning.strategy.search.surrogate import Floats, Ints, fit


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
    deviations = np.sqrt(np.diag(model.covariance(there, there)))
    assert deviations == pytest.approx(model.predict(there)[1], rel=1e-6)


def test_nothing_is_learned_from_nothing() -> None:
    with pytest.raises(ValueError, match="nothing to learn"):
        fit(np.zeros((0, 3)), np.zeros(0), np.zeros(0, dtype=np.int64))

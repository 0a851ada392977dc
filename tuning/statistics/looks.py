"""A test that may be repeated after every pair: how far from a limit the mean must be each time.

Looking again and again at an ordinary interval finds differences that do not exist. So each look
spends only a share of the error rate (Lan and DeMets 1983, with Kim and DeMets' power family): by
look n of N the share (n / N)² of it is spent, little at first, when the noise is hardly known. The
bounds are those of Student's t of the same growing sample: they are taken from simulated
samples, because its looks have no closed form and the usual approximation, t with the tail
probabilities of a normal, errs in 5.5 to 6 % of gates instead of 5 %.
"""

from __future__ import annotations

from functools import lru_cache
from math import inf

import numpy as np
from numpy.typing import NDArray

from tuning.statistics.fit import fit

Floats = NDArray[np.float64]

#: Pairs before the first look: the noise of fewer is not known.
FIRST_LOOK = 4
#: The most looks that are planned.
MAX_LOOKS = 200

_SPENDING = 2
_SAMPLES = 200_000
# Fixed, so that the same pairs always give the same verdict.
_SEED = 1983


@lru_cache(maxsize=64)
def bounds(looks: int, alpha: float) -> tuple[float, ...]:
    """For each pair from the first the least t of a look that ends the test; inf before it.

    looks: the most pairs that may be measured. alpha: how often any look exceeds its bound, to
        one side, if the mean is exactly at the limit.
    Raises ValueError for fewer pairs than the first look takes, or more than are planned.
    """
    if not FIRST_LOOK <= looks <= MAX_LOOKS:
        raise ValueError(f"a test of {FIRST_LOOK} to {MAX_LOOKS} pairs can be planned")
    rng = np.random.default_rng(_SEED)
    total, squares = np.zeros(_SAMPLES), np.zeros(_SAMPLES)
    waiting = np.ones(_SAMPLES, dtype=bool)
    found = []
    for n in range(1, looks + 1):
        drawn = rng.standard_normal(_SAMPLES)
        total += drawn
        squares += drawn**2
        to_spend = alpha * (n / looks) ** _SPENDING * _SAMPLES
        count = round(to_spend - (_SAMPLES - int(waiting.sum())))
        if n < FIRST_LOOK or count < 1:
            found.append(inf)
            continue
        mean = total / n
        t = mean / np.sqrt(np.maximum(squares / n - mean**2, 1e-300) / (n - 1))
        bound = -np.partition(-t[waiting], count - 1)[count - 1]
        found.append(float(bound))
        waiting &= t < bound
    return tuple(found)


def growing(y: Floats) -> tuple[Floats, Floats]:
    """Mean log ratio of the first n pairs and its standard error, each (pairs,).

    y: (2, pairs), logs of the baseline's and of the candidate's figures. NaN before the first
    look. Outliers are pulled in as in `tuning.statistics.fit`.
    """
    pairs = y.shape[1]
    mean, error = np.full(pairs, np.nan), np.full(pairs, np.nan)
    for n in range(FIRST_LOOK, pairs + 1):
        fitted = fit(y[:, :n], np.array([0, 1]))
        mean[n - 1], error[n - 1] = fitted.effects[1], np.sqrt(2 * fitted.pooled / n)
    return mean, error

"""Predictions for the space by the runs so far: how good, within limits, able to run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from tuning.strategy.search.surrogate import Surrogate

Floats = NDArray[np.float64]

# Between a config that runs (1) and one that fails (0), and how blurred that is.
_MIDDLE = 0.5
_BLUR = 0.2


@dataclass(frozen=True)
class Limit:
    """A figure that must be kept: `model` of its log, larger is better, and the least of it."""

    model: Surrogate
    least: float

    def chance(self, x: Floats) -> Floats:
        """(points,) probability that it is kept."""
        mean, sd = self.model.predict(x)
        return np.asarray(scipy.special.ndtr((mean - self.least) / sd))


@dataclass(frozen=True)
class Beliefs:
    """objective: of the log of the figure, larger is better.

    runs: of whether a config runs, 1 or 0; None as long as none failed. A failure is no figure: a
    very bad one would bend the objective around it.
    """

    objective: Surrogate
    runs: Surrogate | None = None
    limits: tuple[Limit, ...] = ()

    def chance(self, x: Floats) -> Floats:
        """(points,) probability that a config runs and keeps every limit."""
        found = np.ones(len(x))
        if self.runs is not None:
            mean, sd = self.runs.predict(x)
            found = scipy.special.ndtr((mean - _MIDDLE) / np.sqrt(sd**2 + _BLUR**2))
        for limit in self.limits:
            found = found * limit.chance(x)
        return found

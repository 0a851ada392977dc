"""Made-up runs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tuning.statistics.data import Observation
from tuning.statistics.estimate import Estimate

BASE = "base"


def study(
    gains: Mapping[str, float],
    *,
    blocks: int = 6,
    noise: float = 0.02,
    seed: int = 1,
    metric: str = "throughput",
    first_block: int = 1,
) -> list[Observation]:
    """Blocks with two baselines and the named candidates; gains as shares, noise lognormal."""
    rng = np.random.default_rng(seed)
    runs = []
    for block in range(first_block, first_block + blocks):
        host = rng.normal(0, 0.1)
        for name, replicate, gain in [
            (BASE, 0, 0.0),
            (BASE, 1, 0.0),
            *((name, 0, gain) for name, gain in gains.items()),
        ]:
            value = 1000 * (1 + gain) * float(np.exp(host + rng.normal(0, noise)))
            runs.append(
                ok(name, block, replicate=replicate, **({"throughput": 1.0} | {metric: value}))
            )
    return runs


def ok(candidate: str, block: int, replicate: int = 0, **figures: float) -> Observation:
    return Observation(candidate, block, "ok", replicate=replicate, **figures)


def bounds(found: Estimate | None) -> tuple[float, float, float]:
    """Return low, ratio and high of an estimate with an interval."""
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    return found.low, found.ratio, found.high


def cut(candidate: str, block: int, throughput_at_most: float) -> Observation:
    return Observation(candidate, block, "cut_short", throughput_at_most=throughput_at_most)

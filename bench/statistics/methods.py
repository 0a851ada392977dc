"""The methods that were tried for the intervals, including the chosen one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import special

from tuning.statistics.compare import ALPHA, against_baseline, compare
from tuning.statistics.fit import fit

Floats = NDArray[np.float64]
# From (studies, rows, blocks) to effects and half widths, both (studies, candidates).
Method = Callable[[Floats], tuple[Floats, Floats]]

CHOSEN = "chosen"


def rows_treatment(rows: int) -> NDArray[np.int64]:
    """Two baselines, then the candidates."""
    return np.array([0, *range(rows - 1)])


def _chosen(y: Floats) -> tuple[Floats, Floats]:
    treatment = rows_treatment(y.shape[1])
    found = [compare(fit(study, treatment)) for study in y]
    return np.array([one.effects[1:] for one in found]), np.array([one.half[1:] for one in found])


def _differences(y: Floats) -> Floats:
    """Log ratios to the baseline of the block, its two runs averaged."""
    return np.asarray(y[:, 2:] - y[:, :2].mean(axis=1, keepdims=True))


def _student(y: Floats) -> tuple[Floats, Floats]:
    """Each candidate on its own: Student's t, Bonferroni."""
    d = _differences(y)
    _, candidates, blocks = d.shape
    limit = special.stdtrit(blocks - 1, 1 - ALPHA / 2 / candidates)
    return d.mean(axis=2), limit * d.std(axis=2, ddof=1) / np.sqrt(blocks)


def _pooled(y: Floats) -> tuple[Floats, Floats]:
    """Two-way analysis of variance, one variance for all, Dunnett's values; no robustness."""
    _, rows, blocks = y.shape
    d = _differences(y)
    row = np.concatenate([y[:, :2].mean(axis=(1, 2))[:, None]] * 2 + [y[:, 2:].mean(axis=2)], 1)
    left = y - row[:, :, None]
    left -= left.mean(axis=1, keepdims=True)
    df = rows * blocks - (rows - 1) - (blocks - 1)
    variance = (left**2).sum(axis=(1, 2)) / df
    limit = against_baseline(rows - 2, ALPHA, np.array(df), 1 / 3)
    half = limit * np.sqrt(1.5 * variance / blocks)
    return d.mean(axis=2), np.repeat(half[:, None], rows - 2, axis=1)


def _moderated(y: Floats, prior: float) -> tuple[Floats, Floats]:
    """Variances of the differences, moderated by their mean (Smyth 2004); no robustness."""
    d = _differences(y)
    _, candidates, blocks = d.shape
    own = d.var(axis=2, ddof=1)
    variance = (prior * own.mean(axis=1, keepdims=True) + (blocks - 1) * own) / (
        prior + blocks - 1
    )
    limit = against_baseline(candidates, ALPHA, np.array(prior + blocks - 1), 1 / 3)
    return d.mean(axis=2), limit * np.sqrt(variance / blocks)


def _huber_pooled(y: Floats) -> tuple[Floats, Floats]:
    """The chosen fit's effects with one variance for all."""
    _, rows, blocks = y.shape
    fitted = [fit(study, rows_treatment(rows)) for study in y]
    df, pooled = np.array([(one.df, one.pooled) for one in fitted]).T
    limit = against_baseline(rows - 2, ALPHA, df, 1 / 3)
    half = limit * np.sqrt(1.5 * pooled / blocks)
    effects = np.array([one.effects[1:] for one in fitted])
    return effects, np.repeat(half[:, None], rows - 2, axis=1)


def _trimmed(y: Floats) -> tuple[Floats, Floats]:
    """Each candidate on its own: means without the outer fifth (Yuen 1974), Bonferroni."""
    d = np.sort(_differences(y), axis=2)
    _, candidates, blocks = d.shape
    cut = max(1, blocks // 5) if blocks > 3 else 0
    kept = blocks - 2 * cut
    winsorised = np.clip(d, d[:, :, cut : cut + 1], d[:, :, blocks - cut - 1 : blocks - cut])
    error = winsorised.std(axis=2, ddof=1) / ((kept / blocks) * np.sqrt(blocks))
    limit = special.stdtrit(kept - 1, 1 - ALPHA / 2 / candidates)
    return d[:, :, cut : blocks - cut].mean(axis=2), limit * error


def _bootstrap(y: Floats, resamples: int = 199) -> tuple[Floats, Floats]:
    """Blocks resampled; half the width of the largest deviation's 95 % quantile."""
    rng = np.random.default_rng(1)
    d = _differences(y)
    blocks = d.shape[2]
    centre = d.mean(axis=2)
    counts = rng.multinomial(blocks, np.full(blocks, 1 / blocks), size=resamples)
    means = np.einsum("skb,nb->snk", d, counts / blocks)
    largest = np.abs(means - centre[:, None]).max(axis=2)
    half = np.quantile(largest, 1 - ALPHA, axis=1)
    return centre, np.repeat(half[:, None], d.shape[1], axis=1)


METHODS: dict[str, Method] = {
    CHOSEN: _chosen,
    "t, Bonferroni": _student,
    "Yuen, Bonferroni": _trimmed,
    "pooled, Dunnett": _pooled,
    "Huber, pooled": _huber_pooled,
    "moderated": partial(_moderated, prior=8.0),
    "bootstrap": _bootstrap,
}

"""Simulated studies, judged by the code that judges real ones and by what peers do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.statistics.methods import METHODS, rows_treatment
from bench.statistics.noise import Scenario
from tuning.statistics.analysis import analyse_table
from tuning.statistics.compare import compare
from tuning.statistics.confirmation import ConfirmationState, confirm, pairs_needed
from tuning.statistics.data import Metric, Table
from tuning.statistics.fit import fit
from tuning.strategy.racing import FIRST_LOOK, decided, drop_alpha, keep

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

# Fits at once: the arrays of so many studies stay in the processor's cache.
_CHUNK = 500
HAMMERDB_THRESHOLD = 1.025
PEERS_REPEATS = 3


def draw(scenario: Scenario, studies: int, effects: Sequence[float], blocks: int) -> Floats:
    """Log figures; `effects` are the candidates' true gains as shares (0.1: +10 %).

    The seed depends on the shape and the scenario, so each figure can be repeated by itself.
    """
    seed = [ord(letter) for letter in scenario.name] + [len(effects), blocks]
    y = scenario.draw(np.random.default_rng(seed), studies, len(effects) + 2, blocks)
    y[:, 2:] += np.log1p(np.array(effects))[None, :, None]
    return y


def winners(y: Floats) -> Places:
    """(studies,): what the production code names; 0 is the baseline, 1 the first candidate."""
    treatment = rows_treatment(y.shape[1])
    parts = [
        compare(fit(y[start : start + _CHUNK], treatment)).winner()
        for start in range(0, len(y), _CHUNK)
    ]
    return np.concatenate(parts)


@dataclass(frozen=True)
class Coverage:
    """share: studies whose intervals all hold; width: mean width in log units."""

    share: float
    width: float


def coverage(y: Floats, effects: Sequence[float]) -> dict[str, Coverage]:
    """Every method's, on the same data."""
    truth = np.log1p(np.array(effects))[None]
    found = {}
    for name, method in METHODS.items():
        parts = [method(y[start : start + _CHUNK]) for start in range(0, len(y), _CHUNK)]
        effect, half = (np.concatenate(part) for part in zip(*parts, strict=True))
        holds = (np.abs(effect - truth) <= half).all(axis=1)
        found[name] = Coverage(float(holds.mean()), 2 * float(half.mean()))
    return found


@dataclass(frozen=True)
class Race:
    """winner and winner_in_full: (studies,), by racing and by all runs. share: of runs used."""

    winner: Places
    winner_in_full: Places
    share: float


def race(y: Floats) -> Race:
    """Race every study over the blocks of `y`, as `racing.next_block` does one block at a time."""
    studies, rows, blocks = y.shape
    live = np.ones((studies, rows - 1), dtype=bool)
    running = np.ones(studies, dtype=bool)
    seen = np.full_like(y, np.nan)
    used = np.zeros(studies)
    for block in range(blocks):
        takes_part = running[:, None] & np.concatenate([live[:, :1], live], axis=1)
        seen[:, :, block] = np.where(takes_part, y[:, :, block], np.nan)
        used += takes_part.sum(axis=1)
        if block + 1 < FIRST_LOOK or block + 1 == blocks:
            continue
        places = np.flatnonzero(running)
        for start in range(0, len(places), _CHUNK):
            some = places[start : start + _CHUNK]
            fitted = fit(seen[some, :, : block + 1], rows_treatment(rows))
            live[some] = keep(compare(fitted, drop_alpha(block + 1)), live[some])
            over = decided(fitted, live[some], block + 1) | ~live[some, 1:].any(axis=1)
            running[some[over]] = False
    return Race(winners(seen), winners(y), float(used.mean() / (rows * blocks)))


@dataclass(frozen=True)
class Confirmed:
    """in_study, in_pairs: mean effects of the winners as shares; pairs: mean count of pairs;
    share: of the winners that are confirmed; winners: how many were judged.
    """

    in_study: float
    in_pairs: float
    pairs: float
    share: float
    winners: int


def confirmed(
    scenario: Scenario, studies: int, effects: Sequence[float], blocks: int, most: int
) -> Confirmed:
    """Measure up to `most` winners again; the best candidate if a study names none."""
    y = draw(scenario, studies, effects, blocks)[:most]
    rng = np.random.default_rng(blocks)
    logs, fresh, counts, states = [], [], [], []
    named = winners(y) > 0
    # Among equals a winner is rare: the best candidate of every study is used instead.
    for study in y[named] if any(effects) else y:
        analysis = analyse_table(_as_table(study), Metric.TPMP)
        best = next(s for s in analysis.standings if s.name != analysis.baseline)
        pairs = pairs_needed(analysis)
        again = scenario.draw(rng, 1, 3, pairs)[0]
        again[1] += np.log1p(effects[int(best.name)])
        found = confirm(
            [(float(np.exp(ours)), float(np.exp(theirs))) for theirs, ours in again[:2].T],
            best.name,
            analysis.baseline,
            run_noise=analysis.run_noise,
        )
        logs.append(np.log(best.ratio or 1.0))
        fresh.append(np.log(found.ratio or 1.0))
        counts.append(pairs)
        states.append(found.state is ConfirmationState.CONFIRMED)
    if not states:
        return Confirmed(0.0, 0.0, 0.0, 0.0, 0)
    return Confirmed(
        in_study=float(np.expm1(np.mean(logs))),
        in_pairs=float(np.expm1(np.mean(fresh))),
        pairs=float(np.mean(counts)),
        share=float(np.mean(states)),
        winners=len(states),
    )


def _as_table(study: Floats) -> Table:
    rows, blocks = study.shape
    names = ("base", *(str(place) for place in range(rows - 2)))
    return Table(names, tuple(range(blocks)), study[None], rows_treatment(rows))


def best_of_means(y: Floats) -> Places:
    """What most peers do: the highest mean of 3 repeats wins, whatever the margin.

    Baseline and candidates alike; the second baseline is not used.
    """
    mean = np.exp(y[:, 1:, :PEERS_REPEATS]).mean(axis=2)
    return np.asarray(mean.argmax(axis=1))


def fixed_threshold(y: Floats) -> Places:
    """As HammerDB 6 compares: the highest mean ratio wins once it exceeds 2.5 %; 3 repeats."""
    repeats = np.exp(y[:, 1:, :PEERS_REPEATS]).mean(axis=2)
    ratio = repeats / repeats[:, :1]
    best = ratio.argmax(axis=1)
    return np.where(ratio.max(axis=1) > HAMMERDB_THRESHOLD, best, 0)


@dataclass(frozen=True)
class Outcome:
    """wrong: share of studies that name a winner no better than the baseline. harm: a truly
    worse one. regret: mean throughput lost against the truly best config, as a share.
    """

    wrong: float
    harm: float
    regret: float


def outcome(picked: Places, effects: Sequence[float]) -> Outcome:
    """How good the picks are, given the true gains."""
    truth = np.concatenate([[0.0], effects])
    got = truth[picked]
    return Outcome(
        wrong=float(((picked > 0) & (got <= 0)).mean()),
        harm=float((got < 0).mean()),
        regret=float(((truth.max() - got) / (1 + truth.max())).mean()),
    )

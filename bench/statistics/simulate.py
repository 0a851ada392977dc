"""Simulated studies, judged by the code that judges real ones and by what peers do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from bench.statistics.methods import METHODS, rows_treatment
from bench.statistics.noise import Scenario
from tuning.statistics.analysis import Analysis, analyse_table
from tuning.statistics.compare import ALPHA, compare
from tuning.statistics.confirmation import (
    MAX_PAIRS,
    MAX_TRIED,
    MIN_PAIRS,
    ConfirmationState,
    confirm,
    error_of,
    is_worth_pairs,
    most_pairs,
    pairs_needed,
)
from tuning.statistics.data import Metric, Table
from tuning.statistics.estimate import Estimate
from tuning.statistics.fit import fit
from tuning.strategy.racing import FIRST_LOOK, decided, drop_alpha, keep

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

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
    return np.array([compare(fit(study, treatment)).winner() for study in y])


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
        effect, half = method(y)
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
    """Race every study over the blocks of `y`, as `racing.next_step` does one block at a time."""
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
        for study in np.flatnonzero(running):
            fitted = fit(seen[study, :, : block + 1], rows_treatment(rows))
            live[study] = keep(compare(fitted, drop_alpha(block + 1)), live[study])
            is_over = decided(fitted, live[study], block + 1) or not live[study, 1:].any()
            running[study] = not is_over
    return Race(winners(seen), winners(y), float(used.mean() / (rows * blocks)))


@dataclass(frozen=True)
class Answers:
    """picked: (studies,), the config that is recommended, 0 for the baseline.

    pairs: mean number of fresh pairs. in_blocks, in_pairs: mean effect of the recommended configs.
    """

    picked: Places
    pairs: float
    in_blocks: float
    in_pairs: float


def answers(scenario: Scenario, effects: Sequence[float], y: Floats, *, old: bool) -> Answers:
    """What studies with these blocks recommend after fresh pairs; `old`: by two hurdles."""
    rng = np.random.default_rng(y.shape[2])
    picked = np.zeros(len(y), dtype=np.int64)
    pairs = np.zeros(len(y))
    logs, fresh = [], []
    for study, blocks in enumerate(y):
        analysis = analyse_table(_as_table(blocks), Metric.THROUGHPUT)
        plan = _two_hurdles(analysis) if old else _choices(analysis)
        for number, (name, count) in enumerate(plan, 1):
            again = scenario.draw(rng, 1, 4, count)[0, [0, 2]]
            again[1] += np.log1p(effects[int(name)])
            found = confirm(
                [(float(np.exp(ours)), float(np.exp(theirs))) for theirs, ours in again.T],
                name,
                analysis.baseline,
                run_noise=analysis.run_noise,
                alpha=ALPHA if old else error_of(number),
            )
            pairs[study] += count
            if found.state is ConfirmationState.CONFIRMED:
                picked[study] = int(name) + 1
                logs.append(_log(analysis.standing(name).estimate))
                fresh.append(_log(found.estimate))
                break
    in_blocks, in_pairs = (float(np.expm1(np.mean(one))) if one else 0.0 for one in (logs, fresh))
    return Answers(picked, float(pairs.mean()), in_blocks, in_pairs)


def _choices(analysis: Analysis) -> Iterator[tuple[str, int]]:
    """The configs that get pairs, one after the other, and how many."""
    most = most_pairs(analysis.blocks, len(analysis.standings) - 1)
    for number, name in enumerate(analysis.choices[:MAX_TRIED]):
        if number == 0 or is_worth_pairs(analysis, name, most):
            yield name, pairs_needed(analysis, name, most)


def _two_hurdles(analysis: Analysis) -> Iterator[tuple[str, int]]:
    """The rule until November 2026: only a measurably better config above the noise floor."""
    name = analysis.winner
    found = analysis.standing(name).estimate if name else None
    if name is None or found is None or not found.low or not analysis.run_noise:
        return
    if found.ratio - 1 <= (analysis.floor or 0.0):
        return
    effect = (np.log(found.ratio) + np.log(found.low)) / 2
    wanted = 2 * ((2.3 + 0.84) * np.log1p(analysis.run_noise) / effect) ** 2
    most = min(max(MIN_PAIRS, 2 * analysis.blocks), MAX_PAIRS)
    yield name, min(max(MIN_PAIRS, ceil(wanted)), most)


def _as_table(study: Floats) -> Table:
    rows, blocks = study.shape
    names = ("base", *(str(place) for place in range(rows - 2)))
    return Table(names, tuple(range(blocks)), study)


def _log(found: Estimate | None) -> float:
    return np.log(found.ratio) if found else 0.0


def best_of_means(y: Floats) -> Places:
    """What most peers do: the highest mean of 3 repeats wins, whatever the margin.

    Baseline and candidates alike; the second baseline is not used.
    """
    mean = np.exp(y[:, 1:, :PEERS_REPEATS]).mean(axis=2)
    return np.asarray(mean.argmax(axis=1))


def fixed_threshold(y: Floats) -> Places:
    """Compare as HammerDB 6: the highest mean ratio wins if it exceeds 2.5 %; 3 repeats."""
    repeats = np.exp(y[:, 1:, :PEERS_REPEATS]).mean(axis=2)
    ratio = repeats / repeats[:, :1]
    best = ratio.argmax(axis=1)
    return np.where(ratio.max(axis=1) > HAMMERDB_THRESHOLD, best, 0)


@dataclass(frozen=True)
class Outcome:
    """kept: share of studies that keep the baseline. wrong: those that name a winner that is no
    better. harm: a truly worse one. regret: mean throughput lost against the truly best config.
    """

    kept: float
    wrong: float
    harm: float
    regret: float


def outcome(picked: Places, effects: Sequence[float]) -> Outcome:
    """How good the picks are, given the true gains."""
    truth = np.concatenate([[0.0], effects])
    got = truth[picked]
    return Outcome(
        kept=float((picked == 0).mean()),
        wrong=float(((picked > 0) & (got <= 0)).mean()),
        harm=float((got < 0).mean()),
        regret=float(((truth.max() - got) / (1 + truth.max())).mean()),
    )

"""Plays searches on a truth, and says how good they were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.search.methods import Config, Make
from bench.search.replay import Replay
from bench.search.truth import Truth

RUNS = 80
CLOSE = 0.05
LOOKS = (20, 40, 80)


@dataclass(frozen=True)
class Played:
    """One search.

    regret: the true share given away by what it would take after each run. worse: whether that is
    truly worse than the baseline in the end.
    """

    regret: tuple[float, ...]
    worse: bool

    @property
    def reached(self) -> int:
        """Runs until its choice is within `CLOSE` of the best; one more than all if never."""
        there = (place for place, one in enumerate(self.regret, 1) if one <= CLOSE)
        return next(there, len(self.regret) + 1)


def play(
    make: Make,
    truth: Truth,
    start: Sequence[Config],
    seed: int,
    runs: int = RUNS,
    *,
    is_noisy: bool = True,
) -> Played:
    """One search of so many runs."""
    replay = Replay(truth, seed, is_noisy)
    method = make(truth.grid.space, start, seed)
    regret = []
    for _ in range(runs):
        method.tell(*replay.measure(method.ask()))
        best = method.best()
        regret.append(truth.regret(best))
    return Played(tuple(regret), truth.gain(best) < -1e-9)


@dataclass(frozen=True)
class Summary:
    """Medians and shares of many searches."""

    reached: float
    reached_share: float
    regret: dict[int, float]
    worse: float


def summary(played: Sequence[Played]) -> Summary:
    """Medians over the searches; those that never came close count as longer than all runs."""
    return Summary(
        reached=float(np.median([one.reached for one in played])),
        reached_share=float(np.mean([one.reached <= len(one.regret) for one in played])),
        regret={
            look: float(np.median([one.regret[look - 1] for one in played]))
            for look in LOOKS
            if look <= len(played[0].regret)
        },
        worse=float(np.mean([one.worse for one in played])),
    )

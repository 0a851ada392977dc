"""The comparison: every method on a truth, with and without a warm start, on two sets of seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from bench.search.methods import (
    Config,
    Make,
    OneKnob,
    Optuna,
    Ours,
    RandomSearch,
    cma,
    tpe,
)
from bench.search.play import LOOKS, RUNS, Played, Summary, play
from bench.search.recorded import NATIVE, SURFACES, Surface
from bench.search.truth import KINDS, main_effects_only, truth
from benchmarks.counted import percent

METHODS: Mapping[str, Make] = {
    "random": RandomSearch,
    "one variable at a time": OneKnob,
    "Optuna TPE": partial(Optuna, sampler=tpe),
    "Optuna CMA-ES": partial(Optuna, sampler=cma),
    "ours": Ours,
}
_GIB = 1024**3
#: What rules of thumb propose for 1 GB of data: a pool for all of it, more redo log.
WARM: Sequence[Config] = (
    {"innodb_buffer_pool_size": f"{_GIB}", "innodb_redo_log_capacity": f"{_GIB}"},
    {
        "innodb_buffer_pool_size": f"{2 * _GIB}",
        "innodb_redo_log_capacity": f"{_GIB}",
        "innodb_io_capacity": "2000",
        "innodb_io_capacity_max": "4000",
    },
    {"innodb_buffer_pool_size": f"{_GIB // 2}"},
)
# Seeds from here on are the second set: nothing was chosen by them.
SECOND = 1000


@dataclass(frozen=True)
class Case:
    """One table: a truth of a surface, what every method is given at first, and the first seed."""

    truth: str
    start: str
    first_seed: int = 0
    surface: Surface = NATIVE

    @property
    def title(self) -> str:
        which = "second seeds, not used for choosing" if self.first_seed else "first seeds"
        held = "held back: " if self.surface.is_held_back else ""
        return f"{held}{self.surface.title}; truth: {self.truth}; {self.start}; {which}"


WARM_START, COLD_START = "given three proposals", "given nothing"
CASES = (
    Case("all kinds", WARM_START),
    Case("all kinds", COLD_START),
    Case("all kinds", WARM_START, SECOND),
    Case("trees", WARM_START, SECOND),
    *(Case("all kinds", WARM_START, SECOND, one) for one in SURFACES if one != NATIVE),
)


def played(case: Case, method: str, seeds: int, runs: int = RUNS) -> list[Played]:
    """Play so many searches of one method."""
    start = WARM if case.start == WARM_START else ()
    surface = truth(case.truth, case.surface)
    return [
        play(METHODS[method], surface, start, case.first_seed + seed, runs)
        for seed in range(seeds)
    ]


HEAD = (
    "method",
    "runs until within 5 %",
    "ever within 5 %",
    *(f"regret after {look}" for look in LOOKS),
    "worse than baseline",
)


def line(name: str, found: Summary, searches: int) -> tuple[str, ...]:
    """A row of the table; medians, and "> 80" for half of the searches that never came close."""
    reached = f"{found.reached:.0f}" if found.reached <= RUNS else f"> {RUNS}"
    return (
        name,
        reached,
        percent(found.reached_share),
        *(f"{100 * found.regret[look]:.1f} %" for look in found.regret),
        f"{round(found.worse * searches)} of {searches}",
    )


def same_after(ours: Sequence[Played], other: Summary) -> int | None:
    """Runs after which ours is as good as another method after all of its runs, in the median."""
    goal = other.regret[LOOKS[-1]]
    for runs in range(1, RUNS + 1):
        regrets = sorted(one.regret[runs - 1] for one in ours)
        if regrets[len(regrets) // 2] <= goal:
            return runs
    return None


# Seeds from here on are those of the many short searches.
THIRD = 2000
SHORT_RUNS = 40


def worse_than_baseline(searches: int) -> tuple[str, ...]:
    """A row: of so many searches of ours, how many would choose what is worse than the baseline.

    They take turns on all truths of all surfaces, and end after `SHORT_RUNS`.
    """
    truths = [truth(kind, surface) for surface in SURFACES for kind in KINDS]
    found = [
        play(METHODS["ours"], truths[turn % len(truths)], (), THIRD + turn, SHORT_RUNS)
        for turn in range(searches)
    ]
    regret = float(np.median([one.regret[-1] for one in found]))
    worst = max(one.regret[-1] for one in found)
    worse = sum(one.worse for one in found)
    return f"{searches}", f"{worse}", f"{100 * regret:.1f} %", f"{100 * worst:.1f} %"


def bounds(surface: Surface, kind: str, seeds: int) -> tuple[str, ...]:
    """A row: what even a method without noise, or one that knows all main effects, gives away."""
    one = truth(kind, surface)
    quiet = [
        play(METHODS["ours"], one, (), THIRD + seed, SHORT_RUNS, is_noisy=False)
        for seed in range(seeds)
    ]
    regret = float(np.median([played.regret[-1] for played in quiet]))
    effects = main_effects_only(one)
    return surface.title, kind, f"{100 * effects:.1f} %", f"{100 * regret:.1f} %"

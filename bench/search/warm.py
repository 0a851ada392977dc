"""Searches that begin with an earlier one: of the same place, and of places that mislead."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from bench.search.methods import Ours
from bench.search.play import play
from bench.search.recorded import BASELINE, SATA_SSD
from bench.search.replay import Replay
from bench.search.truth import Truth, truth
from tuning.strategy.search.plan import EarlierConfig

# Seeds from here on are those of searches with a history, and of the searches that made it.
SEEDS_FROM, EARLIER_FROM = 3000, 5000
EARLIER_RUNS = 60
RUNS = 40
LOOKS = (10, 20, 40)

History = tuple[EarlierConfig, ...]


class Mirrored(Truth):
    """Another place: what a high value does here, a low one does there."""

    def gain(self, config: Mapping[str, str]) -> float:
        return super().gain(_mirrored(self, config)) - super().gain(_mirrored(self, {}))


def _mirrored(found: Truth, config: Mapping[str, str]) -> dict[str, str]:
    point = found.grid.sizes - 1 - found.grid.nearest(config)
    return found.grid.knobs(found.grid.kept(point[None])[0])


def measured(there: Truth, seed: int, runs: int = EARLIER_RUNS) -> History:
    """What an earlier search measured: ratios to the baseline of their own batch."""
    replay = Replay(there, EARLIER_FROM + seed)
    search = Ours(there.grid.space, (), EARLIER_FROM + seed)
    for _ in range(runs):
        search.tell(*replay.measure(search.ask()))
    base = {run.block: run.throughput for run in search.screened if run.candidate == BASELINE}
    gains: dict[str, list[float]] = defaultdict(list)
    for run in search.screened:
        level = base.get(run.block)
        if run.candidate != BASELINE and run.throughput and level:
            gains[run.candidate].append(float(np.log(run.throughput / level)))
    return tuple(
        EarlierConfig(1, search.knobs[name], float(np.mean(logs)), len(logs))
        for name, logs in gains.items()
    )


def shuffled(there: Truth, seed: int) -> History:
    """The same configs, each with the figure of another."""
    found = measured(there, seed)
    order = np.random.default_rng(seed).permutation(len(found))
    return tuple(
        replace(one, gain=found[int(place)].gain) for one, place in zip(found, order, strict=True)
    )


def mirrored(there: Truth, seed: int) -> History:
    """Return the history of a place in which every variable acts the other way round."""
    other = Mirrored(there.name, there.recorded, there.grid, there.models, offset=there.offset)
    return measured(other, seed)


def other_device(there: Truth, seed: int) -> History:
    """Return the history of the other recorded surface."""
    return measured(truth(there.name, SATA_SSD), seed)


HISTORIES: Mapping[str, Callable[[Truth, int], History]] = {
    "nothing": lambda *_: (),
    "the same place": measured,
    "another device, the emulated SSD with 1 GB": other_device,
    "the same place, figures shuffled": shuffled,
    "a place where every variable acts the other way round": mirrored,
}
HEAD = (
    "begins with a search of",
    *(f"regret after {look}" for look in LOOKS),
    "choice worse than baseline",
)


def line(name: str, searches: int, kind: str = "all kinds") -> tuple[str, ...]:
    """A row: medians of so many searches with that history."""
    there = truth(kind)
    found = [
        play(
            partial(Ours, earlier=HISTORIES[name](there, seed)), there, (), SEEDS_FROM + seed, RUNS
        )
        for seed in range(searches)
    ]
    regrets = [float(np.median([one.regret[look - 1] for one in found])) for look in LOOKS]
    worse = sum(one.worse for one in found)
    return name, *(f"{100 * regret:.1f} %" for regret in regrets), f"{worse} of {searches}"

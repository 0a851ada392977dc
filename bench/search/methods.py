"""The searches that are compared, each asked for one run after the other."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import optuna

from bench.search.recorded import BASELINE
from benchmarks.outcomes import Outcome
from tuning.statistics.data import Observation
from tuning.strategy.protocol import Budget, Done, History, PlannedRun
from tuning.strategy.search.grid import Grid
from tuning.strategy.search.knowledge import Knowledge
from tuning.strategy.search.plan import EarlierConfig, SearchPlan
from tuning.strategy.search.search import Effort, Search
from tuning.strategy.search.space import Space
from tuning.strategy.search.tests.choice import choice

Config = dict[str, str]
DEFAULT = Effort()
optuna.logging.set_verbosity(optuna.logging.ERROR)


class Method(Protocol):
    """Asked for a config, given its throughput or None, and asked for its recommendation so far.

    The first asked for are the baseline and the `start` that it was made with.
    """

    def ask(self) -> Config: ...
    def tell(self, throughput: float | None, outcome: Outcome) -> None: ...
    def best(self) -> Config: ...


Make = Callable[[Space, Sequence[Config], int], Method]


@dataclass
class Simple:
    """Keeps what it measured; by its belief the highest figure is the best config."""

    space: Space
    start: Sequence[Config]
    seed: int
    seen: list[tuple[Config, float | None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.grid = Grid(self.space)
        self.random = np.random.default_rng([self.seed, 11])
        self.first: list[Config] = [{}, *self.start]

    def ask(self) -> Config:
        place = len(self.seen)
        self.asked = self.first[place] if place < len(self.first) else self.next()
        return self.asked

    def tell(self, throughput: float | None, _outcome: Outcome) -> None:
        self.seen.append((self.asked, throughput))

    def best(self) -> Config:
        there = [(figure, place) for place, (_, figure) in enumerate(self.seen) if figure]
        return self.seen[max(there)[1]][0] if there else {}

    def next(self) -> Config:
        raise NotImplementedError


class RandomSearch(Simple):
    """A Latin hypercube of 100, in its random order."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.points = self.grid.spread(100, self.random)

    def next(self) -> Config:
        return self.grid.knobs(self.points[len(self.seen) % len(self.points)])


class OneKnob(Simple):
    """Changes one knob of the best so far, and keeps what was faster."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.moves: list[tuple[int, int]] = []

    def next(self) -> Config:
        best = self.grid.nearest(self.best())
        while True:
            if not self.moves:
                self.moves = [
                    (int(place), level)
                    for place in self.random.permutation(len(self.grid.sizes))
                    for level in sorted(
                        {0, int(self.grid.sizes[place]) // 2, int(self.grid.sizes[place]) - 1}
                    )
                ]
            place, level = self.moves.pop(0)
            point = best.copy()
            point[place] = level
            point = self.grid.kept(point[None])[0]
            if (point != best).any():
                return self.grid.knobs(point)


class Optuna(Simple):
    """One of Optuna's samplers; a number with special values is a choice and a number."""

    def __init__(
        self,
        space: Space,
        start: Sequence[Config],
        seed: int,
        sampler: Callable[[int], optuna.samplers.BaseSampler],
    ) -> None:
        super().__init__(space, start, seed)
        self.study = optuna.create_study(direction="maximize", sampler=sampler(seed))
        for config in self.first:
            self.study.enqueue_trial(self._params(config))

    def ask(self) -> Config:
        self.trial = self.study.ask()
        place = len(self.seen)
        suggested = self._suggest()
        self.asked = self.first[place] if place < len(self.first) else suggested
        return self.asked

    def tell(self, throughput: float | None, outcome: Outcome) -> None:
        super().tell(throughput, outcome)
        if throughput is None:
            self.study.tell(self.trial, state=optuna.trial.TrialState.FAIL)
        else:
            self.study.tell(self.trial, float(np.log(throughput)))

    def _params(self, config: Config) -> dict[str, object]:
        point = self.grid.nearest(config)
        found: dict[str, object] = {}
        for one, levels, place in zip(self.space.dimensions, self.grid.levels, point, strict=True):
            value = levels[int(place)]
            if not one.is_number:
                found[one.name] = value
                continue
            if one.special:
                found[f"{one.name} is"] = value if value in one.special else "a number"
            found[one.name] = min(max(float(value), one.low), one.high)
        return found

    def _suggest(self) -> Config:
        values: Config = {}
        for one in self.space.dimensions:
            if not one.is_number:
                values[one.name] = str(self.trial.suggest_categorical(one.name, one.choices))
                continue
            number = self.trial.suggest_float(one.name, one.low, one.high, log=one.is_log)
            values[one.name] = f"{number:.0f}"
            if one.special:
                words = [*one.special, "a number"]
                word = str(self.trial.suggest_categorical(f"{one.name} is", words))
                if word in one.special:
                    values[one.name] = word
        return self.grid.knobs(self.grid.kept(self.grid.nearest(values)[None])[0])


def tpe(seed: int) -> optuna.samplers.BaseSampler:
    """Return Optuna's Tree-structured Parzen Estimator."""
    return optuna.samplers.TPESampler(seed=seed)


def cma(seed: int) -> optuna.samplers.BaseSampler:
    """Return CMA-ES with a margin, which keeps whole numbers from being stuck at one value."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        return optuna.samplers.CmaEsSampler(seed=seed, with_margin=True)


@dataclass
class Ours:
    """The strategy of a study, asked as a study asks it: its batches, baselines and repeats count.

    It gets all runs for looking: the race and the confirmation come on top and are judged apart.
    """

    space: Space
    start: Sequence[Config]
    seed: int
    effort: Effort = DEFAULT
    earlier: tuple[EarlierConfig, ...] = ()

    def __post_init__(self) -> None:
        plan = SearchPlan(self.space, runs=10**6, earlier=self.earlier)
        self.search = _Remembering(plan, _Never(), self.effort)
        self.knobs: dict[str, Mapping[str, str]] = {BASELINE: {}}
        self.knobs |= {f"start-{place}": one for place, one in enumerate(self.start)}
        self.screened: list[Observation] = []
        self.queue: list[PlannedRun] = []
        self.block = 0
        self._best: Config = {}

    def history(self) -> History:
        return History(
            seed=self.seed,
            baseline=BASELINE,
            candidates=tuple(self.knobs),
            groups=(),
            planned_blocks=6,
            budget=Budget(),
            last_block=self.block,
            knobs=self.knobs,
            screened=tuple(self.screened),
        )

    def ask(self) -> Config:
        if not self.queue:
            answer = self.search.propose(self.history())
            assert not isinstance(answer, Done)
            self.knobs |= {one.name: one.knobs for one in answer.new}
            self.queue = list(answer.runs)
            self.block = self.queue[0].block
        return dict(self.knobs[self.queue[0].candidate])

    def tell(self, throughput: float | None, outcome: Outcome) -> None:
        run = self.queue.pop(0)
        self.screened.append(
            Observation(
                run.candidate,
                run.block,
                outcome,
                throughput=throughput,
            )
        )

    def best(self) -> Config:
        """Thought over when a batch has ended: within one nothing is decided."""
        if not self.queue:
            self._best = dict(self.knobs[choice(self.search, self.history())])
        return self._best


class _Remembering(Search):
    """Learns once from each history: it is asked what to do next and what is best."""

    def learn(self, history: History) -> Knowledge | None:
        key = len(history.screened)
        if self.__dict__.get("_key") != key:
            self.__dict__.update(_key=key, _found=super().learn(history))
        found: Knowledge | None = self.__dict__["_found"]
        return found


class _Never:
    cuts_short = False

    def propose(self, _: History) -> Done:
        return Done(())

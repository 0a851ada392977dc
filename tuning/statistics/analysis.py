"""One study's runs judged by one metric: effects, intervals, ranks, noise floor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp, expm1, isfinite, log1p, nan, sqrt
from types import MappingProxyType

import numpy as np

from tuning.statistics.compare import (
    ALPHA,
    Contrasts,
    compare,
    critical_value,
    noise_floor,
    same_config,
)
from tuning.statistics.data import Metric, Observation, Table, table
from tuning.statistics.estimate import Estimate
from tuning.statistics.fit import Fit, fit

#: A tied candidate that changes fewer variables is chosen if it looks at most this much worse.
#: Less than what three or four blocks can tell: the lead that is passed over is mostly luck.
SIMPLER_WITHIN = 0.02
NO_CHANGES: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True)
class Standing:
    """One candidate's result by one metric.

    estimate: the metric divided by the baseline's, so for times and path lengths lower is better.
        None if there is nothing to compare or only a bound; without an interval if the noise is
        unknown (a single block). Its interval is simultaneous over all candidates.
    rank: shared by all that are tied with the best of their group (`tied_with`); None without an
        estimate.
    better, worse: measurably better or worse than the baseline: the interval excludes it.
    at_most: upper bound of the throughput ratio of a candidate that was cut short.
    blocks: number of blocks that it shares with the baseline.
    """

    name: str
    estimate: Estimate | None = None
    rank: int | None = None
    better: bool = False
    worse: bool = False
    at_most: float | None = None
    blocks: int = 0
    tied_with: tuple[str, ...] = ()


@dataclass(frozen=True)
class Analysis:
    """A ranking by one metric.

    standings: best first, then those with only a bound, then those without figures.
    floor: noise floor as a fraction (0.04 is 4 %); None if unknown.
    run_noise: standard deviation of one run, as a fraction of its figure.
    same: ratio of the second baseline to the first over all blocks; None without a second one.
    choices: the candidates that look better than the baseline, the best-looking first: by their
        lower bounds if one beats the baseline, else by their ratios. A candidate that is tied with
        the first, looks at most `SIMPLER_WITHIN` worse and changes fewer variables precedes it.
    winner: the first choice, if it is measurably better than the baseline.
    passed_over: the best-looking candidate, if a simpler one comes before it.
    rivals: those measurably better than the baseline that are tied with the winner.
    names: the candidates in the order of `contrasts`, which is None without a run.
    """

    metric: Metric
    baseline: str
    standings: tuple[Standing, ...]
    floor: float | None = None
    run_noise: float | None = None
    same: float | None = None
    blocks: int = 0
    choices: tuple[str, ...] = ()
    winner: str | None = None
    rivals: tuple[str, ...] = ()
    passed_over: str | None = None
    alpha: float = ALPHA
    names: tuple[str, ...] = ()
    contrasts: Contrasts | None = field(default=None, repr=False, compare=False)

    def between(self, name: str, other: str) -> Estimate | None:
        """The metric of `name` divided by that of `other`; None if either has no figures.

        Its interval is simultaneous over all pairs of the ranking.
        """
        found = self.contrasts
        if found is None or name == other or not {name, other} <= set(self.names):
            return None
        i, j = self.names.index(name), self.names.index(other)
        gain = float(found.effects[i] - found.effects[j])
        if not isfinite(gain):
            return None
        return Estimate.of_gain(gain, float(found.pair_half[i, j]), self.alpha, self.metric)

    def standing(self, name: str) -> Standing:
        """The standing of one candidate. Raises KeyError for a name that is not in the study."""
        for found in self.standings:
            if found.name == name:
                return found
        raise KeyError(name)


def analyse(
    observations: Iterable[Observation],
    baseline: str,
    candidates: Sequence[str] = (),
    metric: Metric = Metric.THROUGHPUT,
    alpha: float = ALPHA,
    changes: Mapping[str, int] = NO_CHANGES,
) -> Analysis:
    """Judge the runs of one board (one device, one workload, comparable runs only).

    `candidates` names all that the study began with: the correction for multiple comparisons
    counts them, and their order breaks ties. `alpha` is the chance that any interval misses.
    `changes`: how many variables each candidate sets otherwise than the baseline; without it the
    winner is the one that looks best.
    """
    data = table(observations, baseline, candidates, metric)
    return analyse_table(data, metric, alpha, changes)


def analyse_table(
    data: Table, metric: Metric, alpha: float = ALPHA, changes: Mapping[str, int] = NO_CHANGES
) -> Analysis:
    """Like `analyse`, for runs that are already an array."""
    names, baseline = data.names, data.names[0]
    if not data.blocks:
        return Analysis(metric, baseline, tuple(map(Standing, names)))
    fitted = fit(data.y, data.treatment)
    found = compare(fitted, alpha)
    ranked = _standings(data, found, metric, alpha)
    looking_best = found.choices()
    choices = _simplest_first(names, found, looking_best, changes)
    winner = choices[0] if choices and found.better[choices[0]] else 0
    rivals = np.flatnonzero(found.better & found.tied(winner))
    same, floor = same_config(fitted), noise_floor(fitted)
    return Analysis(
        metric=metric,
        baseline=baseline,
        standings=tuple(_tied([*ranked, *_unranked(data, fitted, ranked, alpha)])),
        floor=_share(floor) if isfinite(floor) else None,
        run_noise=_share(sqrt(fitted.pooled)) if fitted.df >= 1 else None,
        same=None if same is None else exp(same if metric.more_is_better else -same),
        blocks=int(np.isfinite(data.y[:2]).any(axis=0).sum()),
        choices=tuple(names[i] for i in choices),
        winner=names[winner] if winner else None,
        rivals=tuple(names[i] for i in rivals if i != winner),
        passed_over=names[looking_best[0]] if choices[:1] != looking_best[:1] else None,
        alpha=alpha,
        names=names,
        contrasts=found,
    )


def _simplest_first(
    names: Sequence[str], found: Contrasts, choices: list[int], changes: Mapping[str, int]
) -> list[int]:
    """Move the simplest of the candidates that are like the best-looking one to the front."""
    if not choices or names[choices[0]] not in changes:
        return choices
    best, effects = choices[0], found.effects
    alike = found.tied(best) & (effects >= effects[best] - log1p(SIMPLER_WITHIN))
    if found.better[best]:
        alike &= found.better
    # The best is always tied with itself; among equally simple ones the order stays.
    known = [i for i in choices if alike[i] and names[i] in changes]
    first = min(known, key=lambda i: changes[names[i]])
    return [first, *(i for i in choices if i != first)]


def _standings(data: Table, found: Contrasts, metric: Metric, alpha: float) -> list[Standing]:
    effects = found.effects
    met = np.isfinite(data.y[:2]).any(axis=0)
    ranked: list[Standing] = []
    left = sorted(map(int, np.flatnonzero(np.isfinite(effects))), key=lambda i: -effects[i])
    while left:
        leader, rank = left[0], len(ranked) + 1
        tied = found.tied(leader) | (effects == effects[leader])
        for i in [i for i in left if tied[i]]:
            half = float(found.half[i]) if i else nan
            runs = np.isfinite(data.y[data.treatment == i]).any(axis=0)
            ranked.append(
                Standing(
                    name=data.names[i],
                    estimate=Estimate.of_gain(float(effects[i]), half, alpha, metric),
                    rank=rank,
                    better=bool(found.better[i]),
                    worse=bool(found.worse[i]),
                    blocks=int((runs & met).sum()),
                )
            )
        left = [i for i in left if not tied[i]]
    return ranked


def _unranked(data: Table, fitted: Fit, ranked: list[Standing], alpha: float) -> list[Standing]:
    known = {line.name for line in ranked}
    rest = [_bounded(name, data, fitted, alpha) for name in data.names if name not in known]
    rest.sort(key=lambda line: -(line.at_most or 0.0))
    first = len(ranked) + 1
    return [replace(s, rank=first) if s.at_most is not None else s for s in rest]


def _bounded(name: str, data: Table, fitted: Fit, alpha: float) -> Standing:
    """The upper bound of a candidate whose runs were cut short.

    Each bound is used as if it were the figure, the most favourable reading.
    """
    gaps = [
        value - float(np.nanmean(data.y[:2, block]))
        for block, value in data.at_most.get(name, {}).items()
        if np.isfinite(data.y[:2, block]).any()
    ]
    if not gaps:
        return Standing(name)
    gap, worse = float(np.mean(gaps)), False
    if fitted.df >= 1:
        error = sqrt(1.5 * fitted.pooled / len(gaps))
        limit = float(critical_value(alpha / max(len(data.names) - 1, 1), fitted.df))
        worse = gap + limit * error < 0
    return Standing(name, worse=worse, at_most=exp(gap), blocks=len(gaps))


def _tied(standings: list[Standing]) -> list[Standing]:
    return [
        replace(
            line,
            tied_with=tuple(
                other.name
                for other in standings
                if line.rank is not None and other.rank == line.rank and other is not line
            ),
        )
        for line in standings
    ]


def _share(log: float) -> float:
    return expm1(min(log, 700.0))

"""One study's runs judged by one metric: effects, intervals, ranks, noise floor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp, expm1, inf, log1p
from types import MappingProxyType

import numpy as np

from tuning.statistics import critical
from tuning.statistics.compare import ALPHA, Contrasts, compare, same_config
from tuning.statistics.data import Metric, Observation, Table, tables
from tuning.statistics.fit import Fit, fit

#: A tied candidate that changes fewer variables is chosen if it looks at most this much worse.
#: Less than what three or four blocks can tell: the lead that is passed over is mostly luck.
SIMPLER_WITHIN = 0.02
NO_CHANGES: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True)
class Interval:
    """Bounds between which the ratio lies with the given confidence (0 to 1).

    Simultaneous: the confidence is that of all intervals of a ranking holding at once.
    """

    low: float
    high: float
    confidence: float


@dataclass(frozen=True)
class Standing:
    """One candidate's result by one metric.

    ratio: the metric divided by the baseline's, so for times and path lengths lower is better;
        None if there is nothing to compare or only a bound. interval: of the ratio; None if the
        noise is unknown (a single block).
    rank: shared by all that are tied with the best of their group; None without a ratio.
    better, worse: measurably better or worse than the baseline: the interval excludes it.
    at_most: upper bound of the tpmP ratio of a candidate that was cut short.
    blocks: number of blocks that it shares with the baseline.
    """

    name: str
    ratio: float | None = None
    interval: Interval | None = None
    rank: int | None = None
    better: bool = False
    worse: bool = False
    at_most: float | None = None
    blocks: int = 0


@dataclass(frozen=True)
class Difference:
    """One candidate compared with another: the ratio of the metric and its interval.

    interval: simultaneous over all pairs of the ranking; None if the noise is unknown (a single
        block).
    """

    ratio: float
    interval: Interval | None


@dataclass(frozen=True)
class Analysis:
    """A ranking by one metric.

    standings: best first, then those with only a bound, then those without figures.
    floor: noise floor as a fraction (0.04 is 4 %); None if unknown.
    run_noise: standard deviation of one run, as a fraction of its figure.
    same: ratio of the second baseline to the first over all blocks; None without a second one.
    choices: the candidates that look better than the baseline, the best-looking first: by their
        lower bounds if one beats the baseline, else by their ratios. Before the first come those
        that are tied with it, look at most `SIMPLER_WITHIN` worse and change fewer variables.
    winner: the first choice, if it is measurably better than the baseline.
    passed_over: the best-looking candidate, if a simpler one comes before it.
    rivals: those measurably better than the baseline that are tied with the winner.
    differences: of every ordered pair of candidates with figures; see `between`.
    """

    metric: Metric
    baseline: str
    standings: tuple[Standing, ...]
    floor: float | None
    run_noise: float | None
    same: float | None
    blocks: int
    choices: tuple[str, ...]
    winner: str | None
    rivals: tuple[str, ...]
    differences: Mapping[tuple[str, str], Difference] = field(
        default_factory=dict, repr=False, compare=False
    )
    passed_over: str | None = None

    def between(self, name: str, other: str) -> Difference | None:
        """The metric of `name` divided by that of `other`; None if either has no figures."""
        return self.differences.get((name, other))

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
    metric: Metric = Metric.TPMP,
    alpha: float = ALPHA,
    changes: Mapping[str, int] = NO_CHANGES,
) -> Analysis:
    """Judge the runs of one board (one device, one workload, comparable runs only).

    `candidates` names all that the study began with: the correction for multiple comparisons
    counts them, and their order breaks ties. `alpha` is the chance that any interval misses.
    `changes`: how many variables each candidate sets otherwise than the baseline; without it the
    winner is the one that looks best.
    """
    return analyse_by([metric], observations, baseline, candidates, alpha, changes)[metric]


def analyse_by(
    metrics: Sequence[Metric],
    observations: Iterable[Observation],
    baseline: str,
    candidates: Sequence[str] = (),
    alpha: float = ALPHA,
    changes: Mapping[str, int] = NO_CHANGES,
) -> dict[Metric, Analysis]:
    """Like `analyse`, by several metrics at once: one fit takes as long as one metric."""
    found = tables(observations, baseline, candidates, metrics)
    if not found[0].blocks:
        return {metric: analyse_table(found[0], metric) for metric in metrics}
    # They have the same rows and blocks, and a fit takes as long for several as for one.
    fitted = fit(np.concatenate([one.y for one in found]), found[0].treatment)
    compared = compare(fitted, alpha)
    return {
        metric: analyse_table(data, metric, alpha, changes, fitted.of(at), compared.of(at))
        for at, (metric, data) in enumerate(zip(metrics, found, strict=True))
    }


def analyse_table(
    data: Table,
    metric: Metric,
    alpha: float = ALPHA,
    changes: Mapping[str, int] = NO_CHANGES,
    fitted: Fit | None = None,
    found: Contrasts | None = None,
) -> Analysis:
    """Like `analyse`, for runs that are already arrays; `fitted` and `found` if they already are
    fitted and compared.
    """
    if not data.blocks:
        nothing = tuple(Standing(name) for name in data.names)
        return Analysis(metric, data.names[0], nothing, None, None, None, 0, (), None, ())
    fitted = fitted or fit(data.y, data.treatment)
    found = found or compare(fitted, alpha)
    standings = _standings(data, fitted, found, metric, 1 - alpha)
    looking_best = found.choices()
    choices = _simplest_first(data.names, found, looking_best, changes)
    winner = choices[0] if choices and found.better[0, choices[0]] else 0
    rivals = found.better[0] & found.tied(np.array([winner]))[0]
    return Analysis(
        metric=metric,
        baseline=data.names[0],
        standings=tuple(_with_bounds(data, fitted, standings, alpha)),
        floor=_share(float(found.floor[0])),
        run_noise=_share(float(np.sqrt(fitted.pooled[0]))) if fitted.df[0] >= 1 else None,
        same=_same(data, fitted, metric),
        blocks=int(np.isfinite(data.y[0, :2]).any(axis=0).sum()),
        choices=tuple(data.names[i] for i in choices),
        winner=data.names[winner] if winner else None,
        rivals=tuple(data.names[i] for i in np.flatnonzero(rivals) if i != winner),
        differences=_differences(data, found, metric, 1 - alpha),
        passed_over=data.names[looking_best[0]] if choices[:1] != looking_best[:1] else None,
    )


def _simplest_first(
    names: Sequence[str], found: Contrasts, choices: list[int], changes: Mapping[str, int]
) -> list[int]:
    """Move the simplest of the candidates that are like the best-looking one to the front."""
    if not choices or names[choices[0]] not in changes:
        return choices
    best, effects = choices[0], found.effects[0]
    alike = found.tied(np.array([best]))[0] & (effects >= effects[best] - log1p(SIMPLER_WITHIN))
    if found.better[0, best]:
        alike &= found.better[0]
    # The best is always tied with itself; among equally simple ones the order stays.
    known = [i for i in choices if alike[i] and names[i] in changes]
    first = min(known, key=lambda i: changes[names[i]])
    return [first, *(i for i in choices if i != first)]


def _differences(
    data: Table, found: Contrasts, metric: Metric, confidence: float
) -> dict[tuple[str, str], Difference]:
    """The difference of every ordered pair with figures, in the metric's own direction."""
    known = np.flatnonzero(np.isfinite(found.effects[0]))
    sign = 1.0 if metric.more_is_better else -1.0
    pairs = {}
    for i in known:
        for j in known[known != i]:
            log = sign * float(found.effects[0, i] - found.effects[0, j])
            half = float(found.pair_half[0, i, j])
            interval = None
            if np.isfinite(half):
                interval = Interval(_exp(log - half), _exp(log + half), confidence)
            pairs[data.names[i], data.names[j]] = Difference(exp(log), interval)
    return pairs


def _standings(
    data: Table, fitted: Fit, found: Contrasts, metric: Metric, confidence: float
) -> list[Standing]:
    """The candidates with an effect, best first, ranked in groups."""
    known = [i for i in range(len(data.names)) if np.isfinite(fitted.effects[0, i])]
    met = np.isfinite(data.y[0, :2]).any(axis=0)
    lines = {}
    for i in known:
        effect, half = float(found.effects[0, i]), float(found.half[0, i])
        low, high = effect - half, effect + half
        if not metric.more_is_better:
            effect, low, high = -effect, -high, -low
        runs = np.isfinite(data.y[0, data.treatment == i]).any(axis=0)
        lines[i] = Standing(
            name=data.names[i],
            ratio=exp(effect),
            interval=(
                Interval(_exp(low), _exp(high), confidence) if i and np.isfinite(half) else None
            ),
            better=bool(found.better[0, i]),
            worse=bool(found.worse[0, i]),
            blocks=int((runs & met).sum()),
        )
    ranked: list[Standing] = []
    left = sorted(known, key=lambda i: -found.effects[0, i])
    while left:
        leader = left[0]
        tied = found.tied(np.array([leader]))[0]
        group = [i for i in left if tied[i] or found.effects[0, i] == found.effects[0, leader]]
        rank = len(ranked) + 1
        ranked += [replace(lines[i], rank=rank) for i in group]
        left = [i for i in left if i not in group]
    return ranked


def _with_bounds(data: Table, fitted: Fit, ranked: list[Standing], alpha: float) -> list[Standing]:
    """The ranked candidates, then those cut short, then those without figures."""
    rest = [
        _bounded(name, data, fitted, alpha)
        for name in data.names
        if name not in {line.name for line in ranked}
    ]
    rest.sort(key=lambda line: -(line.at_most or 0.0))
    first = len(ranked) + 1
    return ranked + [replace(s, rank=first) if s.at_most is not None else s for s in rest]


def _bounded(name: str, data: Table, fitted: Fit, alpha: float) -> Standing:
    """The upper bound of a candidate whose runs were cut short.

    Each bound is used as if it were the figure, the most favourable reading; the interval has
    no lower end.
    """
    logs = data.at_most.get(name, {})
    gaps = [
        value - float(np.nanmean(data.y[0, :2, block]))
        for block, value in logs.items()
        if np.isfinite(data.y[0, :2, block]).any()
    ]
    if not gaps:
        return Standing(name)
    gap = float(np.mean(gaps))
    interval = None
    if fitted.df[0] >= 1:
        error = np.sqrt(1.5 * fitted.pooled[0] / len(gaps))
        limit = critical.single(alpha / max(len(data.names) - 1, 1), fitted.df)[0]
        interval = Interval(0.0, exp(gap + limit * error), 1 - alpha)
    worse = interval is not None and interval.high < 1
    return Standing(name, interval=interval, worse=worse, at_most=exp(gap), blocks=len(gaps))


def _same(data: Table, fitted: Fit, metric: Metric) -> float | None:
    if not np.isfinite(data.y[0, :2]).all(axis=0).any():
        return None
    difference = float(same_config(fitted)[0])
    return exp(difference if metric.more_is_better else -difference)


def _share(log: float) -> float | None:
    return expm1(min(log, 700.0)) if np.isfinite(log) else None


def _exp(log: float) -> float:
    """exp of a bound, which can overflow a float when there are few degrees of freedom."""
    return exp(log) if log < 700 else inf

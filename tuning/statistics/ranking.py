"""The ranking: candidates by their throughput relative to the baseline of the same block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.outcomes import Outcome
from tuning.statistics.analysis import NO_CHANGES, Analysis, Interval, Standing, analyse_by
from tuning.statistics.compare import ALPHA
from tuning.statistics.data import Metric, Observation
from tuning.statistics.drift import Drift, find_drift
from tuning.statistics.verdict import Verdict, conclude

__all__ = ["Interval", "Judgement", "Metric", "Observation", "Ranked", "judge", "judge_by"]


@dataclass(frozen=True)
class Ranked:
    """A candidate's line in the ranking.

    Figures are medians over its OK runs. `ratio_to_baseline` is the metric's estimated ratio to
    the baseline within the blocks, `interval` its bounds, simultaneous over all lines; None if
    there is nothing to compare, and with a single block. `blocks` counts those shared with the
    baseline. `rank` is shared by candidates that are tied with the best of their group
    (`tied_with`); None without a ratio. `better` and `worse`: measurably better or worse than the
    baseline. `at_most`: a candidate that was cut short has this upper bound and no ratio.
    `outcome` is "ok" if any run was, else the most frequent outcome, "" while no run has ended.
    """

    rank: int | None
    candidate: str
    outcome: str
    tpmP: float | None
    p95_ms: float | None
    p99_ms: float | None
    max_ms: float | None
    server_path_length: float | None
    host_path_length: float | None
    ratio_to_baseline: float | None
    interval: Interval | None
    blocks: int
    runs: int
    failures: int
    tied_with: tuple[str, ...] = ()
    better: bool = False
    worse: bool = False
    at_most: float | None = None
    cut_short: int = 0


@dataclass(frozen=True)
class Judgement:
    """All conclusions about one board by one metric."""

    ranked: list[Ranked]
    analysis: Analysis
    verdict: Verdict
    drift: Drift | None


def judge(
    observations: Iterable[Observation],
    baseline: str,
    candidates: Sequence[str] | None = None,
    metric: Metric = Metric.TPMP,
    alpha: float = ALPHA,
    changes: Mapping[str, int] = NO_CHANGES,
) -> Judgement:
    """Rank the candidates, best first, then those without a ratio, then those that failed.

    `candidates` names every candidate in the order that breaks ties (default: the order in which
    they were observed). Runs without a result are in no figure; `failures` counts
    them. `alpha`: `racing.conclusion_alpha`. `changes` as in `analyse`.
    """
    return judge_by([metric], observations, baseline, candidates, alpha, changes)[metric]


def judge_by(
    metrics: Sequence[Metric],
    observations: Iterable[Observation],
    baseline: str,
    candidates: Sequence[str] | None = None,
    alpha: float = ALPHA,
    changes: Mapping[str, int] = NO_CHANGES,
) -> dict[Metric, Judgement]:
    """Like `judge`, by several metrics at once."""
    seen = list(observations)
    runs: dict[str, list[Observation]] = {name: [] for name in candidates or ()}
    for run in seen:
        runs.setdefault(run.candidate, []).append(run)
    analyses = analyse_by(metrics, seen, baseline, candidates or (), alpha, changes)
    drift = find_drift(seen, baseline)
    figures = {name: _figures(of_one) for name, of_one in runs.items()}
    return {metric: _judged(analysis, figures, drift) for metric, analysis in analyses.items()}


def _judged(
    analysis: Analysis, figures: Mapping[str, dict[str, Any]], drift: Drift | None
) -> Judgement:
    standings = [s for s in analysis.standings if s.name in figures]
    without = [s for s in standings if s.rank is None]
    # Failed candidates come after those that have not run yet or share no block with the baseline.
    without.sort(key=lambda s: (not figures[s.name]["runs"], bool(figures[s.name]["outcome"])))
    in_order = [*(s for s in standings if s.rank is not None), *without]
    ranked = [_line(s, figures[s.name], standings) for s in in_order]
    return Judgement(ranked, analysis, conclude(analysis, drift), drift)


def _figures(runs: Sequence[Observation]) -> dict[str, Any]:
    """Return the figures of a candidate that do not depend on the metric of the ranking."""
    good = [run for run in runs if run.counts]
    cut = sum(run.is_cut_short for run in runs)
    endings = Counter(run.outcome for run in runs)
    return {
        "outcome": Outcome.OK if good else endings.most_common(1)[0][0] if endings else "",
        "tpmP": _median(run.tpmP for run in good),
        "p95_ms": _median(run.p95_ms for run in good),
        "p99_ms": _median(run.p99_ms for run in good),
        "max_ms": _median(run.max_ms for run in good),
        "server_path_length": _median(run.server_path_length for run in good),
        "host_path_length": _median(run.host_path_length for run in good),
        "runs": len(good),
        "failures": len(runs) - len(good) - cut,
        "cut_short": cut,
    }


def _line(standing: Standing, figures: Mapping[str, Any], standings: list[Standing]) -> Ranked:
    return Ranked(
        rank=standing.rank,
        candidate=standing.name,
        ratio_to_baseline=standing.ratio,
        interval=standing.interval,
        blocks=standing.blocks,
        tied_with=tuple(
            other.name
            for other in standings
            if other.rank is not None and other.rank == standing.rank and other is not standing
        ),
        better=standing.better,
        worse=standing.worse,
        at_most=standing.at_most,
        **figures,
    )


def pareto_front(analyses: Sequence[Analysis]) -> tuple[str, ...]:
    """The candidates that no other dominates, in the order of the first ranking.

    One dominates another if its rank is no worse in any of the rankings and better in one. As
    tied candidates share a rank, noise pushes no candidate off the front. Only candidates with a
    rank in every ranking take part.
    """
    found = {
        line.name: [analysis.standing(line.name).rank for analysis in analyses]
        for line in analyses[0].standings
    }
    ranks = {
        name: [rank for rank in row if rank is not None]
        for name, row in found.items()
        if None not in row
    }
    return tuple(
        name
        for name, row in ranks.items()
        if not any(_dominates(other, row) for other in ranks.values())
    )


def _dominates(ours: Sequence[int], theirs: Sequence[int]) -> bool:
    pairs = list(zip(ours, theirs, strict=True))
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None

"""The ranking: candidates by their throughput relative to the baseline of the same block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.outcomes import Outcome
from tuning.statistics.analysis import NO_CHANGES, Analysis, Standing, analyse
from tuning.statistics.compare import ALPHA
from tuning.statistics.data import Metric, Observation
from tuning.statistics.verdict import Drift, Verdict, conclude, find_drift

_MEDIANS = ("throughput", "p95_ms", "p99_ms", "max_ms", "server_path_length", "host_path_length")


@dataclass(frozen=True)
class Ranked(Standing):
    """A candidate's line in the ranking: its standing, and medians over its OK runs.

    outcome: "ok" if any run was, else the most frequent outcome, "" while no run has ended.
    runs: how many have a figure; failures: how many have none and were not cut short.
    """

    outcome: str = ""
    throughput: float | None = None
    p95_ms: float | None = None
    p99_ms: float | None = None
    max_ms: float | None = None
    server_path_length: float | None = None
    host_path_length: float | None = None
    runs: int = 0
    failures: int = 0
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
    metric: Metric = Metric.THROUGHPUT,
    alpha: float = ALPHA,
    changes: Mapping[str, int] = NO_CHANGES,
) -> Judgement:
    """Rank the candidates: best first, then candidates without a ratio, then the failed ones.

    `candidates` names every candidate in the order that breaks ties (default: the order in which
    they were observed). Runs without a result are in no figure; `failures` counts
    them. `alpha`: `racing.conclusion_alpha`. `changes` as in `analyse`.
    """
    seen = list(observations)
    runs: dict[str, list[Observation]] = {name: [] for name in candidates or ()}
    for run in seen:
        runs.setdefault(run.candidate, []).append(run)
    analysis = analyse(seen, baseline, candidates or (), metric, alpha, changes)
    drift = find_drift(seen, baseline)
    lines = [
        Ranked(**vars(standing), **_figures(runs.get(standing.name, ())))
        for standing in analysis.standings
    ]
    # A candidate that has not run yet, or shares no block with the baseline, comes before a failed
    # one.
    without = [line for line in lines if line.rank is None]
    without.sort(key=lambda line: (not line.runs, bool(line.outcome)))
    in_order = [*(line for line in lines if line.rank is not None), *without]
    return Judgement(in_order, analysis, conclude(analysis, drift), drift)


def _figures(runs: Sequence[Observation]) -> dict[str, Any]:
    """Return the figures of a candidate that do not depend on the metric of the ranking."""
    good = [run for run in runs if run.counts]
    cut = sum(run.is_cut_short for run in runs)
    endings = Counter(run.outcome for run in runs)
    known = {
        name: [value for run in good if (value := getattr(run, name)) is not None]
        for name in _MEDIANS
    }
    return {
        "outcome": Outcome.OK if good else endings.most_common(1)[0][0] if endings else "",
        "runs": len(good),
        "failures": len(runs) - len(good) - cut,
        "cut_short": cut,
        **{name: median(values) for name, values in known.items() if values},
    }


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

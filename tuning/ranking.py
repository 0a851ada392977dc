"""The ranking: candidates by their throughput relative to the baseline of the same block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from benchmarks.outcomes import Outcome


@dataclass(frozen=True)
class Observation:
    """One finished run. Times in ms, path lengths in cycles per New-Order; None is "no figure".

    `outcome` is a word of `benchmarks.outcomes.Outcome`; only "ok" runs have figures that count.
    """

    candidate: str
    block: int
    outcome: str
    tpmP: float | None = None
    p95_ms: float | None = None
    p99_ms: float | None = None
    max_ms: float | None = None
    server_path_length: float | None = None
    host_path_length: float | None = None

    @property
    def counts(self) -> bool:
        """Whether the run may enter a ranking."""
        return self.outcome == Outcome.OK and self.tpmP is not None and self.tpmP > 0


@dataclass(frozen=True)
class Interval:
    """Bounds between which the ratio lies with the given confidence (0 to 1)."""

    low: float
    high: float
    confidence: float


@dataclass(frozen=True)
class Ranked:
    """A candidate's line of the ranking.

    Figures are medians over its OK runs; `ratio_to_baseline` is the median over the blocks of
    tpmP / the baseline's tpmP in that block, `blocks` counts those that have it. `rank` is None
    without such a ratio. `outcome` is "ok" when any run was, else how most runs ended, "" while
    none has. `interval` is not computed yet.
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


def rank(
    observations: Iterable[Observation], baseline: str, candidates: Sequence[str] | None = None
) -> list[Ranked]:
    """Rank the candidates, fastest first, then those without a ratio, then those that failed.

    `candidates` names every candidate in the order that breaks ties (default: the order in which
    they were observed). Runs that failed enter no figure; `failures` counts them. A block in
    which the baseline failed gives no ratio. Exactly equal ratios share a rank.
    """
    seen = list(observations)
    names = list(dict.fromkeys([*(candidates or ()), *(run.candidate for run in seen)]))
    by_block = _throughput_by_block(seen)
    lines = [
        _line(
            name, [run for run in seen if run.candidate == name], _ratios(name, baseline, by_block)
        )
        for name in names
    ]
    lines.sort(key=lambda line: (-(line.ratio_to_baseline or 0.0), line.runs == 0))
    return _with_ranks(lines)


def _throughput_by_block(runs: Iterable[Observation]) -> dict[tuple[int, str], float]:
    """Median tpmP by block and candidate; a repeated run does not weigh more than the others."""
    found: dict[tuple[int, str], list[float]] = {}
    for run in runs:
        if run.counts and run.tpmP is not None:
            found.setdefault((run.block, run.candidate), []).append(run.tpmP)
    return {key: median(values) for key, values in found.items()}


def _ratios(name: str, baseline: str, by_block: dict[tuple[int, str], float]) -> list[float]:
    return [
        value / by_block[block, baseline]
        for (block, candidate), value in by_block.items()
        if candidate == name and (block, baseline) in by_block
    ]


def _line(name: str, runs: list[Observation], ratios: list[float]) -> Ranked:
    good = [run for run in runs if run.counts]
    endings = Counter(run.outcome for run in runs)
    return Ranked(
        rank=None,
        candidate=name,
        outcome=Outcome.OK if good else endings.most_common(1)[0][0] if endings else "",
        tpmP=_median(run.tpmP for run in good),
        p95_ms=_median(run.p95_ms for run in good),
        p99_ms=_median(run.p99_ms for run in good),
        max_ms=_median(run.max_ms for run in good),
        server_path_length=_median(run.server_path_length for run in good),
        host_path_length=_median(run.host_path_length for run in good),
        ratio_to_baseline=median(ratios) if ratios else None,
        interval=None,
        blocks=len(ratios),
        runs=len(good),
        failures=len(runs) - len(good),
    )


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _with_ranks(lines: list[Ranked]) -> list[Ranked]:
    ranked: list[Ranked] = []
    for place, line in enumerate(lines, start=1):
        if line.ratio_to_baseline is None:
            ranked.append(line)
        elif ranked and ranked[-1].ratio_to_baseline == line.ratio_to_baseline:
            ranked.append(_at(ranked[-1].rank, line))
        else:
            ranked.append(_at(place, line))
    return ranked


def _at(place: int | None, line: Ranked) -> Ranked:
    return replace(line, rank=place)

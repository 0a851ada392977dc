"""The verdict of a study in plain sentences, and the drift of its host."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import erfc, expm1, log, sqrt
from statistics import median

import numpy as np

from benchmarks.counted import counted
from tuning.statistics.analysis import Analysis, Standing
from tuning.statistics.data import Metric, Observation


class VerdictKind(StrEnum):
    """The possible verdicts of a study."""

    WINNER = "winner"
    TIE = "tie"  # several are measurably better than the baseline and tied
    NOT_CONFIRMED = "not_confirmed"  # no fresh pairs confirm what looks best
    NO_DIFFERENCE = "no_difference"
    BASELINE_BEST = "baseline_best"
    NOTHING_TO_COMPARE = "nothing_to_compare"
    NOTHING_FOUND = "nothing_found"  # a search looked, and no config was worth a race
    TIME_RAN_OUT = "time_ran_out"  # before what a search found could race


@dataclass(frozen=True)
class Verdict:
    """`candidate` is the config to use: the winner, the best of a tie, or the baseline."""

    kind: VerdictKind
    candidate: str
    sentence: str


def conclude(analysis: Analysis, drift: Drift | None = None) -> Verdict:
    """The verdict of blocks alone; a drifting host is named in its sentence."""
    kind, sentence = _by_blocks(analysis)
    sentence += _about_drift(drift, analysis.baseline)
    return Verdict(kind, analysis.winner or analysis.baseline, sentence)


def conclude_by_pairs(
    analysis: Analysis,
    confirmed: str | None,
    tried: Mapping[str, str],
    drift: Drift | None = None,
) -> Verdict:
    """Return the verdict of a study in which fresh pairs decide among `Analysis.choices`.

    confirmed: the first of the choices that its pairs confirm. tried: by choice the sentence on
    its pairs, in the order in which the choices were tried.
    """
    if not analysis.choices:
        return conclude(analysis, drift)
    best = analysis.standing(confirmed or next(iter(tried), analysis.choices[0]))
    blocks = counted(best.blocks, "block")
    # An effect has one figure: that of the fresh pairs, once there are any.
    effect = f"{_effect(best, analysis)} ({_evidence(best, analysis)})"
    texts = [
        f"{best.name} was chosen by {blocks}." if tried else f"By {blocks}, {best.name} {effect}."
    ]
    kind = VerdictKind.NOT_CONFIRMED
    if confirmed is not None:
        tied = [name for name in best.tied_with if analysis.standing(name).better]
        kind = VerdictKind.TIE if tied else VerdictKind.WINNER
        texts += [f"It is tied with {', '.join(tied)}."] if tied else []
    if best.name == analysis.choices[0]:
        texts.append(_why_not_the_best(analysis))
    texts += tried.values()
    if confirmed is None:
        texts += ([] if tried else ["No fresh pairs confirm it."]) + [f"Keep {analysis.baseline}."]
    sentence = " ".join(text for text in texts if text) + _about_drift(drift, analysis.baseline)
    return Verdict(kind, confirmed or analysis.baseline, sentence)


def _about_drift(drift: Drift | None, baseline: str) -> str:
    return f" {drift.sentence(baseline)}" if drift is not None and drift.is_named else ""


def _by_blocks(analysis: Analysis) -> tuple[VerdictKind, str]:
    others = [s for s in analysis.standings if s.name != analysis.baseline and s.blocks]
    baseline, blocks = analysis.baseline, counted(analysis.blocks, "block")
    floor = f"noise floor {percent(analysis.floor or 0.0)}"
    if not analysis.blocks:
        why = f"Nothing to compare: {baseline} has no figure."
        return VerdictKind.NOTHING_TO_COMPARE, why
    if not others:
        why = (
            f"Nothing to compare with {baseline}: "
            "no other candidate has a figure in a block with it."
        )
        return VerdictKind.NOTHING_TO_COMPARE, why
    if analysis.floor is None:
        shared = counted(max(standing.blocks for standing in others), "block")
        why = f"{shared} cannot separate a difference from noise: keep {baseline} or add blocks."
        return VerdictKind.NOTHING_TO_COMPARE, why
    if analysis.winner is not None:
        best = analysis.standing(analysis.winner)
        text = f"{best.name} {_effect(best, analysis)} ({_evidence(best, analysis)})"
        if not analysis.rivals:
            return VerdictKind.WINNER, f"{text}."
        tie = f"{text}, but is tied with {', '.join(analysis.rivals)}."
        return VerdictKind.TIE, f"{tie} {_why_not_the_best(analysis)}".rstrip()
    if all(standing.worse for standing in others):
        text = f"{baseline} is measurably better than every other candidate: keep it"
        return VerdictKind.BASELINE_BEST, f"{text} ({blocks}, {floor})."
    reach = [
        max(e.bounds[1] / e.ratio, e.ratio / e.low) - 1
        for e in (standing.estimate for standing in others)
        if e is not None and e.low
    ]
    if reach:
        least = percent(median(reach))
        floor = f"{blocks} can detect differences of about {least} or more; {floor}"
    return VerdictKind.NO_DIFFERENCE, f"No measurable difference: keep {baseline} ({floor})."


def _why_not_the_best(analysis: Analysis) -> str:
    if analysis.passed_over is None:
        return ""
    found = analysis.between(analysis.passed_over, analysis.choices[0])
    ahead = abs(found.ratio - 1) if found else 0.0
    return (
        f"It is chosen because it changes fewer variables than {analysis.passed_over}, "
        f"whose lead over it of {percent(ahead)} is within the noise."
    )


def _effect(standing: Standing, analysis: Analysis) -> str:
    change = percent(abs((standing.estimate.ratio if standing.estimate else 1.0) - 1))
    than = f"than {analysis.baseline}"
    return {
        Metric.THROUGHPUT: f"completes {change} more transactions per minute {than}",
        Metric.P95: f"has a 95th-percentile response time {change} shorter {than}",
        Metric.SERVER_PATH_LENGTH: f"takes {change} fewer CPU cycles per transaction {than}",
    }[analysis.metric]


def _evidence(standing: Standing, analysis: Analysis) -> str:
    interval = standing.estimate.text() if standing.estimate else ""
    blocks = counted(standing.blocks, "block")
    parts = [interval, blocks, f"noise floor {percent(analysis.floor or 0.0)}"]
    return ", ".join(filter(None, parts))


def percent(share: float) -> str:
    """0.042 as `4.2 %`."""
    return f"{share * 100:.1f} %"


# A drift is named if it is this unlikely on a steady host and at least this large.
NAMED_P = 0.01
NAMED_CHANGE = 0.05


@dataclass(frozen=True)
class Drift:
    """Trend of the baseline's throughput over wall time.

    change: over the whole study, as a fraction (-0.14: it lost 14 %). minutes: its length.
    p: chance of a trend this clear on a steady host (Kendall 1938, normal approximation).
    """

    change: float
    minutes: float
    p: float
    runs: int

    @property
    def is_named(self) -> bool:
        return self.p < NAMED_P and abs(self.change) >= NAMED_CHANGE

    def sentence(self, baseline: str) -> str:
        """The sentence for the verdict."""
        did = "lost" if self.change < 0 else "gained"
        return (
            f"The host drifted: {baseline} {did} {abs(self.change) * 100:.0f} % over the "
            f"{self.minutes:.0f} minutes of the study. Comparisons within a block cancel this out."
        )


def find_drift(observations: Iterable[Observation], baseline: str) -> Drift | None:
    """Return the baseline's trend; None with fewer than 4 runs that have a start time.

    Theil-Sen slope: the median over all pairs of runs, robust against stalled runs.
    """
    points = sorted(
        (run.started_at, log(run.throughput))
        for run in observations
        if run.candidate == baseline
        and run.counts
        and run.started_at is not None
        and run.throughput
    )
    length = points[-1][0] - points[0][0] if points else 0.0
    if len(points) < 4 or length <= 0:
        return None
    n = len(points)
    at, level = np.array(points).T
    first, second = np.triu_indices(n, k=1)
    run, rise = at[second] - at[first], level[second] - level[first]
    slope = float(np.median(rise[run > 0] / run[run > 0]))
    score = int(np.sign(rise).sum())
    deviation = sqrt(n * (n - 1) * (2 * n + 5) / 18)
    p = erfc(max(abs(score) - 1, 0) / deviation / sqrt(2))
    return Drift(change=expm1(slope * length), minutes=length / 60, p=p, runs=n)

"""Early stop: whether the first seconds of a run show that it is too slow to finish.

Only for candidates in the blocks of a race and in the runs of a search, where an upper bound is
enough to see which are behind. The baseline, its replicate and the pairs that confirm a winner
always run to the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from benchmarks.outcomes import Cut, CutRule

# A run below this share of the baseline's throughput is not worth finishing.
TOO_SLOW_SHARE = 0.5
# Seconds needed before a run is judged, and without commits before it counts as stalled.
MIN_SECONDS = 5
STALL_SECONDS = 5
# New-Orders that a stall must have cost at half the baseline's rate: on a device with one or two
# per second some seconds without any are normal (if 10 are expected, the chance of none is
# 0.005 %).
_STALL_MISSES = 10
# Standard errors between the run's rate and half the baseline's; tested every second.
_MARGIN = 4.0
_SECONDS_PER_MINUTE = 60.0


@dataclass(frozen=True)
class Reference:
    """A run of the baseline: its commits in each measured second and its figures."""

    commits: list[int]
    completed: int
    throughput: float


def cut_rule(references: Sequence[Reference]) -> CutRule | None:
    """A rule that judges a run by the baseline's runs of its block, else of the last one.

    None without references, or if they committed nothing.
    """
    commits = sum(sum(one.commits) for one in references)
    if not commits:
        return None
    # Both are counted in commits, but one Delivery makes ten of them: their number varies more
    # than that of New-Orders, which the judgement assumes.
    share = sum(one.completed for one in references) / commits
    baseline = [_scaled(one.commits, share) for one in references]
    # By the better of the baseline's complete runs: the most favourable bound for the candidate.
    at_most = TOO_SLOW_SHARE * max(one.throughput for one in references)

    def rule(commits: Sequence[int]) -> Cut | None:
        found = too_slow(_scaled(commits, share), baseline)
        return None if found is None else Cut(found.reason, at_most)

    return rule


def _scaled(counts: Sequence[int], factor: float) -> list[float]:
    return [count * factor for count in counts]


def too_slow(counts: Sequence[float], baseline: Sequence[Sequence[float]]) -> Cut | None:
    """Judge the New-Orders of the seconds measured so far; None if the run may continue.

    `baseline`: the same counts for the baseline's runs of this block if they are done, else of the
    last one. Compared over the same seconds, so a slow start is no disadvantage.
    """
    n = len(counts)
    theirs = [np.asarray(run[:n], dtype=float) for run in baseline if len(run) >= n]
    if n < MIN_SECONDS or not theirs:
        return None
    rates = [float(run.mean()) for run in theirs]
    # The slower of the baseline's runs, in favour of the candidate.
    rate = min(rates)
    if rate <= 0:
        return None
    at_most = TOO_SLOW_SHARE * rate * _SECONDS_PER_MINUTE
    ours = np.asarray(counts, dtype=float)
    share = float(ours.mean()) / rate
    last = max(STALL_SECONDS, ceil(_STALL_MISSES / (TOO_SLOW_SHARE * rate)))
    silent = n >= last and not ours[-last:].any()
    # A stall after a fast start gives no bound until it has cost the run half its rate.
    if silent and share < TOO_SLOW_SHARE and all(run[-last:].any() for run in theirs):
        return Cut(f"stalled for {last} s", at_most)
    if float(ours.mean()) + _MARGIN * _error(ours) < TOO_SLOW_SHARE * rate:
        return Cut(f"{share * 100:.0f} % of the baseline's throughput after {n} s", at_most)
    return None


def _error(counts: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    """Standard error of the mean of autocorrelated counts (Newey and West, lag 2)."""
    n = len(counts)
    gap = counts - counts.mean()
    total = float(gap @ gap)
    for lag, weight in ((1, 2 / 3), (2, 1 / 3)):
        total += 2 * weight * float(gap[lag:] @ gap[:-lag])
    # At least the Poisson error of counting; the 1 is for a count of zero.
    return float(np.sqrt(max(total / n, counts.mean(), 1.0) / n))

"""Early stop: whether a run is hopeless already in its first seconds.

Only for candidates in the blocks of a race and in the runs of a search: there a bound is enough to
see which are behind. The baseline, its replicate and the pairs that confirm a winner are measured
to their end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from benchmarks.measurement.early_stop import Cut, CutRule

# Under this share of the baseline's throughput a run is not worth finishing.
HOPELESS_SHARE = 0.5
# Seconds needed before anything is said, and of silence before a run counts as stalled.
MIN_SECONDS = 5
STALL_SECONDS = 5
# New-Orders at half the baseline's rate that a silence must have missed: on a device with one or
# two per second some seconds without any are usual (of 10 expected none come with 0.005 %).
_STALL_MISSES = 10
# Standard errors between the run's rate and half the baseline's: looked at every second.
_MARGIN = 4.0
_SECONDS_PER_MINUTE = 60.0


@dataclass(frozen=True)
class Reference:
    """A run of the baseline: its commits in each measured second, and its figures."""

    commits: list[int]
    new_orders: int
    tpmP: float


def cut_rule(references: Sequence[Reference]) -> CutRule | None:
    """Judges a run by the baseline's: of its block, else of the last one that has any.

    None without references, or where they committed nothing.
    """
    commits = sum(sum(one.commits) for one in references)
    if not commits:
        return None
    # Both are counted in commits, but one Delivery makes ten of these: their number scatters
    # more than that of New-Orders, which is what the judgement reckons with.
    share = sum(one.new_orders for one in references) / commits
    baseline = [_scaled(one.commits, share) for one in references]
    # The better of the baseline's runs, all of it: the most that can be said for the candidate.
    at_most = HOPELESS_SHARE * max(one.tpmP for one in references)

    def rule(commits: Sequence[int]) -> Cut | None:
        found = hopeless(_scaled(commits, share), baseline)
        return None if found is None else Cut(found.reason, at_most)

    return rule


def _scaled(counts: Sequence[int], factor: float) -> list[float]:
    return [count * factor for count in counts]


def hopeless(counts: Sequence[float], baseline: Sequence[Sequence[float]]) -> Cut | None:
    """Judge the New-Orders of the seconds measured so far; None while the run may go on.

    `baseline`: the same counts of the baseline's runs, of this block where they are done, else
    of the last one. Compared over the same seconds, so a slow start counts against nobody.
    """
    n = len(counts)
    theirs = [np.asarray(run[:n], dtype=float) for run in baseline if len(run) >= n]
    if n < MIN_SECONDS or not theirs:
        return None
    rates = [float(run.mean()) for run in theirs]
    # The slower of the baseline's runs: the candidate gets the benefit of the doubt.
    rate = min(rates)
    if rate <= 0:
        return None
    at_most = HOPELESS_SHARE * rate * _SECONDS_PER_MINUTE
    ours = np.asarray(counts, dtype=float)
    share = float(ours.mean()) / rate
    last = max(STALL_SECONDS, ceil(_STALL_MISSES / (HOPELESS_SHARE * rate)))
    silent = n >= last and not ours[-last:].any()
    # Silence after a fast start is no bound yet: it must have cost the run half its rate.
    if silent and share < HOPELESS_SHARE and all(run[-last:].any() for run in theirs):
        return Cut(f"stalled for {last} s", at_most)
    if float(ours.mean()) + _MARGIN * _error(ours) < HOPELESS_SHARE * rate:
        return Cut(f"{share * 100:.0f} % of the baseline's throughput after {n} s", at_most)
    return None


def _error(counts: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    """Standard error of the mean of counts that follow one another (Newey and West, lag 2)."""
    n = len(counts)
    gap = counts - counts.mean()
    total = float(gap @ gap)
    for lag, weight in ((1, 2 / 3), (2, 1 / 3)):
        total += 2 * weight * float(gap[lag:] @ gap[:-lag])
    # Never below what counting alone gives; 1 stands for "none was counted".
    return float(np.sqrt(max(total / n, counts.mean(), 1.0) / n))

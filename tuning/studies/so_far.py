"""What the runs of a study show so far, for a progress bar: the leader, the best of a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from benchmarks.models import RunState
from tuning.models import SlotPurpose
from tuning.results.run_lines import SlotRow
from tuning.results.search import VOID
from tuning.statistics.aim import Aim, missed_texts
from tuning.statistics.data import Metric, Observation
from tuning.statistics.rounds import ShortRun, is_better, mean_ratio, round_ratios
from tuning.strategy.racing import FAULTS

# One block shows no noise, and one run of the baseline does not show that it misses a limit.
_MIN_BLOCKS = 2


@dataclass(frozen=True)
class Leader:
    """The config with the best mean ratio of `metric` to the baseline's runs of the same block,
    over `blocks` blocks; once pairs are measured their config, until an extension adds blocks.
    """

    name: str
    ratio: float
    metric: Metric
    blocks: int


@dataclass(frozen=True)
class Searched:
    """The screening of a search so far.

    best, ratio: the config with the best ratio of `metric` to the baseline's of its round, which
    is a lucky figure more often than not; "" while there is none.
    raced: how many were taken into a race, which decides by new runs; 0 while it screens.
    missed: the limits that the baseline itself misses, as `p95 <= 50 ms: 61.2 ms in 3 runs`.
    """

    tried: int
    rounds: int
    metric: Metric
    best: str = ""
    ratio: float | None = None
    raced: int = 0
    missed: tuple[str, ...] = ()


def leader_of(slots: Sequence[SlotRow], aim: Aim) -> Leader | None:
    """Return who leads on the last place in `slots`, which are all slots of a study in order.

    None while no config has two blocks or is ahead of the baseline. A config with a run that
    failed or was cut short does not lead, nor one that misses a limit in its blocks.
    """
    metric = aim.objective
    here = [slot for slot in slots if slot.place == slots[-1].place]
    in_blocks = [slot for slot in here if slot.purpose == SlotPurpose.BLOCK]
    out = {s.name for s in in_blocks if s.state in FAULTS or s.state == RunState.CUT_SHORT}
    out |= _over_limits(in_blocks, aim)
    ratios = {
        name: ratios
        for name, ratios in _ratios(in_blocks, metric).items()
        if len(ratios) >= _MIN_BLOCKS and name not in out
    }
    since = takewhile(lambda slot: slot.purpose != SlotPurpose.BLOCK, reversed(here))
    pairs = (s.name for s in since if s.purpose == SlotPurpose.CONFIRMATION and not s.is_baseline)
    confirmed = next(pairs, None)
    if confirmed is not None:
        ratios = {name: ratios[name] for name in ratios if name == confirmed}
    name, ratio = _best(ratios, metric)
    if ratio is None or not is_better(ratio, 1.0, metric):
        return None
    return Leader(name, ratio, metric, len(ratios[name]))


def searched_so_far(slots: Sequence[SlotRow], aim: Aim) -> Searched:
    """Return what a search for `aim` on one device with one workload has screened."""
    metric = aim.objective
    screened = [slot for slot in slots if slot.purpose == SlotPurpose.SEARCH]
    others = [slot for slot in screened if not slot.is_baseline]
    best, ratio = _best(_ratios(screened, metric), metric)
    raced = {s.name for s in slots if s.purpose == SlotPurpose.BLOCK and not s.is_baseline}
    return Searched(
        tried=len({s.name for s in others if s.is_finished and s.state not in VOID}),
        rounds=len({slot.block for slot in screened}),
        metric=metric,
        best=best,
        ratio=ratio,
        raced=len(raced),
        missed=_missed_by_the_baseline(slots, aim),
    )


def _ratios(slots: Sequence[SlotRow], metric: Metric) -> dict[str, list[float]]:
    """Return by config its ratios to the baseline's runs of the same block or round."""
    runs = [ShortRun(slot.block, slot.is_baseline, slot.figure(metric)) for slot in slots]
    found: dict[str, list[float]] = {}
    for slot, ratio in zip(slots, round_ratios(runs), strict=True):
        if ratio is not None and not slot.is_baseline:
            found.setdefault(slot.name, []).append(ratio)
    return found


def _best(ratios: Mapping[str, Sequence[float]], metric: Metric) -> tuple[str, float | None]:
    """Return the config with the best mean ratio; "" and None without any."""
    means = {name: mean_ratio(values) for name, values in ratios.items()}
    if not means:
        return "", None
    name = (max if metric.more_is_better else min)(means, key=lambda name: means[name])
    return name, means[name]


def _over_limits(slots: Sequence[SlotRow], aim: Aim) -> set[str]:
    runs: dict[str, list[Observation]] = {}
    for slot in slots if aim.keep else ():
        runs.setdefault(slot.name, []).append(slot.observation)
    return {name for name, seen in runs.items() if aim.missed(seen)}


def _missed_by_the_baseline(slots: Sequence[SlotRow], aim: Aim) -> tuple[str, ...]:
    """By its median so far. Whoever asked for a limit that nothing may keep can stop then."""
    if not aim.keep:
        return ()
    seen = [s.observation for s in slots if s.is_baseline and s.state == RunState.OK]
    return missed_texts(aim, seen) if len(seen) >= _MIN_BLOCKS else ()

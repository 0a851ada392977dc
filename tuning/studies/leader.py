"""Which config leads a race so far, in plain columns, for a progress bar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from benchmarks.models import RunState
from tuning.models import SlotPurpose
from tuning.results.run_lines import SlotRow
from tuning.statistics.aim import Aim
from tuning.statistics.data import Metric, Observation
from tuning.statistics.rounds import ShortRun, is_better, mean_ratio, round_ratios
from tuning.strategy.racing import FAULTS

# One block alone shows no noise.
_MIN_BLOCKS = 2


@dataclass(frozen=True)
class Leader:
    """The config with the best mean ratio of `metric` to the baseline's runs of the same block,
    over `blocks` blocks; while pairs are measured and afterwards the config of these, until
    an extension measures more blocks.
    """

    name: str
    ratio: float
    metric: Metric
    blocks: int


def leader_of(slots: Sequence[SlotRow], aim: Aim) -> Leader | None:
    """Of the last place in `slots`, all slots of a study in order.

    None while no config has two blocks, or as long as none is ahead of the baseline. One with a
    run that failed or was cut short does not lead, nor one that misses a limit in its blocks.
    """
    metric = aim.objective
    place = slots[-1].place if slots else None
    here = [slot for slot in slots if slot.place == place]
    in_blocks = [slot for slot in here if slot.purpose == SlotPurpose.BLOCK]
    known = round_ratios([ShortRun(s.block, s.is_baseline, s.figure(metric)) for s in in_blocks])
    ratios: dict[str, list[float]] = {}
    for slot, ratio in zip(in_blocks, known, strict=True):
        if ratio is not None and not slot.is_baseline:
            ratios.setdefault(slot.name, []).append(ratio)
    out = {s.name for s in in_blocks if s.state in FAULTS or s.state == RunState.CUT_SHORT}
    out |= _over_limits(in_blocks, aim)
    means = {
        name: mean_ratio(found)
        for name, found in ratios.items()
        if len(found) >= _MIN_BLOCKS and name not in out
    }
    since = takewhile(lambda one: one.purpose != SlotPurpose.BLOCK, reversed(here))
    confirmed = [s for s in since if s.purpose == SlotPurpose.CONFIRMATION and not s.is_baseline]
    if confirmed:
        means = {name: ratio for name, ratio in means.items() if name == confirmed[0].name}
    if not means:
        return None
    name = (max if metric.more_is_better else min)(means, key=lambda one: means[one])
    if not is_better(means[name], 1.0, metric):
        return None
    return Leader(name, means[name], metric, len(ratios[name]))


def _over_limits(slots: Sequence[SlotRow], aim: Aim) -> set[str]:
    runs: dict[str, list[Observation]] = {}
    for slot in slots if aim.keep else ():
        runs.setdefault(slot.name, []).append(slot.observation)
    return {name for name, seen in runs.items() if aim.missed(seen)}

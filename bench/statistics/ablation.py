"""How often an ablation drops a line that matters, and keeps one that does not."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bench.statistics.criteria import Table
from tuning.statistics.confirmation import ReductionState, judge_reduction, margin_of
from tuning.statistics.data import Metric, Observation
from tuning.strategy.ablation.ablate import Ablation
from tuning.strategy.protocol import Budget, Done, Group, History, PlannedRun, Purpose
from tuning.strategy.whole import Variant, Whole

BASE, WHOLE = "base", "whole"
# What eight lines in five areas bring.
GAINS = {
    "innodb_buffer_pool_size": 0.25,
    "innodb_log_buffer_size": 0.0,
    "innodb_redo_log_capacity": 0.08,
    "innodb_io_capacity": 0.05,
    "innodb_flush_neighbors": 0.02,
    "innodb_lru_scan_depth": 0.0,
    "table_open_cache": 0.0,
    "innodb_adaptive_hash_index": 0.0,
}
MATTERS = 0.05
# Shares of studies: lines that bring 5 % or more and are dropped, and reduced configs that truly
# lose more than the margin.
MAX_DROPPED = 0.05


@dataclass(frozen=True)
class Outcome:
    """One winner ablated: the lines that the recommended config lacks, and runs spent."""

    left_out: frozenset[str]
    runs: int


def ablate(noise: float, runs: int, seed: int) -> Outcome:
    """One made-up winner, ablated by the strategy with so many runs."""
    draw = random.Random(f"{seed}/{noise}/{runs}")
    total = sum(math.log1p(gain) for gain in GAINS.values())
    whole = Whole(WHOLE, lead=total, run_noise=noise, knobs=dict.fromkeys(GAINS, "1"))
    strategy, spent = Ablation(), 0
    history = History(
        seed=seed, baseline=BASE, candidates=(BASE, WHOLE), groups=(), planned_blocks=5,
        budget=Budget(),
    )  # fmt: skip
    for _ in range(100):
        history = replace(
            history,
            groups=(Group("D0", (BASE, WHOLE), whole=whole),),
            knobs={name: {} for name in (BASE, WHOLE, *whole.variants)},
            ablation_budget=Budget(runs_left=runs - spent),
        )
        answer = strategy.propose(history)
        if isinstance(answer, Done):
            break
        new = {one.name: Variant(one.without) for one in answer.new}
        whole = replace(whole, variants={**whole.variants, **new})
        whole = _measured(whole, answer.runs, noise, draw)
        history = replace(history, last_block=max(run.block for run in answer.runs))
        spent += len(answer.runs)
    return Outcome(_left_out(whole, noise), spent)


def _measured(
    whole: Whole, runs: Sequence[PlannedRun], noise: float, draw: random.Random
) -> Whole:
    shift = {block: draw.gauss(0, 0.03) for block in sorted({run.block for run in runs})}
    seen = tuple(
        Observation(
            run.candidate,
            run.block,
            "ok",
            replicate=run.replicate,
            throughput=6000 * math.exp(_gain(whole, run.candidate) + shift[run.block])
            * math.exp(draw.gauss(0, noise)),
        )
        for run in runs
    )  # fmt: skip
    if runs[0].purpose is Purpose.REDUCED:
        return replace(whole, rounds=whole.rounds + seen)
    return replace(whole, runs=whole.runs + seen)


def _gain(whole: Whole, name: str) -> float:
    if name == BASE:
        return 0.0
    without = whole.variants[name].without if name in whole.variants else frozenset()
    return sum(math.log1p(gain) for line, gain in GAINS.items() if line not in without)


def _left_out(whole: Whole, noise: float) -> frozenset[str]:
    """The lines that the recommended config lacks; none where its rounds do not pass."""
    names = {run.candidate for run in whole.rounds} - {BASE, WHOLE}
    if not names:
        return frozenset()
    (reduced,) = names
    figures = {(run.block, run.candidate): run.figure(Metric.THROUGHPUT) for run in whole.rounds}
    blocks = sorted({run.block for run in whole.rounds})
    found = judge_reduction(
        [(figures[b, reduced], figures[b, WHOLE], figures[b, BASE]) for b in blocks],
        (reduced, WHOLE, BASE),
        margin=margin_of(whole.lead),
        run_noise=noise,
    )
    is_advice = found.state is ReductionState.VERIFIED
    return whole.variants[reduced].without if is_advice else frozenset()


def lines_that_matter(studies: int) -> Table:
    """Lines dropped by what they bring; promised for those of 5 % and more."""
    sizes = sorted(set(GAINS.values()), reverse=True)
    table = Table(
        "Testing each line",
        "Winners of eight lines in five areas, which bring +25 %, +8 %, +5 %, +2 % and four times "
        "nothing; blocks differ by 3 %. The share of studies whose recommended config lacks a "
        f"line, by what that brings; {_count(studies)} per line. Promised: one that brings 5 % or "
        f"more is dropped in at most {MAX_DROPPED * 100:.0f} %.",
        ["noise", "runs at most", *(f"dropped: {size * 100:+.0f} %" for size in sizes), "runs"],
    )
    for noise in (0.01, 0.02, 0.03, 0.05):
        for runs in (40, 100):
            found = [ablate(noise, runs, seed) for seed in range(_count(studies))]
            cells = [f"{noise * 100:.0f} %", str(runs)]
            for size in sizes:
                lines = [line for line, gain in GAINS.items() if gain == size]
                dropped = sum(line in one.left_out for one in found for line in lines)
                share = dropped / len(lines) / len(found)
                cells.append(f"{share * 100:.1f} %")
                if size >= MATTERS:
                    kept = share <= MAX_DROPPED
                    table.check(kept, f"{size * 100:.0f} % dropped at {noise}, {runs} runs")
            cells.append(f"{sum(one.runs for one in found) / len(found):.0f}")
            table.lines.append(cells)
    return table


def _count(studies: int) -> int:
    """Each takes the time of many of the other simulations."""
    return max(studies // 10, 20)

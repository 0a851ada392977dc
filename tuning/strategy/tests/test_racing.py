"""Racing drops what is measurably behind, spends the rest on near-ties and knows when to stop."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from bench.statistics.noise import scenarios
from bench.statistics.simulate import draw, race
from tuning.statistics.analysis import analyse
from tuning.statistics.data import Metric, Observation
from tuning.statistics.tests.helpers import BASE, cut, ok, study
from tuning.strategy.confirmation import shortest_seconds
from tuning.strategy.protocol import Budget, Group, History, StopReason
from tuning.strategy.racing import (
    DECIDE_ALPHA,
    DROP_ALPHA,
    FIRST_DECISION,
    FIRST_LOOK,
    Step,
    conclusion_alpha,
    decide_alpha,
    drop_alpha,
    next_step,
)

PLENTY = Budget(runs_left=10_000)


def step(
    runs: list[Observation],
    *names: str,
    out: Mapping[str, str] | None = None,
    budget: Budget = PLENTY,
) -> Step:
    group = Group("D0", (BASE, *names), tuple(runs))
    history = History(1, BASE, group.candidates, (group,), 6, budget, dropped=out or {})
    return next_step(group, history, budget, Metric.THROUGHPUT)


def test_everybody_runs_in_the_first_blocks() -> None:
    gains = {"fast": 0.5, "slow": -0.5}
    for blocks in range(FIRST_LOOK):
        assert step(study(gains, blocks=blocks), *gains) == Step(run=(BASE, "fast", "slow"))


def test_a_candidate_that_is_measurably_behind_leaves_and_near_ties_continue() -> None:
    gains = {"a": 0.30, "b": 0.30, "slow": -0.5, "same": 0.0}
    found = step(study(gains, blocks=3), *gains)
    assert found.run == (BASE, "a", "b")
    assert set(found.dropped) == {"slow", "same"}
    assert "measurably below" in found.dropped["slow"]
    later = study({"a": 0.30, "b": 0.30}, blocks=1, first_block=4, seed=9)
    again = step(study(gains, blocks=3) + later, *gains, out=found.dropped)
    assert (again.run, again.dropped) == ((BASE, "a", "b"), {})


def test_one_clear_winner_ends_the_study_but_not_at_the_first_look() -> None:
    gains = {"a": 0.30, "slow": -0.5}
    early = step(study(gains, blocks=3), *gains)
    assert early.run == (BASE, "a")
    late = step(study({"a": 0.30}, blocks=FIRST_DECISION), *gains, out={"slow": "dropped"})
    assert late.stop is StopReason.DECIDED


def test_names_of_one_config_run_until_the_budget_is_spent() -> None:
    gains = {"a": 0.0, "b": 0.0}
    runs = study(gains, blocks=9, noise=0.05)
    assert step(runs, *gains).run == (BASE, "a", "b")
    assert step(runs, *gains, budget=Budget(runs_left=3)).stop is StopReason.BUDGET
    assert step(runs, *gains, budget=Budget(runs_left=4)).run == (BASE, "a", "b")
    minute = Budget(seconds_left=60, run_s=20)
    assert step(runs, *gains, budget=minute).stop is StopReason.BUDGET


def test_when_all_are_behind_the_baseline_nothing_is_left_to_race() -> None:
    gains = {"a": -0.3, "b": -0.4}
    found = step(study(gains, blocks=3), *gains)
    assert (found.stop, set(found.dropped)) == (StopReason.NONE_LEFT, {"a", "b"})


def test_a_failed_candidate_leaves_at_once() -> None:
    runs = study({"a": 0.0}, blocks=1)
    runs.append(Observation("broken", 1, "crashed"))
    runs.append(Observation("voided", 1, "disturbed"))
    found = step(runs, "a", "broken", "voided")
    assert found.run == (BASE, "a", "voided")
    assert found.dropped == {"broken": "a run failed: crashed"}


def test_cut_short_once_may_be_the_host_twice_is_the_config() -> None:
    runs = study({"a": 0.0}, blocks=1)
    runs.append(cut("too_slow", 1, 400))
    assert step(runs, "a", "too_slow").run == (BASE, "a", "too_slow")
    runs += [*study({"a": 0.0}, blocks=1, first_block=2), cut("too_slow", 2, 400)]
    found = step(runs, "a", "too_slow")
    assert found.run == (BASE, "a")
    assert found.dropped == {"too_slow": "cut short in 2 blocks"}


def test_a_study_without_baseline_figures_continues() -> None:
    runs = [run for run in study({"a": 0.3}, blocks=4) if run.candidate != BASE]
    assert step(runs, "a").run == (BASE, "a")


@pytest.mark.parametrize("name", ["5 %", "stalled"])
def test_block_by_block_it_is_the_race_that_the_proof_simulates(name: str) -> None:
    scenario = next(found for found in scenarios() if found.name == name)
    y = draw(scenario, 4, [0.28, 0.1, 0.0, -0.1], 8)
    simulated = race(y)
    used = 0
    for logs, winner in zip(y, simulated.winner, strict=True):
        rows = [(BASE, 0), (BASE, 1), *((candidate, 0) for candidate in "abcd")]
        seen: list[Observation] = []
        out: dict[str, str] = {}
        for block in range(8):
            found = step(seen, *"abcd", out=out)
            out |= found.dropped
            seen += [
                ok(name, block, replicate=replicate, throughput=float(np.exp(value)))
                for (name, replicate), value in zip(rows, logs[:, block], strict=True)
                if name in found.run
            ]
        used += len(seen)
        assert analyse(seen, BASE, "abcd").winner == ("abcd"[winner - 1] if winner else None)
    assert used == pytest.approx(simulated.share * y.size)


def test_the_looks_stay_within_what_they_may_err_together() -> None:
    assert sum(drop_alpha(b) for b in range(FIRST_LOOK, 1000)) < DROP_ALPHA
    assert sum(decide_alpha(b) for b in range(FIRST_DECISION, 1000)) < DECIDE_ALPHA
    assert conclusion_alpha(1) == 0.05
    # Half of it: a false winner errs to one side.
    assert sum(conclusion_alpha(n) for n in range(1, 1000)) / 2 + DECIDE_ALPHA / 2 < 0.05


def test_the_shortest_race_keeps_a_quarter_of_its_time_for_pairs_or_the_fewest() -> None:
    # 3 blocks of 6 runs, and 5 pairs
    assert shortest_seconds(candidates=4, run_s=20) == 3 * 6 * 20 + 2 * 5 * 20
    blocks_s = 3 * 32 * 20
    assert shortest_seconds(candidates=30, run_s=20) == pytest.approx(blocks_s / 0.75)

"""What a strategy does once a winner is confirmed: the race is not reopened."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tuning.statistics.analysis import analyse
from tuning.statistics.confirmation import most_pairs
from tuning.statistics.tests.helpers import BASE, study
from tuning.strategy.compose import strategy_for
from tuning.strategy.confirmation import Confirmation
from tuning.strategy.protocol import (
    Budget,
    Done,
    FreshPair,
    Group,
    History,
    PairTime,
    Proposal,
    Purpose,
)
from tuning.strategy.tests.simulated import proposed
from tuning.strategy.whole import Whole

LINES = {"innodb_io_capacity": "5000", "innodb_lru_scan_depth": "512", "table_open_cache": "3000"}


def confirmed(**values: Any) -> History:
    """A study whose winner has its pairs, without a run left for blocks."""
    gains = {"fast": 0.3}
    group = Group(
        "D0",
        (BASE, *gains),
        tuple(study(gains, blocks=5)),
        pairs=tuple(FreshPair("fast", block, 1300.0 + block, 1000.0) for block in range(6, 11)),
        whole=Whole("fast", lead=0.26, run_noise=0.01, knobs=LINES),
    )
    facts: dict[str, Any] = {
        "seed": 1,
        "baseline": BASE,
        "candidates": (BASE, *gains),
        "groups": (group,),
        "planned_blocks": 5,
        "budget": Budget(runs_left=0),
        "blocks": 5,
        "last_block": 10,
        "knobs": {BASE: {}, "fast": LINES},
        "finalists": ("fast",),
        "ablation_budget": Budget(runs_left=100),
    }
    return History(**facts | values)


def test_time_that_is_too_short_for_a_reduced_config_still_tells_which_lines_matter() -> None:
    """Its rounds would be as long as the pairs: with runs of 10 s, 25 of the blocks' each."""
    strategy = strategy_for(races=True, confirms=True, ablates=True)
    history = confirmed(ablation_budget=Budget(runs_left=100, seconds_left=160.0, run_s=10.0))
    (group,) = history.groups
    assert group.whole is not None
    whole = replace(group.whole, measure_s=80, longer_s=73.0)
    history = replace(history, groups=(replace(group, whole=whole),))
    answer = proposed(strategy, history)
    assert {run.purpose for run in answer.runs} == {Purpose.ABLATION}
    # Three blocks of the winner, twice, and each of its lines left out.
    assert {one.without for one in answer.new} == {frozenset({name}) for name in LINES}
    tight = replace(history, ablation_budget=Budget(runs_left=100, seconds_left=89.0, run_s=10.0))
    assert isinstance(strategy.propose(tight), Done)


def test_the_runs_of_one_winner_are_not_those_of_another() -> None:
    strategy = strategy_for(races=True, confirms=True, ablates=True)
    history = confirmed(ablation_budget=Budget(runs_left=200))
    (group,) = history.groups
    assert group.whole is not None
    spent = replace(group, whole=replace(group.whole, runs_left=0))
    assert isinstance(strategy.propose(replace(history, groups=(spent,))), Done)
    answer = proposed(strategy, replace(history, groups=(spent, replace(group, name="D1"))))
    assert len(answer.runs) == 5


@pytest.mark.parametrize("races", [True, False])
def test_time_that_pairs_have_saved_begins_no_block(races: bool) -> None:
    """Pairs that took less time than blocks leave some; that must not change the winner."""
    strategy = strategy_for(races=races, confirms=True)
    history = confirmed(budget=Budget(seconds_left=1000.0, run_s=10.0), planned_blocks=9)
    rivals = [replace(group, candidates=(BASE, "fast", "b")) for group in history.groups]
    history = replace(history, groups=tuple(rivals), candidates=(BASE, "fast", "b"))
    assert isinstance(strategy.propose(history), Done)
    owed = proposed(strategy, replace(history, owed_blocks=1))
    assert {run.purpose for run in owed.runs} == {Purpose.BLOCK}


@pytest.mark.parametrize(
    ("whole", "is_earlier", "added"), [(3, True, 2), (0, True, 5), (4, True, 0), (3, False, 0)]
)
def test_an_extension_measures_the_pairs_that_were_void(
    whole: int, is_earlier: bool, added: int
) -> None:
    """Once for each: those that it measured itself are no earlier ones."""
    pairs = [
        FreshPair("fast", block, 1300.0 if block < 6 + whole else None, 1000.0, is_earlier)
        for block in range(6, 11)
    ]
    history = confirmed()
    (group,) = history.groups
    history = replace(history, groups=(replace(group, pairs=tuple(pairs), whole=None),))
    answer = strategy_for(races=True, confirms=True).propose(history)
    runs = answer.runs if isinstance(answer, Proposal) else ()
    assert {run.purpose for run in runs} <= {Purpose.CONFIRMATION}
    assert {run.block for run in runs} == set(range(11, 11 + added))
    assert len(runs) == 2 * added


def chosen(
    gains: dict[str, float], *tried: tuple[str, float], seed: int = 3, **values: Any
) -> History:
    """Three noisy blocks, and nine pairs each of those that were tried, by their gain in them."""
    names = (BASE, *gains)
    pairs = [
        FreshPair(name, 4 + 9 * at + number, 1000 * (1 + gain) + number % 3, 1000.0)
        for at, (name, gain) in enumerate(tried)
        for number in range(9)
    ]
    seen = tuple(study(gains, blocks=3, noise=0.05, seed=seed))
    group = Group("D0", names, seen, pairs=tuple(pairs))
    facts: dict[str, Any] = {"groups": (group,), "candidates": names, "planned_blocks": 3}
    return confirmed(**facts | {"blocks": 3, "last_block": 3 + len(pairs), "knobs": {}} | values)


def tried_next(history: History) -> tuple[str, int]:
    """Who gets pairs, and how many; nobody: ("", 0)."""
    answer = Confirmation().propose(history)
    if isinstance(answer, Done):
        return "", 0
    names = {run.candidate for run in answer.runs} - {BASE}
    return names.pop(), len(answer.runs) // 2


GAINS = {"a": 0.08, "b": 0.07, "same": 0.0}


def test_the_best_looking_gets_pairs_though_it_is_not_measurably_better() -> None:
    history = chosen(GAINS, seed=6)
    found = analyse(history.groups[0].observations, BASE)
    assert found.winner is None
    name, count = tried_next(history)
    assert (name, count) == (found.choices[0], most_pairs(3, 3))
    assert tried_next(chosen({"a": -0.2, "b": -0.3})) == ("", 0)


def test_if_the_first_pairs_fail_the_runner_up_is_tried_and_nobody_after_it() -> None:
    first, second, *_ = analyse(chosen(GAINS).groups[0].observations, BASE).choices
    failed = chosen(GAINS, (first, 0.0))
    assert tried_next(failed)[0] == second
    assert tried_next(chosen(GAINS, (first, 0.1))) == ("", 0)
    assert tried_next(chosen(GAINS, (first, 0.0), (second, 0.0))) == ("", 0)
    # Where its pairs would hardly show what it promises, or there is no time for them.
    hopeless = chosen({"a": 0.08, "same": 0.0}, ("a", 0.0))
    assert tried_next(hopeless) == ("", 0)
    late = replace(failed, pair_time=PairTime(seconds=50.0, measure_s=4, overhead_s=2.0))
    assert tried_next(late) == ("", 0)


def test_pairs_take_no_more_time_than_there_is_but_five_are_measured_anyway() -> None:
    for seconds, pairs in ((1000.0, 7), (72.0, 6), (0.0, 5)):
        time = PairTime(seconds, measure_s=4, overhead_s=2.0)
        assert tried_next(chosen(GAINS, pair_time=time))[1] == pairs

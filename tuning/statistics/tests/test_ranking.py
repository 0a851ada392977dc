"""Candidates are ranked by their ratio to the baseline within blocks; failures get no number."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.outcomes import Outcome
from tuning.statistics.data import Metric, Observation
from tuning.statistics.estimate import Estimate
from tuning.statistics.ranking import Ranked, judge
from tuning.statistics.tests.helpers import bounds


def rank(
    runs: list[Observation],
    baseline: str,
    candidates: list[str] | None = None,
    metric: Metric = Metric.THROUGHPUT,
) -> list[Ranked]:
    return judge(runs, baseline, candidates, metric).ranked


def ratio(found: Ranked) -> float | None:
    return found.estimate.ratio if found.estimate else None


def ok(candidate: str, block: int, throughput: float, **figures: Any) -> Observation:
    return Observation(candidate, block, Outcome.OK, throughput=throughput, **figures)


def failed(candidate: str, block: int, outcome: str = Outcome.NO_START) -> Observation:
    return Observation(candidate, block, outcome)


def line(ranking: list[Ranked], candidate: str) -> Ranked:
    [found] = [entry for entry in ranking if entry.name == candidate]
    return found


def test_the_ratio_is_taken_within_the_block() -> None:
    # The host is twice as slow in block 2; taken over all blocks "fast" would look no better.
    ranking = rank(
        [ok("base", 1, 100), ok("fast", 1, 130), ok("base", 2, 50), ok("fast", 2, 65)], "base"
    )
    assert [(r.rank, r.name, ratio(r)) for r in ranking] == [
        (1, "fast", pytest.approx(1.3)),
        (2, "base", 1.0),
    ]


def test_one_lucky_run_does_not_make_a_winner() -> None:
    runs = [ok("base", block, 100 + block) for block in range(1, 7)]
    runs += [ok("lucky", block, 91 + block) for block in range(1, 6)] + [ok("lucky", 6, 300)]
    lucky = line(rank(runs, "base"), "lucky")
    assert not lucky.better
    assert (ratio(lucky) or 9) < 1.15  # the mean over the blocks is 1.25


def test_only_blocks_in_which_both_ran_are_counted_for_the_ratio() -> None:
    runs = [ok("base", 1, 100), failed("base", 2), ok("base", 3, 100)]
    runs += [ok("other", 1, 120), ok("other", 2, 900), failed("other", 3)]
    other = line(rank(runs, "base"), "other")
    assert ratio(other) == pytest.approx(1.2)
    assert (other.blocks, other.runs) == (1, 2)


def test_figures_are_medians_of_the_good_runs() -> None:
    runs = [
        ok("base", 1, 100, p95_ms=5, p99_ms=9, max_ms=50, server_path_length=1e6),
        ok("base", 2, 300, p95_ms=7, p99_ms=11, max_ms=70, server_path_length=3e6),
        failed("base", 3),
    ]
    [base] = rank(runs, "base")
    assert (base.throughput, base.p95_ms, base.p99_ms, base.max_ms) == (200, 6, 10, 60)
    assert (base.server_path_length, base.host_path_length) == (2e6, None)
    assert (base.runs, base.failures, base.outcome, base.rank) == (2, 1, "ok", 1)


def test_a_candidate_that_never_ran_is_last_without_rank_but_with_its_outcome() -> None:
    runs = [ok("base", 1, 100), ok("base", 2, 100)]
    runs += [failed("broken", 1), failed("broken", 2), failed("broken", 3, Outcome.CRASHED)]
    runs += [ok("slow", 1, 10)]
    broken = rank(runs, "base")[-1]
    assert (broken.name, broken.rank, broken.outcome) == ("broken", None, "no_start")
    assert (broken.runs, broken.failures, broken.throughput, ratio(broken)) == (
        0,
        3,
        None,
        None,
    )


def test_without_any_baseline_nothing_is_ranked() -> None:
    ranking = rank([failed("base", 1), ok("other", 1, 110)], "base")
    assert [(r.name, r.rank, ratio(r)) for r in ranking] == [
        ("other", None, None),
        ("base", None, None),
    ]


def test_candidates_that_have_not_run_yet_are_listed() -> None:
    ranking = rank([ok("base", 1, 100)], "base", candidates=["base", "next"])
    assert [(r.name, r.rank, r.outcome) for r in ranking] == [
        ("base", 1, "ok"),
        ("next", None, ""),
    ]


def test_equal_ratios_share_a_rank_in_the_order_of_candidates() -> None:
    runs = [ok("b", 1, 100), ok("a", 1, 100), ok("base", 1, 100), ok("z", 1, 50)]
    ranking = rank(runs, "base", candidates=["base", "a", "b", "z"])
    assert [(r.rank, r.name) for r in ranking] == [(1, "base"), (1, "a"), (1, "b"), (4, "z")]


def test_a_repeated_run_weighs_no_more_than_the_others() -> None:
    runs = [
        ok("base", 1, 100),
        ok("x", 1, 100),
        ok("x", 1, 300),
        ok("base", 2, 100),
        ok("x", 2, 100),
    ]
    # Block 1 counts as 173, the middle of 100 and 300 in the log.
    assert ratio(line(rank(runs, "base"), "x")) == pytest.approx(3**0.25)


def test_an_ok_run_without_work_does_not_count() -> None:
    ranking = rank([ok("base", 1, 100), ok("x", 1, 0)], "base")
    assert line(ranking, "x").rank is None


def test_lines_carry_intervals_ties_and_the_second_baseline() -> None:
    runs = []
    for block, wobble in enumerate((1.0, 1.02, 0.99, 1.01), start=1):
        runs += [ok("base", block, 100 * wobble), ok("fast", block, 150)]
        runs += [Observation("base", block, Outcome.OK, throughput=100 / wobble, replicate=1)]
        runs += [ok("near", block, 151 * wobble), ok("same", block, 100)]
    found = judge(runs, "base", ["base", "fast", "near", "same"])
    fast, same = (line(found.ranked, name) for name in ("fast", "same"))
    low, _, high = bounds(fast.estimate)
    assert 1.4 < low < 1.5 < high < 1.6
    assert (fast.rank, fast.tied_with, fast.better) == (1, ("near",), True)
    assert (same.rank, same.tied_with, same.better) == (3, ("base",), False)
    assert line(found.ranked, "base").runs == 8
    assert line(found.ranked, "base").estimate == Estimate(ratio=1.0)
    assert found.verdict.kind == "tie"


def test_a_run_cut_short_has_a_bound_and_is_no_failure() -> None:
    runs = [ok("base", 1, 100), Observation("x", 1, "cut_short", throughput_at_most=40)]
    found = line(rank(runs, "base"), "x")
    assert ratio(found) is None
    assert found.at_most == pytest.approx(0.4)
    assert (found.cut_short, found.failures, found.rank) == (1, 0, 2)


def tied_runs(lead: float) -> list[Observation]:
    """Four blocks in which "long" looks better than "short" by that ratio, within the noise."""
    runs = []
    for block, wobble in enumerate((1.05, 1 / 1.05, 1.05, 1 / 1.05), start=1):
        runs += [ok("base", block, 100 * wobble), ok("base", block, 100 / wobble)]
        runs += [ok("short", block, 150 / wobble), ok("long", block, 150 * lead * wobble)]
    return runs


NAMES = ["base", "long", "short"]


def test_of_tied_configs_the_one_that_changes_fewer_variables_is_chosen() -> None:
    found = judge(tied_runs(1.015), "base", NAMES, changes={"base": 0, "long": 12, "short": 3})
    assert (found.analysis.winner, found.analysis.passed_over) == ("short", "long")
    assert found.analysis.rivals == ("long",)
    assert [entry.name for entry in found.ranked] == ["long", "short", "base"]
    assert found.verdict.kind == "tie"
    assert found.verdict.candidate == "short"
    assert found.verdict.sentence.startswith("short completes 50.0 %")
    assert found.verdict.sentence.endswith(
        "but is tied with long. It is chosen because it changes fewer variables than long, whose "
        "lead over it of 1.5 % is within the noise."
    )


@pytest.mark.parametrize(
    ("lead", "changes"),
    [
        (1.03, {"long": 12, "short": 3}),  # a lead of more than 2 % is kept
        (1.015, {"long": 3, "short": 12}),
        (1.015, {"long": 3, "short": 3}),
        (1.015, {"short": 3}),  # what the best changes is not known
        (1.015, {}),
    ],
)
def test_the_best_is_chosen_where_no_tied_one_is_simpler(
    lead: float, changes: dict[str, int]
) -> None:
    found = judge(tied_runs(lead), "base", NAMES, changes=changes)
    assert (found.analysis.winner, found.analysis.passed_over) == ("long", None)
    assert found.analysis.rivals == ("short",)
    assert "chosen because" not in found.verdict.sentence


def test_a_simpler_config_that_is_measurably_worse_is_not_chosen() -> None:
    runs = []
    for block in range(1, 9):
        wobble = 1 + 0.0005 * (-1) ** block
        runs += [ok("base", block, 100 * wobble), ok("base", block, 100 / wobble)]
        runs += [ok("short", block, 150), ok("long", block, 150 * 1.015)]
    found = judge(runs, "base", NAMES, changes={"base": 0, "long": 12, "short": 3})
    assert (found.analysis.winner, found.analysis.rivals) == ("long", ())


def test_fewer_variables_also_decide_by_response_time() -> None:
    runs = [
        run._replace(p95_ms=1e4 / run.throughput, throughput=100.0)
        for run in tied_runs(1.015)
        if run.throughput is not None
    ]
    found = judge(runs, "base", NAMES, Metric.P95, changes={"base": 0, "long": 12, "short": 3})
    assert (found.analysis.winner, found.analysis.passed_over) == ("short", "long")
    assert "lead over it of 1.5 %" in found.verdict.sentence

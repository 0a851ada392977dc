"""Candidates are ranked by their ratio to the baseline within blocks; failures get no number."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.outcomes import Outcome
from tuning.ranking import Observation, Ranked, rank


def ok(candidate: str, block: int, tpmP: float, **figures: float) -> Observation:
    return Observation(candidate, block, Outcome.OK, tpmP=tpmP, **figures)


def failed(candidate: str, block: int, outcome: str = Outcome.NO_START) -> Observation:
    return Observation(candidate, block, outcome)


def line(ranking: list[Ranked], candidate: str) -> Ranked:
    [found] = [entry for entry in ranking if entry.candidate == candidate]
    return found


def test_the_ratio_is_taken_within_the_block() -> None:
    # The host is twice as slow in block 2; taken over all blocks "fast" would look no better.
    ranking = rank(
        [ok("base", 1, 100), ok("fast", 1, 130), ok("base", 2, 50), ok("fast", 2, 65)], "base"
    )
    assert [(r.rank, r.candidate, r.ratio_to_baseline) for r in ranking] == [
        (1, "fast", pytest.approx(1.3)),
        (2, "base", 1.0),
    ]


def test_the_median_over_blocks_counts_not_one_lucky_run() -> None:
    runs = [ok("base", block, 100) for block in (1, 2, 3)]
    runs += [ok("lucky", 1, 300), ok("lucky", 2, 90), ok("lucky", 3, 80)]
    assert line(rank(runs, "base"), "lucky").ratio_to_baseline == pytest.approx(0.9)


def test_only_blocks_in_which_both_ran_are_counted_for_the_ratio() -> None:
    runs = [ok("base", 1, 100), failed("base", 2), ok("base", 3, 100)]
    runs += [ok("other", 1, 120), ok("other", 2, 900), failed("other", 3)]
    other = line(rank(runs, "base"), "other")
    assert other.ratio_to_baseline == pytest.approx(1.2)
    assert (other.blocks, other.runs) == (1, 2)


def test_figures_are_medians_of_the_good_runs() -> None:
    runs = [
        ok("base", 1, 100, p95_ms=5, p99_ms=9, max_ms=50, server_path_length=1e6),
        ok("base", 2, 300, p95_ms=7, p99_ms=11, max_ms=70, server_path_length=3e6),
        failed("base", 3),
    ]
    [base] = rank(runs, "base")
    assert (base.tpmP, base.p95_ms, base.p99_ms, base.max_ms) == (200, 6, 10, 60)
    assert (base.server_path_length, base.host_path_length) == (2e6, None)
    assert (base.runs, base.failures, base.outcome, base.rank) == (2, 1, "ok", 1)


def test_a_candidate_that_never_ran_is_last_without_rank_but_with_its_outcome() -> None:
    runs = [ok("base", 1, 100), ok("base", 2, 100)]
    runs += [failed("broken", 1), failed("broken", 2), failed("broken", 3, Outcome.CRASHED)]
    runs += [ok("slow", 1, 10)]
    broken = rank(runs, "base")[-1]
    assert (broken.candidate, broken.rank, broken.outcome) == ("broken", None, "no_start")
    assert (broken.runs, broken.failures, broken.tpmP, broken.ratio_to_baseline) == (
        0,
        3,
        None,
        None,
    )


def test_a_block_without_baseline_gives_no_ratio() -> None:
    runs = [ok("base", 1, 100), ok("other", 1, 110), failed("base", 2), ok("other", 2, 500)]
    other = line(rank(runs, "base"), "other")
    assert other.ratio_to_baseline == pytest.approx(1.1)
    assert other.runs == 2


def test_without_any_baseline_nobody_is_ranked() -> None:
    ranking = rank([failed("base", 1), ok("other", 1, 110)], "base")
    assert [(r.candidate, r.rank, r.ratio_to_baseline) for r in ranking] == [
        ("other", None, None),
        ("base", None, None),
    ]


def test_candidates_that_have_not_run_yet_are_listed() -> None:
    ranking = rank([ok("base", 1, 100)], "base", candidates=["base", "next"])
    assert [(r.candidate, r.rank, r.outcome) for r in ranking] == [
        ("base", 1, "ok"),
        ("next", None, ""),
    ]


def test_equal_ratios_share_a_rank_in_the_order_of_candidates() -> None:
    runs = [ok("b", 1, 100), ok("a", 1, 100), ok("base", 1, 100), ok("z", 1, 50)]
    ranking = rank(runs, "base", candidates=["base", "a", "b", "z"])
    assert [(r.rank, r.candidate) for r in ranking] == [(1, "base"), (1, "a"), (1, "b"), (4, "z")]


def test_a_repeated_run_weighs_no_more_than_the_others() -> None:
    runs = [
        ok("base", 1, 100),
        ok("x", 1, 100),
        ok("x", 1, 300),
        ok("base", 2, 100),
        ok("x", 2, 100),
    ]
    assert line(rank(runs, "base"), "x").ratio_to_baseline == pytest.approx(1.5)


def test_an_ok_run_without_work_does_not_count() -> None:
    ranking = rank([ok("base", 1, 100), ok("x", 1, 0)], "base")
    assert line(ranking, "x").rank is None


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 4), st.floats(1, 1e6))))
def test_baseline_is_one_and_ranks_follow_ratios(runs: list[tuple[str, int, float]]) -> None:
    ranking = rank([ok(*run) for run in runs], "a")
    ratios = [entry.ratio_to_baseline or 0.0 for entry in ranking if entry.rank is not None]
    assert ratios == sorted(ratios, reverse=True)
    for entry in ranking:
        if entry.candidate == "a":
            assert entry.ratio_to_baseline == 1.0
    assert sum(entry.runs + entry.failures for entry in ranking) == len(runs)

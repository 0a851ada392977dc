"""Intervals, shared ranks and the one sentence that a study ends in."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuning.statistics.analysis import analyse
from tuning.statistics.compare import Contrasts
from tuning.statistics.data import Metric, Observation
from tuning.statistics.ranking import pareto_front
from tuning.statistics.tests.helpers import BASE, bounds, cut, ok, study
from tuning.statistics.verdict import VerdictKind, conclude, conclude_by_pairs, find_drift


def test_a_clear_gain_wins_with_an_interval_around_it() -> None:
    found = analyse(study({"fast": 0.2, "same": 0.0}), BASE)
    verdict = conclude(found)
    assert (verdict.kind, verdict.candidate) == (VerdictKind.WINNER, "fast")
    low, _, high = bounds(found.standing("fast").estimate)
    assert 1.1 < low < 1.2 < high < 1.3
    assert verdict.sentence.startswith("fast completes ")
    assert "more transactions per minute than base (95 % interval +1" in verdict.sentence
    assert "6 blocks, noise floor" in verdict.sentence


def test_names_of_one_config_share_a_rank_and_the_default_stays() -> None:
    found = analyse(study({"a": 0, "b": 0, "c": 0}, noise=0.05), BASE)
    assert {standing.rank for standing in found.standings} == {1}
    verdict = conclude(found)
    assert (verdict.kind, verdict.candidate) == (VerdictKind.NO_DIFFERENCE, BASE)
    assert verdict.sentence.startswith("No measurable difference: keep base (6 blocks can detect")


def test_two_good_ones_that_do_not_measurably_differ_tie() -> None:
    found = analyse(study({"a": 0.2, "b": 0.205, "c": 0.0}), BASE)
    verdict = conclude(found)
    assert verdict.kind is VerdictKind.TIE
    assert {verdict.candidate, *found.rivals} == {"a", "b"}
    assert found.standing("a").rank == found.standing("b").rank == 1
    assert found.standing("c").rank == found.standing(BASE).rank == 3
    assert "but is tied with" in verdict.sentence


def test_when_all_are_slower_the_baseline_is_best() -> None:
    found = analyse(study({"a": -0.2, "b": -0.3}), BASE)
    verdict = conclude(found)
    assert (verdict.kind, verdict.candidate) == (VerdictKind.BASELINE_BEST, BASE)
    assert [standing.name for standing in found.standings] == [BASE, "a", "b"]


def test_the_noise_floor_is_shown_and_vetoes_nothing() -> None:
    runs = [
        run._replace(throughput=(run.throughput or 0) * (1.04 if run.replicate else 1))
        for run in study({"a": 0.05, "b": 0.0, "c": 0.0}, noise=0.01, blocks=20)
    ]
    found = analyse(runs, BASE)
    _, ratio, _ = bounds(found.standing("a").estimate)
    assert found.floor is not None
    assert ratio - 1 < found.floor
    assert found.winner == "a"


def test_the_best_looking_comes_first_among_the_choices() -> None:
    effects, half = np.array([0.0, 0.1, 0.2, -0.1]), np.array([0.0, 0.2, 0.3, 0.01])
    assert Contrasts(effects, half, np.zeros((4, 4))).choices() == [2, 1]
    # A lower bound above the baseline counts for more than a higher ratio.
    half[1] = 0.05
    assert Contrasts(effects, half, np.zeros((4, 4))).choices() == [1, 2]
    # The noise of one block is unknown, so nothing can be planned.
    assert analyse(study({"a": 0.5}, blocks=1), BASE).choices == ()


def test_what_fresh_pairs_say_is_the_verdict() -> None:
    found = analyse(study({"a": 0.02, "b": 0.06}, noise=0.05, blocks=3, seed=3), BASE)
    assert found.winner is None
    first, second = found.choices
    said = {first: f"Not confirmed: {first}.", second: f"Confirmed: {second}."}
    verdict = conclude_by_pairs(found, second, said)
    assert (verdict.kind, verdict.candidate) == (VerdictKind.WINNER, second)
    assert verdict.sentence.endswith(" ".join(said.values()))
    assert "%" not in verdict.sentence, "the figure of the pairs is the only one of an effect"
    verdict = conclude_by_pairs(found, None, {first: said[first]})
    assert (verdict.kind, verdict.candidate) == (VerdictKind.NOT_CONFIRMED, BASE)
    assert verdict.sentence.endswith("Keep base.")
    nothing = analyse(study({"a": -0.2, "b": -0.3}), BASE)
    assert conclude_by_pairs(nothing, None, {}).kind is VerdictKind.BASELINE_BEST


@pytest.mark.parametrize(
    ("runs", "begins"),
    [
        ([], "Nothing to compare: base has no figure."),
        (
            [Observation(BASE, 1, "no_start"), ok("a", 1, throughput=100)],
            "Nothing to compare: base has",
        ),
        (
            [ok(BASE, 1, throughput=100), Observation("a", 1, "no_start")],
            "Nothing to compare with base:",
        ),
        (
            study({"a": 0.5}, blocks=1),
            "1 block cannot separate a difference from noise: keep base",
        ),
        # A block in which only the baseline has run separates nothing.
        ([*study({"a": 0.5}, blocks=1), ok(BASE, 2, throughput=100)], "1 block cannot separate"),
    ],
)
def test_without_two_blocks_of_two_candidates_nothing_is_claimed(
    runs: list[Observation], begins: str
) -> None:
    verdict = conclude(analyse(runs, BASE, ["a"]))
    assert (verdict.kind, verdict.candidate) == (VerdictKind.NOTHING_TO_COMPARE, BASE)
    assert verdict.sentence.startswith(begins)


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        (Metric.P95, "a 95th-percentile response time 2"),
        (Metric.SERVER_PATH_LENGTH, "takes 2"),
    ],
)
def test_lower_is_better_for_times_and_path_lengths(metric: Metric, words: str) -> None:
    found = analyse(study({"a": -0.25, "b": 0.3}, metric=metric.value), BASE, metric=metric)
    assert [standing.name for standing in found.standings] == ["a", BASE, "b"]
    low, ratio, high = bounds(found.standing("a").estimate)
    assert low < ratio < high < 1
    verdict = conclude(found)
    assert (verdict.kind, verdict.candidate) == (VerdictKind.WINNER, "a")
    assert words in verdict.sentence


def test_a_run_cut_short_is_a_bound_and_no_number() -> None:
    runs = study({"a": 0.1, "too_slow": 0.0}, blocks=3)
    kept = [run for run in runs if run.candidate != "too_slow"]
    kept += [cut("too_slow", block, 400.0) for block in (1, 2, 3)]
    found = analyse(kept, BASE)
    last = found.standings[-1]
    assert (last.name, last.estimate, last.worse) == ("too_slow", None, True)
    assert last.at_most == pytest.approx(0.4, rel=0.2)
    alone = analyse([run for run in runs if run.candidate != "too_slow"], BASE, ["too_slow"])
    assert found.standing("a") == alone.standing("a")


def test_all_candidates_are_corrected_for_also_those_without_figures() -> None:
    runs = study({"a": 0.1})
    few, many = (analyse(runs, BASE, names) for names in (["a"], ["a", *"bcdefgh"]))
    narrow, wide = (bounds(one.standing("a").estimate) for one in (few, many))
    assert wide[0] < narrow[0] < narrow[2] < wide[2]


def test_a_third_baseline_in_a_block_is_refused() -> None:
    with pytest.raises(ValueError, match="replicate is 0 or 1"):
        analyse([ok(BASE, 1, throughput=1, replicate=2)], BASE)


@pytest.mark.long
@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([BASE, "a", "b", "c"]),
            st.integers(1, 5),
            st.integers(0, 1),
            st.floats(1, 1e9),
        ),
        max_size=40,
    )
)
def test_whatever_ran_the_words_agree_with_the_figures(
    runs: list[tuple[str, int, int, float]],
) -> None:
    found = analyse(
        [
            ok(name, block, replicate=replicate * (name == BASE), throughput=v)
            for name, block, replicate, v in runs
        ],
        BASE,
    )
    ranks = [s.rank for s in found.standings if s.rank is not None]
    assert ranks == sorted(ranks)
    for standing in found.standings:
        if standing.estimate is not None and standing.estimate.low is not None:
            low, ratio = standing.estimate.low, standing.estimate.ratio
            high = inf if standing.estimate.high is None else standing.estimate.high
            assert low <= ratio <= high
            assert standing.better <= (low > 1)
            assert standing.worse == (high < 1)
    verdict = conclude(found)
    is_change = verdict.kind in (VerdictKind.WINNER, VerdictKind.TIE)
    assert is_change == (found.winner is not None)


def drifting(loss_per_block: float) -> list[Observation]:
    return [
        Observation(BASE, block, "ok", throughput=1000 * (1 - loss_per_block) ** block,
                    replicate=replicate, started_at=600.0 * block + 60 * replicate)
        for block in range(1, 6) for replicate in (0, 1)
    ]  # fmt: skip


def test_a_drifting_host_is_named_in_the_verdict() -> None:
    drift = find_drift(drifting(0.05), BASE)
    assert drift is not None
    assert drift.is_named
    assert drift.minutes == pytest.approx(41)
    verdict = conclude(analyse(study({"a": 0.2}), BASE), drift)
    assert "The host drifted: base lost 1" in verdict.sentence
    assert "over the 41 minutes" in verdict.sentence


def test_a_steady_host_is_not_named() -> None:
    assert (drift := find_drift(drifting(0.0), BASE)) is not None
    assert not drift.is_named
    assert find_drift(study({"a": 0.1}), BASE) is None  # no times
    for seed in range(30):
        runs = [
            Observation(BASE, run.block, "ok", throughput=run.throughput, started_at=float(place))
            for place, run in enumerate(study({}, noise=0.05, blocks=8, seed=seed))
        ]
        assert (drift := find_drift(runs, BASE)) is not None
        assert drift.p > 0.001


def test_a_stalled_run_bends_no_trend() -> None:
    """The slope is a median over all pairs of runs (Theil-Sen)."""
    runs = drifting(0.05)
    runs[5] = runs[5]._replace(throughput=10.0)
    steady, bent = find_drift(drifting(0.05), BASE), find_drift(runs, BASE)
    assert steady is not None
    assert bent is not None
    assert steady.change == pytest.approx(0.95 ** (41 / 10) - 1, abs=0.02)
    assert bent.change == pytest.approx(steady.change, abs=0.02)


def test_the_front_holds_every_candidate_that_is_best_at_something() -> None:
    def by(metric: Metric, gains: dict[str, float]) -> list[Observation]:
        return study(gains, metric=metric.value)

    gains = {
        Metric.THROUGHPUT: {"fast": 0.3, "calm": 0.0, "bad": -0.2, "replicate": 0.3},
        Metric.P95: {"fast": 0.2, "calm": -0.3, "bad": 0.2, "replicate": 0.2},
        Metric.SERVER_PATH_LENGTH: {"fast": 0.0, "calm": 0.0, "bad": 0.3, "replicate": 0.3},
    }
    front = pareto_front([analyse(by(m, g), BASE, metric=m) for m, g in gains.items()])
    assert set(front) >= {"fast", "calm"}
    assert not {"bad", "replicate"} & set(front)

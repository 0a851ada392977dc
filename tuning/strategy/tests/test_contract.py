"""The contract of every strategy, on made-up studies; a new one is added to `STRATEGIES`."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, replace
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tuning.statistics.confirmation import MAX_PAIRS, MIN_PAIRS
from tuning.statistics.data import Metric
from tuning.statistics.gate import GatePlan, Limit
from tuning.strategy.ablation.ablate import Ablation
from tuning.strategy.compose import OneAfterAnother, strategy_for
from tuning.strategy.confirmation import Confirmation
from tuning.strategy.design import screening_order
from tuning.strategy.protocol import (
    Done,
    History,
    NewCandidate,
    Proposal,
    Purpose,
    StopReason,
    Strategy,
)
from tuning.strategy.racing import FixedBlocks, Race
from tuning.strategy.search.plan import EarlierConfig, SearchPlan
from tuning.strategy.search.space import Dimension, Space
from tuning.strategy.tests.simulated import BASE, SimulatedStudy, proposed, to_the_end


@dataclass(frozen=True)
class RandomSearch:
    """The smallest search there is: guesses beside the baseline, the first with what was given,
    then a race of the two best.

    It stands here to show that a search is one module: nothing else knows of it.
    """

    cuts_short: ClassVar[bool] = False
    metric: ClassVar[Metric] = Metric.THROUGHPUT

    def propose(self, history: History) -> Proposal | Done:
        rounds = len({run.block for run in history.screened})
        is_racing = bool(history.finalists or history.owed_blocks)
        seen = {run.candidate for run in history.screened}
        given = [name for name in history.left[1:] if rounds == 0 and name not in seen]
        # A block of the two best must still fit.
        fits = history.budget.allows(len(given) + 2 + 4)
        if not is_racing and rounds < history.planned_blocks and fits:
            # Refused ones have no run: counted by their rounds they would be proposed again.
            number = len(history.knobs)
            capacity = random.Random(f"{history.seed}/{number}").randrange(200, 20_000)
            name, knobs = f"guess-{number}", {"innodb_io_capacity": str(capacity)}
            guess = NewCandidate(name, knobs, f"drawn by chance, seed {history.seed}")
            block = history.last_block + 1
            runs = screening_order([*given, name], history.baseline, block, history.seed)
            return Proposal(runs, new=(guess,))
        among = history.among(history.finalists or _best(history, self.metric, 2))
        return OneAfterAnother(Race(self.metric), Confirmation(self.metric)).propose(among)


def _best(history: History, metric: Metric, count: int) -> list[str]:
    """Those with the best figures; a search worth its name would look at ratios and noise."""
    sign = -1 if metric.more_is_better else 1
    seen = {
        run.candidate: sign * figure
        for run in history.screened
        if (figure := run.figure(metric)) is not None
    }
    there = [name for name in history.left[1:] if name in seen]
    return sorted(there, key=lambda name: (seen[name], name))[:count]


pytestmark = pytest.mark.long
GATE = GatePlan((Limit(Metric.THROUGHPUT, 0.05),), max_pairs=8)
STRATEGIES: dict[str, Strategy] = {
    "fixed blocks": FixedBlocks(),
    "race": Race(),
    "confirmation": Confirmation(),
    "fixed blocks, confirmed": strategy_for(races=False, confirms=True),
    "race, confirmed": strategy_for(races=True, confirms=True),
    "random search": RandomSearch(),
    "ablated": Ablation(),
    "gate": strategy_for(races=False, confirms=False, gate=GATE),
}
PLAN = SearchPlan(
    Space(
        (
            Dimension("innodb_io_capacity", "number", 100, 20000, is_log=True, default="200"),
            Dimension("innodb_flush_neighbors", "choice", choices=("0", "1"), default="1"),
        )
    ),
    runs=25,
)
EARLIER = tuple(
    EarlierConfig(7, {"innodb_io_capacity": str(200 * n)}, 0.1 * n, runs=n) for n in (1, 2, 3)
)
# Each fits models or looks again at every step, so fewer studies have to do.
SLOW: dict[str, Strategy] = {
    "search, race, confirmed": strategy_for(races=True, confirms=True, search=PLAN),
    "race, confirmed, ablated": strategy_for(races=True, confirms=True, ablates=True),
    "search, fixed blocks": strategy_for(
        races=False, confirms=False, search=replace(PLAN, earlier=EARLIER)
    ),
}
LINES = (
    "innodb_buffer_pool_size",
    "innodb_io_capacity",
    "innodb_io_capacity_max",
    "innodb_log_file_size",
    "innodb_flush_neighbors",
    "table_open_cache",
    "innodb_lru_scan_depth",
)
VARIANTS = ("without buffer pool", "without innodb_io_capacity", "without io", "reduced")
ENDINGS = st.sampled_from(["ok"] * 6 + ["crashed", "no_start", "cut_short", "disturbed", "lost"])


@st.composite
def studies(draw: st.DrawFn) -> SimulatedStudy:
    names = [f"c{n}" for n in range(draw(st.integers(1, 5)))]
    risky = draw(st.integers(0, len(names) - 1))
    gains = {name: draw(st.sampled_from([-0.7, -0.1, 0.0, 0.05, 0.3])) for name in names}
    endings = {
        (name, block): ending
        for name in [BASE, *names]
        for block in range(1, 4)
        if (ending := draw(ENDINGS)) != "ok"
    }
    refused = frozenset(draw(st.sets(st.sampled_from(names), max_size=len(names) - 1)))
    # Also of those that a search proposes.
    guesses = [f"{by}-{n}" for n in range(2, 12) for by in ("guess", "search")]
    refused |= draw(st.sets(st.sampled_from(guesses), max_size=4))
    taken = [f"{name} {what}" for name in names for what in VARIANTS]
    refused |= draw(st.sets(st.sampled_from(taken), max_size=2))
    same = draw(st.sets(st.sampled_from(guesses), max_size=2)) - refused
    groups = {"D0": tuple(names[risky:]), "D1": tuple(names[:risky])}
    return SimulatedStudy(
        gains,
        {group: there for group, there in groups.items() if there},
        seed=draw(st.integers(0, 2**31)),
        noise=draw(st.sampled_from([0.005, 0.05])),
        planned_blocks=draw(st.integers(1, 7)),
        runs=draw(st.sampled_from([None, None, 0, 7, 30])),
        owed_blocks=draw(st.sampled_from([0, 0, 3])),
        endings=endings,
        refused=refused,
        duplicates=dict.fromkeys(same, BASE)
        | {
            variant: draw(st.sampled_from([BASE, variant.split()[0]]))
            for variant in draw(st.sets(st.sampled_from(taken), max_size=2)) - refused
        },
        knobs={name: dict.fromkeys(LINES, "1") for name in names},
        line_gains=dict.fromkeys(LINES[:2], draw(st.sampled_from([0.0, 0.05, 0.3]))),
        ablation_runs=draw(st.sampled_from([None, 0, 20, 60])),
    )


@pytest.mark.parametrize("name", STRATEGIES)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(study=studies())
def test_every_strategy_keeps_the_contract(name: str, study: SimulatedStudy) -> None:
    _keeps_the_contract(STRATEGIES[name], study)


@pytest.mark.parametrize("name", SLOW)
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(study=studies())
def test_a_slow_strategy_keeps_the_contract(name: str, study: SimulatedStudy) -> None:
    _keeps_the_contract(SLOW[name], study)


def _keeps_the_contract(strategy: Strategy, study: SimulatedStudy) -> None:
    for _ in range(200):
        history = study.history()
        answer = strategy.propose(history)
        # The same history gives the same answer: one that a crash swallowed is asked for again.
        assert strategy.propose(study.history()) == answer
        assert not set(answer.dropped) - set(history.left[1:])
        if isinstance(answer, Done):
            assert answer.reasons
            assert not (answer.unraced and history.finalists)
            assert set(answer.unraced) <= set(history.left[1:])
            break
        _check(history, answer)
        study.measure(answer)
    else:
        pytest.fail("it never ends")
    # Having ended it stays at its end.
    study.dropped |= answer.dropped
    assert isinstance(strategy.propose(study.history()), Done)


def _check(history: History, proposal: Proposal) -> None:
    assert proposal.runs
    purposes = {run.purpose for run in proposal.runs}
    assert len(purposes) == 1
    known = {*history.candidates, *(one.name for one in proposal.new)}
    if purposes <= {Purpose.ABLATION, Purpose.REDUCED}:  # variants never race
        known.update(name for one in history.groups if one.whole for name in one.whole.variants)
    assert {run.candidate for run in proposal.runs} <= known  # refused ones are not among them
    assert len(set(proposal.runs)) == len(proposal.runs)
    assert min(run.block for run in proposal.runs) > history.last_block
    names = [one.name for one in proposal.new]
    assert len(set(names)) == len(names)
    assert not set(names) & history.knobs.keys()
    if purposes == {Purpose.CONFIRMATION}:
        _check_pairs(history, proposal)
        return
    if purposes <= {Purpose.ABLATION, Purpose.REDUCED}:
        _check_ablation(history, proposal)
        return
    if purposes == {Purpose.GATE}:
        _check_gate(history, proposal)
        return
    if purposes == {Purpose.SEARCH}:
        _check_screening(history, proposal)
        return
    blocks = {run.block for run in proposal.runs}
    for block in blocks:
        counted = Counter(run.candidate for run in proposal.runs if run.block == block)
        replicates = [
            run.candidate for run in proposal.runs if run.block == block if run.replicate
        ]
        assert replicates == [history.baseline]
        assert counted.pop(history.baseline) == 2
        assert counted
        assert set(counted.values()) == {1}
        assert not counted.keys() & {*history.dropped, *proposal.dropped}
    assert history.owed_blocks >= len(blocks) or history.budget.allows(len(proposal.runs))


def _check_gate(history: History, proposal: Proposal) -> None:
    """Pairs of the one candidate and the baseline, as many as the plan and the budget allow."""
    pairs = Counter(run.block for run in proposal.runs)
    assert set(pairs.values()) == {2}
    assert {run.candidate for run in proposal.runs} == {history.baseline, history.candidates[1]}
    assert history.gate.begun + len(pairs) <= GATE.max_pairs
    assert history.budget.allows(len(proposal.runs))


def _check_screening(history: History, proposal: Proposal) -> None:
    """The baseline is beside whatever is looked at; what a block counts twice is a repeat."""
    for block in {run.block for run in proposal.runs}:
        there = {run.candidate for run in proposal.runs if run.block == block}
        assert history.baseline in there
        assert len(there) > 1
        assert not there & {*history.dropped, *proposal.dropped}
        assert not there & {*history.refused, *history.duplicates}
    assert history.budget.allows(len(proposal.runs))


def _check_pairs(history: History, proposal: Proposal) -> None:
    failed = {name for group in history.groups for name in group.failed}
    by_block: dict[int, list[str]] = {}
    for run in proposal.runs:
        by_block.setdefault(run.block, []).append(run.candidate)
    (winner,) = {run.candidate for run in proposal.runs} - {history.baseline}
    assert winner not in failed
    assert {tuple(sorted(pair)) for pair in by_block.values()} == {
        tuple(sorted((winner, history.baseline)))
    }
    # No more runs than choosing has taken, where a block runs the baseline twice.
    ranked = max(len(one.candidates) for one in history.groups if winner in one.candidates)
    chosen_by = history.planned_blocks * max(ranked + 1, 4)
    assert MIN_PAIRS <= len(by_block) <= min(MAX_PAIRS, max(MIN_PAIRS, chosen_by // 2))


def _check_ablation(history: History, proposal: Proposal) -> None:
    """The winner beside variants of its own; the reduced config beside it and the baseline."""
    assert history.ablation_budget.allows(len(proposal.runs))
    wholes = [group.whole for group in history.groups if group.whole is not None]
    for block in {run.block for run in proposal.runs}:
        there = [run for run in proposal.runs if run.block == block]
        names = {run.candidate for run in there}
        assert not names & {*history.refused, *history.duplicates}
        (whole,) = (one for one in wholes if one.name in names)
        if there[0].purpose is Purpose.REDUCED:
            assert len(there) == 3
            assert history.baseline in names
        else:
            assert [run.candidate for run in there if run.replicate] == [whole.name]
            assert len(there) == len(names) + 1
    for new in proposal.new:
        (whole,) = (one for one in wholes if one.name == new.of)
        assert new.without <= set(whole.knobs)
        assert new.knobs == whole.knobs_without(new.without)
        assert not new.without & set(whole.kept)


def race_of_three(**values: object) -> SimulatedStudy:
    groups: dict[str, tuple[str, ...]] = {"D0": ("fast", "slow", "same")}
    study = SimulatedStudy({"fast": 0.3, "slow": -0.5, "same": 0.0}, groups, noise=0.01)
    return replace(study, **values)  # type: ignore[arg-type]


def test_a_race_is_followed_by_its_confirmation() -> None:
    study = race_of_three()
    proposals, done = to_the_end(study, strategy_for(races=True, confirms=True))
    assert done.reasons == (StopReason.DECIDED, StopReason.CONFIRMED)
    assert set(study.dropped) == {"slow", "same"}
    assert [answer.runs[0].purpose for answer in proposals].count(Purpose.CONFIRMATION) == 1
    assert proposals[-1].runs[0].purpose is Purpose.CONFIRMATION
    assert strategy_for(races=True, confirms=True).cuts_short
    assert not strategy_for(races=False, confirms=True).cuts_short


def test_a_sweep_measures_all_to_the_end() -> None:
    study = race_of_three(planned_blocks=4)
    proposals, done = to_the_end(study, strategy_for(races=False, confirms=False))
    assert [len(answer.runs) for answer in proposals] == [5] * 4
    assert done == Done((StopReason.BUDGET,))


def test_an_extension_is_measured_although_all_is_decided_and_the_budget_is_spent() -> None:
    study = race_of_three()
    to_the_end(study, Race())
    before = study.history()
    assert Race().propose(before) == Done((StopReason.DECIDED,))
    extended = replace(before, owed_blocks=2, budget=replace(before.budget, runs_left=0))
    answer = proposed(Race(), extended)
    assert {run.candidate for run in answer.runs} == {BASE, "fast"}


def test_every_class_has_its_own_winner_confirmed() -> None:
    study = SimulatedStudy({"a": 0.2, "b": 0.6}, {"D0": ("a",), "D1": ("b",)}, noise=0.01)
    proposals, _ = to_the_end(study, strategy_for(races=True, confirms=True))
    confirmed = [
        {run.candidate for run in answer.runs} - {BASE}
        for answer in proposals
        if answer.runs[0].purpose is Purpose.CONFIRMATION
    ]
    assert confirmed == [{"a"}, {"b"}]


def test_a_search_brings_candidates_of_its_own_which_race_and_are_confirmed() -> None:
    study = SimulatedStudy({"guess-4": 0.3}, {"D0": ("given",)}, noise=0.01, runs=60)
    study.refused, study.duplicates = frozenset({"guess-3"}), {"guess-5": "given"}
    proposals, done = to_the_end(study, RandomSearch())
    assert [one.name for answer in proposals for one in answer.new] == [
        f"guess-{number}" for number in range(2, 10)
    ]
    history = study.history()
    assert len({run.block for run in history.screened}) == study.planned_blocks
    assert not {"guess-3", "guess-5"} & {run.candidate for run in history.screened}
    assert len(history.finalists) == 2
    assert "guess-4" in history.finalists
    assert done.reasons == (StopReason.DECIDED, StopReason.CONFIRMED)
    assert {pair.candidate for group in history.groups for pair in group.pairs} == {"guess-4"}


def test_a_history_among_the_finalists_knows_nothing_of_the_others() -> None:
    study = race_of_three()
    to_the_end(study, strategy_for(races=True, confirms=True))
    narrowed = study.history().among(["fast"])
    assert narrowed.candidates == (BASE, "fast")
    (group,) = narrowed.groups
    assert {run.candidate for run in group.observations} == {BASE, "fast"}
    assert narrowed.among(["fast"]) == narrowed
    assert {pair.candidate for pair in group.pairs} == {"fast"}
    assert narrowed.screened == study.history().screened


def test_a_gate_measures_pairs_in_random_order_until_it_is_decided() -> None:
    strategy = strategy_for(races=False, confirms=False, gate=GATE)
    study = SimulatedStudy({"same": 0.0}, {"D0": ("same",)}, noise=0.005, planned_blocks=8)
    proposals, done = to_the_end(study, strategy)
    assert done.reasons == (StopReason.DECIDED,)
    assert 4 <= len(proposals) < GATE.max_pairs
    assert {answer.runs[0].candidate for answer in proposals} == {BASE, "same"}
    assert not strategy.cuts_short
    near = SimulatedStudy({"near": -0.05}, {"D0": ("near",)}, noise=0.05, planned_blocks=8)
    proposals, done = to_the_end(near, strategy)
    assert (len(proposals), done.reasons) == (GATE.max_pairs, (StopReason.BUDGET,))
    concluded = replace(
        SimulatedStudy({"near": -0.05}, {"D0": ("near",)}).history(), concludes=True
    )
    assert strategy.propose(concluded) == Done((StopReason.NONE_LEFT,))
    fails = SimulatedStudy({"bad": 0.0}, {"D0": ("bad",)}, endings={("bad", 2): "crashed"})
    proposals, done = to_the_end(fails, strategy)
    assert (len(proposals), done.reasons) == (2, (StopReason.NONE_LEFT,))

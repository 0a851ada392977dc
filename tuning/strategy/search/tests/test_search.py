"""Whole searches on made-up studies: what they find, what they refuse to crown, what they keep."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from time import process_time

import numpy as np
import pytest

from benchmarks.outcomes import Outcome
from tuning.statistics.aim import Aim
from tuning.statistics.data import Metric, Observation
from tuning.strategy.compose import strategy_for
from tuning.strategy.protocol import Budget, Done, Group, History, PlannedRun, Proposal, Purpose
from tuning.strategy.search.plan import PREFIX, SearchPlan
from tuning.strategy.search.search import Effort, Search
from tuning.strategy.search.space import Dimension, Space
from tuning.strategy.search.tests.choice import choice
from tuning.strategy.tests.simulated import BASE, SimulatedStudy, proposed, to_the_end

SPACE = Space(
    (
        Dimension("pool", "number", 1, 64, is_log=True, default="1"),
        Dimension("capacity", "number", 100, 10000, is_log=True, default="200"),
        Dimension("threads", "number", 1, 32, special=("0",), default="0"),
        Dimension("method", "choice", choices=("fsync", "O_DIRECT"), default="fsync"),
        Dimension("idle", "choice", choices=("OFF", "ON"), default="OFF"),
    )
)
PLAN = SearchPlan(SPACE)
THEN = strategy_for(races=True, confirms=True)
SEARCH = Search(PLAN, THEN)


@dataclass
class Hill(SimulatedStudy):
    """A candidate's figure follows from its knobs."""

    worth: Callable[[Mapping[str, str]], float] = lambda knobs: 0.0

    def _figure(self, run: PlannedRun) -> float:
        self.gains = {run.candidate: self.worth(self.knobs.get(run.candidate, {}))}
        return super()._figure(run)


def worth(knobs: Mapping[str, str]) -> float:
    """A large pool and O_DIRECT together gain 40 %; much capacity costs 10 %."""
    pool = math.log2(float(knobs.get("pool", "1"))) / 6
    direct = knobs.get("method") == "O_DIRECT"
    high = math.log(float(knobs.get("capacity", "200")) / 200) / math.log(50)
    return 0.25 * pool + 0.1 * direct * pool - 0.1 * max(high, 0.0)


def hill(**values: object) -> Hill:
    groups: dict[str, tuple[str, ...]] = {"D0": ("given",)}
    study = Hill({}, groups, runs=45, worth=worth, noise=0.02)
    study.knobs["given"] = {"idle": "ON"}
    return replace(study, **values)  # type: ignore[arg-type]


def searched(study: SimulatedStudy, plan: SearchPlan = PLAN) -> list[Proposal]:
    return to_the_end(study, strategy_for(races=True, confirms=True, search=plan))[0]


def test_the_winner_of_a_concluded_search_has_no_ablation() -> None:
    study = hill()
    searched(study)
    asked = strategy_for(races=True, confirms=True, ablates=True, search=PLAN)
    would_be = proposed(asked, study.history())
    assert {run.purpose for run in would_be.runs} == {Purpose.ABLATION}
    answer = asked.propose(replace(study.history(), concludes=True))
    assert isinstance(answer, Done)


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_given_config_races_by_what_its_lines_beside_the_space_bring(seed: int) -> None:
    """In the space it is the baseline, whose runs say that there is nothing to be had."""
    study = hill(seed=seed, worth=lambda knobs: worth(knobs) + 0.6 * ("other" in knobs))
    study.knobs["given"] = {"other": "1"}
    searched(study)
    history = study.history().among(study.history().finalists)
    assert "given" in history.finalists
    (pair, *_) = history.groups[0].pairs
    assert pair.candidate == "given"
    # What the values of the space bring is found nevertheless.
    known = SEARCH.learn(study.history())
    assert known is not None
    ours = max(one.mean for one in known.standings if one.name.startswith(PREFIX))
    assert ours - known.baseline.mean > 0.2


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_search_finds_what_is_there_and_has_it_confirmed(seed: int) -> None:
    study = hill(seed=seed)
    proposals = searched(study)
    (pair, *_) = study.history().among(study.history().finalists).groups[0].pairs
    assert study.worth(study.knobs[pair.candidate]) > 0.3
    # What was given is looked at first, and all that is new says why it is tried.
    assert {run.candidate for run in proposals[0].runs} == {BASE, "given"}
    sources = [one.source for proposal in proposals for one in proposal.new]
    for said in ("spread over the space", "differs from", "against the baseline"):
        assert any(said in source for source in sources)
    purposes = [proposal.runs[0].purpose for proposal in proposals]
    assert purposes == sorted(
        purposes, key=[Purpose.SEARCH, Purpose.BLOCK, Purpose.CONFIRMATION].index
    )
    assert 1 <= len(study.history().finalists) <= 3


@pytest.mark.long
def test_where_nothing_is_to_be_found_nothing_is_crowned() -> None:
    crowned = 0
    for seed in range(8):
        study = hill(seed=seed, worth=lambda knobs: 0.0, noise=0.05, runs=32)
        searched(study)
        crowned += any(group.whole for group in study.history().groups)
    assert crowned <= 1


def test_where_everything_is_worse_nothing_wins() -> None:
    study = hill(worth=lambda knobs: -0.2 if set(knobs) - {"idle"} else 0.0)
    searched(study)
    assert not any(group.pairs for group in study.history().groups)


@pytest.mark.long
def test_what_was_refused_is_not_tried_again() -> None:
    class Gate(Hill):
        def measure(self, proposal: Proposal) -> None:
            big = {one.name for one in proposal.new if one.knobs.get("method") == "O_DIRECT"}
            self.refused |= big
            super().measure(proposal)

    plain = hill()
    study = Gate({}, dict(plain.groups), runs=45, worth=worth, knobs=dict(plain.knobs))
    searched(study)
    ours = [knobs for name, knobs in study.knobs.items() if name.startswith(PREFIX)]
    assert len({tuple(sorted(knobs.items())) for knobs in ours}) == len(ours)
    late = ours[len(ours) // 2 :]
    # By chance it would be half of them.
    assert sum(knobs.get("method") == "O_DIRECT" for knobs in late) <= len(late) / 4


def test_a_run_that_failed_is_no_finalist() -> None:
    study = hill()
    strategy = strategy_for(races=True, confirms=True, search=PLAN)
    while len(study.screened) < 20:
        answer = proposed(strategy, study.history())
        study.endings = {(run.candidate, run.block): "crashed" for run in answer.runs[:1]}
        study.endings.pop((BASE, answer.runs[0].block), None)
        study.measure(answer)
    crashed = {run.candidate for run in study.screened if run.outcome == Outcome.CRASHED}
    assert crashed
    to_the_end(study, strategy)
    assert not crashed & set(study.history().finalists)


def history_of(
    configs: Mapping[str, Mapping[str, str]], runs: list[Observation], left: int = 200
) -> History:
    return History(
        seed=1,
        baseline=BASE,
        candidates=(BASE, *configs),
        groups=(Group("D0", (BASE, *configs)),),
        planned_blocks=6,
        budget=Budget(runs_left=left, runs_spent=len(runs)),
        last_block=max(run.block for run in runs),
        knobs={BASE: {}, **configs},
        screened=tuple(runs),
    )


def recorded(count: int, slow_when_large: bool = True) -> History:
    """The larger the pool, the more throughput; p95 rises with it as well."""
    random = np.random.default_rng(3)
    configs, runs = {}, []
    for number in range(1, count + 1):
        pool = int(2 ** random.uniform(0, 6))
        knobs = {"pool": str(pool), "capacity": str(int(random.integers(100, 10000)))}
        configs[f"{PREFIX}{number}"] = knobs
        runs.append(_run(f"{PREFIX}{number}", number // 6, pool, slow_when_large))
    runs += [_run(BASE, block, 1, slow_when_large) for block in range(count // 6 + 1)]
    return history_of(configs, runs)


def _run(name: str, block: int, pool: int, slow_when_large: bool) -> Observation:
    share = math.log2(pool) / 6
    p95 = 30 * math.exp(share) if slow_when_large else 30.0
    return Observation(name, block, "ok", throughput=6000 * math.exp(0.4 * share), p95_ms=p95)


def test_finalists_keep_the_limits() -> None:
    history = recorded(30)
    held = Search(replace(PLAN, aim=Aim(keep={Metric.P95: 45.0})), THEN)
    p95 = {run.candidate: run.p95_ms or 0.0 for run in history.screened}
    assert all(p95[name] > 45 for name in SEARCH.finalists(history))
    assert held.finalists(history)
    assert all(p95[name] <= 45 for name in held.finalists(history))


def test_another_objective_finds_another_config() -> None:
    history = recorded(30)
    by_time = Search(replace(PLAN, aim=Aim(Metric.P95)), THEN)
    pool = {name: int(knobs.get("pool", "1")) for name, knobs in history.knobs.items()}
    assert pool[choice(by_time, history)] < 4 < 32 <= pool[choice(SEARCH, history)]


def test_a_proposal_after_a_hundred_runs_takes_less_than_two_seconds() -> None:
    wide = tuple(
        Dimension(f"knob{number}", "number", 1, 1000, is_log=True, default="10")
        for number in range(20 - len(SPACE.dimensions))
    )
    plan = SearchPlan(Space((*SPACE.dimensions, *wide)))
    strategy = Search(plan, THEN)
    history = recorded(100)
    began = process_time()  # however busy the host is
    answer = proposed(strategy, history)
    assert answer.new
    # Two of a quiet processor; this one may be slower, and be traced.
    assert process_time() - began < 6


@pytest.mark.long
def test_a_space_that_has_been_tried_whole_ends_the_search() -> None:
    tiny = Space((SPACE.dimensions[3], SPACE.dimensions[4]))
    study = hill()
    searched(study, SearchPlan(tiny))
    tried = {tuple(sorted(study.knobs.get(run.candidate, {}).items())) for run in study.screened}
    assert len(tried) == 4
    assert study.history().finalists


def test_a_search_looks_at_so_many_configs_at_most_however_long_it_may_take() -> None:
    history = replace(recorded(30), budget=Budget(runs_left=100_000, runs_spent=36))
    answer = proposed(Search(PLAN, THEN, Effort(most=30)), history)
    assert not answer.new
    assert {run.purpose for run in answer.runs} == {Purpose.BLOCK}
    assert Effort().most <= 400
    going_on = proposed(Search(PLAN, THEN, Effort(most=60)), history)
    assert going_on.new


def test_a_search_that_ends_before_its_race_names_what_should_have_raced() -> None:
    history = replace(recorded(30), budget=Budget(runs_left=0, runs_spent=36))
    answer = SEARCH.propose(history)
    assert isinstance(answer, Done)
    assert answer.unraced == SEARCH.finalists(history)
    assert answer.unraced
    raced = SEARCH.propose(replace(history, finalists=answer.unraced))
    assert isinstance(raced, Done)
    assert raced.unraced == ()


def test_only_configs_wasted_in_a_row_end_a_search() -> None:
    history = recorded(30)
    wasted = {f"{PREFIX}{number}": {"capacity": str(number)} for number in range(100, 200)}
    refused = dict.fromkeys(wasted, "no")
    early = replace(history, knobs={BASE: {}, **wasted, **history.knobs}, refused=refused)
    answer = proposed(SEARCH, early)
    assert answer.new
    late = replace(history, knobs={**history.knobs, **wasted}, refused=refused)
    answer = proposed(SEARCH, late)
    assert not answer.new


def test_the_model_of_what_runs_stays_small_however_much_is_refused() -> None:
    history = recorded(12)
    refused = {f"{PREFIX}{number}": {"capacity": str(number)} for number in range(100, 400)}
    history = replace(
        history, knobs={**history.knobs, **refused}, refused=dict.fromkeys(refused, "no")
    )
    found = SEARCH.learn(history)
    assert found is not None
    assert found.beliefs.runs is not None
    assert len(found.beliefs.runs.x) <= 120

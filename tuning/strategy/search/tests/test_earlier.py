"""What a search begins with: the best that earlier studies found in its space, and no more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from tuning.strategy.search.grid import Grid
from tuning.strategy.search.plan import PREFIX, EarlierConfig, SearchPlan, best_before, lies_in
from tuning.strategy.search.search import Search
from tuning.strategy.search.space import Rule, Space
from tuning.strategy.search.tests.test_search import PLAN, SPACE, THEN, hill, searched, worth
from tuning.strategy.tests.simulated import BASE, proposed


def earlier(knobs: Mapping[str, str], gain: float, study: int = 3, runs: int = 1) -> EarlierConfig:
    return EarlierConfig(study, knobs, gain, runs)


def history(*, seed: int = 1, misleads: bool = False) -> tuple[EarlierConfig, ...]:
    """Configs spread over the space with what they are worth, and noise."""
    grid, random = Grid(SPACE), np.random.default_rng(seed)
    sign = -1 if misleads else 1
    return tuple(
        earlier(knobs, sign * worth(knobs) + float(random.normal(0, 0.02)))
        for knobs in map(grid.knobs, grid.spread(20, random))
    )


@pytest.mark.parametrize(
    ("knobs", "lies"),
    [
        ({"pool": "16", "kept": "1"}, True),
        ({"pool": "1", "threads": "0", "method": "O_DIRECT", "kept": "1"}, True),
        ({"pool": "16"}, False),  # without the pinned knob
        ({"pool": "16", "kept": "2"}, False),
        ({"pool": "16", "kept": "1", "other": "5"}, False),
        ({"pool": "65", "kept": "1"}, False),
        ({"pool": "nan", "kept": "1"}, False),
        ({"pool": "many", "kept": "1"}, False),
        ({"threads": "0.5", "kept": "1"}, False),
        ({"method": "O_DSYNC", "kept": "1"}, False),
        ({"capacity": "20", "kept": "1"}, True),  # a default beside the bounds
        ({"capacity": "21", "kept": "1"}, False),
    ],
)
def test_only_what_the_search_could_have_made_lies_in_its_space(
    knobs: dict[str, str], lies: bool
) -> None:
    pool, capacity, *others = SPACE.dimensions
    space = Space((pool, replace(capacity, default="20"), *others), pinned={"kept": "1"})
    assert lies_in(space, knobs) is lies


def test_the_best_of_them_are_those_of_which_most_may_be_expected() -> None:
    good = {"pool": "64", "method": "O_DIRECT"}
    found = [one for one in history() if worth(one.knobs) < 0.2]
    lucky = replace(found[0], knobs={"capacity": "10000"}, gain=0.36)
    several = [earlier(good | {"threads": f"{n}"}, 0.33) for n in (4, 8, 12)]
    beside = [{"capacity": f"{n}"} for n in (6000, 7000, 8000, 9000)]
    poor = [earlier(knobs, worth(knobs)) for knobs in beside]
    plan = SearchPlan(SPACE, earlier=(lucky, *found, *poor, *several))
    best = [one.knobs for _, one in best_before(plan, Grid(SPACE), 3)]
    assert [one.get("pool") for one in best] == ["64"] * 3


def test_what_was_no_better_than_the_baseline_is_not_begun_with() -> None:
    few = (earlier({"pool": "4"}, 0.1), earlier({"pool": "8"}, -0.1), earlier({"pool": "2"}, 0.0))
    best = best_before(SearchPlan(SPACE, earlier=few), Grid(SPACE), 3)
    assert [one.knobs for _, one in best] == [{"pool": "4"}]
    assert best_before(SearchPlan(SPACE), Grid(SPACE), 3) == []


def test_the_same_config_of_two_studies_is_one_and_the_rules_are_kept() -> None:
    rule = Rule("pool", "threads", "upper")
    space = replace(SPACE, rules=(rule,))
    twice = tuple(earlier({"pool": "16", "threads": "4"}, 0.2, study) for study in (3, 5))
    grid = Grid(space)
    ((point, _),) = best_before(SearchPlan(space, earlier=twice), grid, 3)
    knobs = grid.knobs(point)
    assert float(knobs["pool"]) <= float(knobs["threads"])


def test_a_search_begins_with_the_given_and_then_with_the_best_of_earlier_studies() -> None:
    given, begun, *_ = searched(hill(), replace(PLAN, earlier=history()))
    assert {run.candidate for run in given.runs} == {BASE, "given"}
    assert {run.candidate for run in begun.runs} == {BASE, *(f"{PREFIX}{n}" for n in (1, 2, 3))}
    assert all(worth(one.knobs) > 0.1 for one in begun.new)
    assert all(one.source.startswith("among the best of study 3: +") for one in begun.new)
    assert "(1 run)" in begun.new[0].source


def test_what_was_given_already_is_not_measured_as_an_earlier_one_too() -> None:
    plan = replace(PLAN, earlier=(earlier({"idle": "ON"}, 0.3), earlier({"pool": "8"}, 0.2)))
    begun = searched(hill(), plan)[1]
    assert [one.knobs for one in begun.new] == [{"pool": "8"}]


def test_figures_of_earlier_studies_are_in_no_model_of_this_one() -> None:
    study = hill()
    strategy = Search(replace(PLAN, earlier=history()), THEN)
    plain = replace(strategy, plan=PLAN)
    for _ in range(3):
        answer = proposed(strategy, study.history())
        study.measure(answer)
    mine, other = strategy.learn(study.history()), plain.learn(study.history())
    assert mine is not None
    assert other is not None
    assert mine.standings == other.standings
    assert {one.name for one in mine.standings} == {run.candidate for run in study.screened}


@pytest.mark.parametrize("misleads", [False, True])
def test_a_search_finds_what_is_there_whatever_it_begins_with(misleads: bool) -> None:
    study = hill(seed=2)
    searched(study, replace(PLAN, earlier=history(misleads=misleads)))
    (pair, *_) = study.history().among(study.history().finalists).groups[0].pairs
    assert study.worth(study.knobs[pair.candidate]) > 0.3


def test_where_the_gate_refuses_all_that_it_begins_with_the_search_goes_on() -> None:
    study = hill()
    strategy = Search(replace(PLAN, earlier=history()), THEN)
    study.measure(proposed(strategy, study.history()))
    begun = proposed(strategy, study.history())
    study.refused |= {one.name for one in begun.new}
    study.measure(begun)
    after = proposed(strategy, study.history())
    assert {run.candidate for run in after.runs} - {BASE} == {one.name for one in after.new}
    assert after.new[0].name == f"{PREFIX}{len(begun.new) + 1}"
    assert not any("study 3" in one.source for one in after.new)

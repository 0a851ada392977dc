"""The promises of `make bench-statistics` on fewer studies, so that a change shows at once."""

from __future__ import annotations

import json
import math

import pytest

from bench.statistics.criteria import CANDIDATES
from bench.statistics.gates import LOSS, USUAL, ends
from bench.statistics.methods import CHOSEN
from bench.statistics.noise import RECORDED, Scenario, scenarios
from bench.statistics.simulate import (
    answers,
    coverage,
    draw,
    race,
    winners,
)
from tuning.statistics.analysis import analyse
from tuning.statistics.tests.helpers import ok
from tuning.statistics.verdict import VerdictKind, conclude

pytestmark = pytest.mark.long

STUDIES = 400
HELD = [scenario for scenario in scenarios() if scenario.held]
BY_NAME = {scenario.name: scenario for scenario in scenarios()}
SAME = [0.0] * CANDIDATES


@pytest.mark.parametrize("blocks", [3, 10])
@pytest.mark.parametrize("scenario", HELD, ids=lambda scenario: scenario.name)
def test_names_of_one_config_hardly_ever_win_and_intervals_hold(
    scenario: Scenario, blocks: int
) -> None:
    y = draw(scenario, STUDIES, SAME, blocks)
    # 5 % and 93 % are promised of 2,000 studies; two standard errors of 400 are granted.
    assert (winners(y) > 0).mean() <= 0.05 + 0.02
    found = coverage(y, SAME)
    assert found[CHOSEN].share >= 0.93 - 0.025
    covering = [one.width for one in found.values() if one.share >= 0.93]
    assert found[CHOSEN].width <= 1.5 * min(covering)


@pytest.mark.parametrize(
    ("name", "gain", "blocks", "least"),
    [("5 %", 0.10, 10, 0.93), ("20 %", 0.30, 10, 0.65), ("20 %", 0.30, 20, 0.93)],
)
def test_true_gains_are_found(name: str, gain: float, blocks: int, least: float) -> None:
    y = draw(BY_NAME[name], STUDIES, [gain, *SAME[1:]], blocks)
    assert (winners(y) == 1).mean() >= least


@pytest.mark.parametrize(("blocks", "least"), [(3, 0.80), (10, 0.93)])
def test_fresh_pairs_recommend_what_is_better_and_hardly_ever_what_is_not(
    blocks: int, least: float
) -> None:
    scenario, gains = BY_NAME["5 %"], [0.10, *SAME[1:]]
    found = answers(scenario, gains, draw(scenario, STUDIES, gains, blocks), old=False)
    assert (found.picked == 1).mean() >= least
    null = answers(scenario, SAME, draw(scenario, STUDIES, SAME, blocks), old=False)
    # 2.5 % is promised of 2,000 studies; two standard errors of 400 are granted.
    assert (null.picked > 0).mean() <= 0.025 + 0.015


def test_racing_says_the_same_with_fewer_runs() -> None:
    found = race(draw(BY_NAME["stalled"], STUDIES // 4, [0.28] + [0.0] * 7, 10))
    assert (found.winner == found.winner_in_full).mean() >= 0.95
    assert found.share <= 0.60


@pytest.mark.parametrize("name", ["5 %", "heavy"])
def test_a_gate_errs_as_seldom_as_it_says_however_often_it_looks(name: str) -> None:
    found = ends(BY_NAME[name], USUAL, STUDIES)
    at_limit = found.of(-USUAL.limits[0].margin)
    # 5 % on either side; two standard errors of 800 are granted.
    assert (at_limit.passed + at_limit.failed) / 2 <= 0.05 + 0.016
    assert found.of(0.0).failed <= 0.01
    if name == "5 %":
        worse = found.of(math.log(1 - LOSS))
        assert worse.failed >= 0.95
        assert worse.pairs <= 17


def test_the_recorded_study_of_six_names_for_one_config_shows_no_difference() -> None:
    runs = json.loads(RECORDED.read_text())["studies"][1]["runs"]
    found = analyse(
        [ok(run["name"], run["block"], throughput=run["tpmP"]) for run in runs], "server-default"
    )
    assert len(found.standings) == 6
    assert {standing.rank for standing in found.standings} == {1}
    assert conclude(found).kind is VerdictKind.NO_DIFFERENCE

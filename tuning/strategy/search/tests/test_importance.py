"""How much knobs matter: the right ones come first, and what cannot be told is not told."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
import pytest

from tuning.statistics.data import Metric, Observation
from tuning.statistics.tests.helpers import bounds
from tuning.strategy.search.importance import MIN_CONFIGS, MIN_SEEN, importance
from tuning.strategy.search.space import Dimension, Space

SPACE = Space(
    (
        Dimension("matters", "number", 1, 1000, is_log=True, default="30"),
        Dimension("idle", "number", 1, 1000, is_log=True, default="30"),
        Dimension("switch", "choice", choices=("OFF", "ON"), default="OFF"),
        Dimension("never", "number", 1, 1000, is_log=True, default="30"),
    )
)
Effect = Callable[[Mapping[str, str]], float]


def matters(knobs: Mapping[str, str]) -> float:
    return 0.5 * math.log(float(knobs["matters"])) / math.log(1000)


def screened(
    count: int, effect: Effect, metric: Metric = Metric.THROUGHPUT
) -> tuple[list[Observation], dict[str, dict[str, str]]]:
    """Runs of so many configs, six a round, with 3 % of noise; log throughput is `effect`."""
    random = np.random.default_rng(1)
    runs, knobs = [], {}
    for number in range(count):
        name = f"search-{number}"
        knobs[name] = {
            "matters": str(round(1000 ** random.random())),
            "idle": str(round(1000 ** random.random())),
            "switch": str(random.choice(["OFF", "ON"])),
            "never": "30",
        }
        sign = 1 if metric.more_is_better else -1
        figure = 1000 * math.exp(sign * effect(knobs[name]) + random.normal(0, 0.03))
        is_tpmP = metric is Metric.THROUGHPUT
        throughput, p95_ms = (figure, 50.0) if is_tpmP else (1000.0, figure)
        runs.append(Observation(name, number // 6, "ok", throughput=throughput, p95_ms=p95_ms))
    return runs, knobs


def test_the_knob_that_matters_comes_first_with_its_effect() -> None:
    runs, knobs = screened(36, matters)
    found = importance(SPACE, runs, knobs, Metric.THROUGHPUT)
    assert (found.runs, found.configs) == (36, 36)
    first = found.knobs[0]
    assert (first.name, first.worst, first.best) == ("matters", "1", "1000")
    assert first.share is not None
    assert first.share > 0.7
    low, _, high = bounds(first.estimate)
    assert low < math.exp(0.5) < high
    assert first.is_known
    assert not any(one.is_known for one in found.knobs[1:])
    assert sum(one.share or 0.0 for one in found.knobs) + found.together == pytest.approx(1.0)


def test_of_a_knob_that_was_never_changed_nothing_is_said() -> None:
    runs, knobs = screened(36, matters)
    never = importance(SPACE, runs, knobs, Metric.THROUGHPUT).knobs[-1]
    assert (never.name, never.runs, never.values, never.share) == ("never", 0, 1, None)
    assert not never.is_known
    for name in list(knobs)[: MIN_SEEN - 1]:
        knobs[name]["never"] = "500"
    never = importance(SPACE, runs, knobs, Metric.THROUGHPUT).knobs[-1]
    assert (never.runs, never.values, never.share) == (MIN_SEEN - 1, 2, None)


def test_a_few_configs_are_too_few_however_often_they_ran() -> None:
    runs, knobs = screened(MIN_CONFIGS - 1, matters)
    found = importance(SPACE, [*runs, *runs], knobs, Metric.THROUGHPUT)
    assert not found.is_enough
    assert (found.runs, found.configs, found.knobs) == (22, 11, ())
    runs, knobs = screened(MIN_CONFIGS, matters)
    assert importance(SPACE, runs, knobs, Metric.THROUGHPUT).is_enough


def test_runs_without_a_figure_teach_nothing() -> None:
    runs, knobs = screened(MIN_CONFIGS, matters)
    runs[0] = Observation(runs[0].candidate, 0, "crashed")
    assert importance(SPACE, runs, knobs, Metric.THROUGHPUT).configs == MIN_CONFIGS - 1


def test_of_response_times_the_best_value_makes_them_shorter() -> None:
    runs, knobs = screened(36, matters, Metric.P95)
    first = importance(SPACE, runs, knobs, Metric.P95).knobs[0]
    assert (first.name, first.best) == ("matters", "1000")
    low, ratio, high = bounds(first.estimate)
    assert low < ratio < high < 1
    assert low < math.exp(-0.5) < high


def test_what_only_two_knobs_do_together_is_of_neither() -> None:
    def together(knobs: Mapping[str, str]) -> float:
        share = math.log(float(knobs["matters"])) / math.log(1000)
        return 0.6 * (share - 0.5) * (1 if knobs["switch"] == "ON" else -1)

    runs, knobs = screened(60, together)
    found = importance(SPACE, runs, knobs, Metric.THROUGHPUT)
    assert found.together > 0.5


def test_a_long_search_is_read_by_whole_rounds_spread_over_it() -> None:
    runs, knobs = screened(180, matters)
    found = importance(SPACE, runs, knobs, Metric.THROUGHPUT)
    assert found.runs == 120
    assert found.knobs[0].name == "matters"

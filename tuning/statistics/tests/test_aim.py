"""Limits of a search: kept, missed, or without a figure."""

from __future__ import annotations

import json

from tuning.statistics.aim import Aim, figure_text, limit_text
from tuning.statistics.data import Metric, Observation
from tuning.statistics.tests.helpers import cut, ok

PATH = Metric.SERVER_PATH_LENGTH
SHORT = Aim(keep={PATH: 3e6})


def test_a_limit_is_judged_by_the_median_of_the_figures_there_are() -> None:
    runs = [
        ok("a", block, throughput=6000.0, server_path_length=path * 1e6)
        for block, path in enumerate((2.0, 2.9, 9.0))
    ]
    assert SHORT.missed(runs) == {}
    assert SHORT.missed([*runs, ok("a", 4, throughput=6000.0)]) == {}
    assert SHORT.missed(runs[2:]) == {PATH: 9e6}
    assert Aim(keep={Metric.THROUGHPUT: 7000.0}).missed(runs) == {Metric.THROUGHPUT: 6000.0}


def test_a_limit_without_a_figure_is_missed_by_whatever_ran_successfully() -> None:
    """A host that does not report its CPU frequency has no path lengths."""
    assert SHORT.missed([ok("a", 1, throughput=6000.0)]) == {PATH: None}
    assert f"{limit_text(PATH, 3e6)}: {figure_text(PATH, None)}" == (
        "path length <= 3 Mcycles per transaction: no figure"
    )


def test_what_never_ran_successfully_misses_nothing() -> None:
    assert SHORT.missed([]) == {}
    assert SHORT.missed([Observation("a", 1, "crashed"), cut("a", 2, 3000.0)]) == {}


def test_an_aim_survives_its_row_in_which_more_is_stored() -> None:
    aim = Aim(Metric.P95, {Metric.THROUGHPUT: 5000.0}, max_recovery_s=60.0)
    assert Aim.from_json(json.loads(json.dumps(aim.as_json() | {"space": {}}))) == aim
    assert Aim.from_json({}) == Aim()

"""Values, levels and rules of a space."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tuning.strategy.search.grid import Grid
from tuning.strategy.search.space import MAX_LEVELS, Dimension, Rule, Space

MIB = 1024**2
CAPACITY = Dimension("capacity", "number", 100, 20000, is_log=True, default="200")
CEILING = Dimension("ceiling", "number", 2000, 25000, is_log=True)
LIMIT = Dimension("limit", "number", 1, 8, special=("0",), default="0")
POOL = Dimension(
    "pool", "number", 100 * MIB, 4096 * MIB, is_log=True, step=128 * MIB, default="134217728"
)
METHOD = Dimension("method", "choice", choices=("fsync", "O_DIRECT"), default="fsync")
SPACE = Space(
    (CAPACITY, CEILING, LIMIT, POOL, METHOD),
    {"pinned": "7"},
    (Rule("capacity", "ceiling", "upper"),),
)


def test_levels_ascend_within_the_range_and_hold_the_default() -> None:
    levels = CAPACITY.levels
    assert [int(one) for one in levels] == sorted({int(one) for one in levels})
    assert levels[0] == "100"
    assert levels[-1] == "20000"
    assert "200" in levels
    assert len(levels) <= MAX_LEVELS + 1
    assert LIMIT.levels == ("0", "1", "2", "3", "4", "5", "6", "7", "8")


def test_values_are_multiples_of_the_step() -> None:
    sizes = [int(one) for one in POOL.levels]
    assert all(size % (128 * MIB) == 0 for size in sizes)
    assert (min(sizes), max(sizes)) == (128 * MIB, 4096 * MIB)


def test_a_config_names_only_what_is_off_its_default() -> None:
    values = dict(zip(SPACE.names, SPACE.values({"capacity": "5000"}), strict=True))
    assert values["method"] == "fsync"
    assert SPACE.knobs({**values, "ceiling": "9000"}) == {
        "capacity": "5000",
        "ceiling": "9000",
        "pinned": "7",
    }


def test_a_space_survives_being_stored() -> None:
    assert Space.from_json(json.loads(json.dumps(SPACE.as_json()))) == SPACE


@pytest.mark.parametrize("moves", ["upper", "lower"])
def test_points_keep_the_rules(moves: str) -> None:
    rule = Rule("capacity", "ceiling", moves)  # type: ignore[arg-type]
    grid = Grid(Space((CAPACITY, CEILING), rules=(rule,)))
    points = grid.spread(500, np.random.default_rng(1))
    values = [dict(zip(grid.space.names, _values(grid, point), strict=True)) for point in points]
    assert all(float(one["capacity"]) <= float(one["ceiling"]) for one in values)
    assert len({one["capacity"] for one in values}) == len(grid.levels[0])


def _values(grid: Grid, point: object) -> list[str]:
    return [levels[place] for levels, place in zip(grid.levels, point, strict=True)]  # type: ignore[call-overload]


def test_a_special_value_is_no_place_on_the_scale() -> None:
    grid = Grid(Space((LIMIT,)))
    special, lowest, highest = grid.features_of([{}, {"limit": "1"}, {"limit": "8"}])
    assert special[1] == 1
    assert lowest.tolist() == [0.0, 0.0]
    assert highest.tolist() == [1.0, 0.0]


def test_the_nearest_point_of_a_config_outside_the_space() -> None:
    grid = Grid(SPACE)
    point = grid.nearest({"capacity": "1000000", "method": "O_DIRECT_NO_FSYNC", "limit": "0"})
    values = _values(grid, point)
    assert values[0] == "20000"
    assert values[2] == "0"


def test_a_sample_spreads_over_every_value() -> None:
    grid = Grid(SPACE)
    points = grid.spread(200, np.random.default_rng(2))
    for place, levels in enumerate(grid.levels):
        if place != 1:  # the rule moves the ceiling
            assert len(np.unique(points[:, place])) == len(levels)

"""The space of a search on every server: within what it takes, and what the user may narrow."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from tuning.catalogue.costs import CostKind
from tuning.catalogue.knob import Durability
from tuning.catalogue.resources import HostResources
from tuning.catalogue.target import parse_traits
from tuning.configs.effective.costs import forbidden_costs
from tuning.configs.effective.host import HostFacts
from tuning.configs.gate.check import check_knobs
from tuning.search_space.build import build_space
from tuning.search_space.priority import MAX_COUNT
from tuning.search_space.wish import BadSpace, Situation, Wish
from tuning.strategy.search.grid import Grid
from tuning.strategy.search.space import Space

GIB = 1024**3
SERVERS = (
    "mysql 5.7",
    "mysql 8.0",
    "mysql 8.4",
    "mysql 9.7",
    "percona 5.7",
    "percona 8.0",
    "percona 8.4",
    "mariadb 10.6",
    "mariadb 10.11",
    "mariadb 11.8",
)


def situation(server: str = "mysql 9.7", cpus: int = 2, data: int = GIB) -> Situation:
    return Situation(
        parse_traits(server),
        HostResources(24 * GIB, cpus, data),
        HostFacts(
            memory_budget_bytes=24 * GIB,
            connections=8,
            direct_io=True,
            logical_cpus=cpus,
            host_memory_bytes=24 * GIB,
        ),
    )


def dimension(space: Space, name: str) -> tuple[str, ...]:
    return next(one.levels for one in space.dimensions if one.name == name)


@pytest.mark.parametrize("data", [GIB // 2, 40 * GIB])
@pytest.mark.parametrize("cpus", [2, 64])
@pytest.mark.parametrize("server", SERVERS)
def test_the_gate_takes_every_config_of_the_space(server: str, cpus: int, data: int) -> None:
    here = situation(server, cpus, data)
    space = build_space(Wish(count=MAX_COUNT), here)
    grid = Grid(space)
    for point in grid.spread(25, np.random.default_rng(1)):
        knobs = grid.knobs(point)
        check_knobs(knobs, here.target, source="search", host=here.host)
        assert not forbidden_costs(knobs, here.target, (), here.host)


@pytest.mark.parametrize("server", SERVERS)
def test_there_is_enough_to_search_and_it_can_be_stored(server: str) -> None:
    space = build_space(Wish(), situation(server))
    assert 8 <= len(space.dimensions) <= MAX_COUNT
    assert all(one.source for one in space.dimensions)
    assert Space.from_json(json.loads(json.dumps(space.as_json()))) == space


def test_the_pool_follows_the_data_and_stays_within_the_memory() -> None:
    small = dimension(build_space(Wish(), situation(data=GIB)), "innodb_buffer_pool_size")
    large = dimension(build_space(Wish(), situation(data=100 * GIB)), "innodb_buffer_pool_size")
    assert int(small[-1]) == 2 * GIB
    assert 12 * GIB < int(large[-1]) < 24 * GIB
    tight = situation(data=100 * GIB)
    tight = replace(
        tight,
        resources=replace(tight.resources, memory_bytes=2 * GIB),
        host=replace(tight.host, memory_budget_bytes=2 * GIB),
    )
    space = build_space(Wish(names=("innodb_buffer_pool_size",)), tight)
    assert int(space.dimensions[0].levels[-1]) < 1.7 * GIB


def test_costs_are_searched_only_where_they_are_allowed() -> None:
    here = situation()
    free = replace(here, allowed=frozenset({CostKind.OBSERVABILITY, CostKind.RECOVERY_TIME}))
    assert "performance_schema" not in build_space(Wish(), here).names
    assert "performance_schema" in build_space(Wish(), free).names
    limit = int(dimension(build_space(Wish(), here), "innodb_redo_log_capacity")[-1])
    assert (
        limit
        <= 4 * GIB
        < int(dimension(build_space(Wish(), free), "innodb_redo_log_capacity")[-1])
    )


def test_a_study_of_a_lower_class_may_search_what_it_gives_up() -> None:
    here = situation()
    wish = Wish(names=("sync_binlog", "innodb_flush_log_at_trx_commit"))
    space = build_space(wish, replace(here, durability=Durability.D1))
    assert set(space.names) == set(wish.names)


def test_pins_and_bounds_narrow_the_space() -> None:
    wish = Wish(
        pinned={"innodb_flush_neighbors": "1"},
        bounds={"innodb_io_capacity": ("500", "4K")},
        base={"max_connections": "300", "innodb_io_capacity": "900"},
    )
    space = build_space(wish, situation())
    assert "innodb_flush_neighbors" not in space.names
    assert space.pinned == {"innodb_flush_neighbors": "1", "max_connections": "300"}
    numbers = [int(one) for one in dimension(space, "innodb_io_capacity")]
    assert (min(numbers), max(numbers)) == (500, 4096)


def test_what_stays_as_it_is_bounds_what_depends_on_it() -> None:
    wish = Wish(names=("innodb_io_capacity_max",), base={"innodb_io_capacity": "8000"})
    assert min(map(int, build_space(wish, situation()).dimensions[0].levels)) >= 8000
    wish = Wish(names=("innodb_io_capacity",), pinned={"innodb_io_capacity_max": "12000"})
    assert max(map(int, build_space(wish, situation()).dimensions[0].levels)) <= 12000


def test_a_server_that_sizes_itself_is_left_to_it() -> None:
    names = build_space(Wish(base={"innodb_dedicated_server": "ON"}), situation()).names
    assert not {"innodb_buffer_pool_size", "innodb_redo_log_capacity"} & set(names)


@pytest.mark.parametrize(
    ("wish", "code", "field"),
    [
        (Wish(names=("innodb_io_capacty",)), "unknown_knob", "search.knobs"),
        (Wish(names=("datadir",)), "unknown_knob", "search.knobs"),
        (Wish(pinned={"query_cache_size": "0"}), "unknown_knob", "search.pinned.query_cache_size"),
        (
            Wish(bounds={"innodb_io_capacity": ("4000", "500")}),
            "bad_bounds",
            "search.bounds.innodb_io_capacity",
        ),
        (
            Wish(bounds={"innodb_io_capacity": ("1", "500")}),
            "bad_bounds",
            "search.bounds.innodb_io_capacity",
        ),
        (
            Wish(bounds={"innodb_flush_method": ("fsync", "O_DIRECT")}),
            "bad_bounds",
            "search.bounds.innodb_flush_method",
        ),
        (Wish(pinned={"sync_binlog": "0"}), "bad_pin", "search.pinned.sync_binlog"),
        (
            Wish(pinned={"innodb_io_capacity": "5"}, bounds={"innodb_io_capacity": ("1", "2")}),
            "bad_pin",
            "search.pinned.innodb_io_capacity",
        ),
        (Wish(names=("sync_binlog",)), "empty_space", "search.knobs"),
        (Wish(count=0), "bad_count", "search.knobs"),
        (Wish(count=MAX_COUNT + 1), "bad_count", "search.knobs"),
    ],
)
def test_bad_wishes_are_refused_with_their_field(wish: Wish, code: str, field: str) -> None:
    with pytest.raises(BadSpace) as refused:
        build_space(wish, situation())
    assert (refused.value.code, refused.value.field) == (code, field)


def test_a_slip_of_a_name_is_answered_with_the_right_one() -> None:
    with pytest.raises(BadSpace, match="did you mean innodb_io_capacity"):
        build_space(Wish(names=("innodb_io_capacty",)), situation())


def test_nothing_is_left_where_everything_is_pinned() -> None:
    pinned: dict[str, str] = {}
    for _ in range(2):
        space = build_space(Wish(count=MAX_COUNT, pinned=pinned), situation())
        pinned |= {one.name: one.levels[-1] for one in space.dimensions}
    with pytest.raises(BadSpace, match="every knob is pinned") as refused:
        build_space(Wish(count=MAX_COUNT, pinned=pinned), situation())
    assert (refused.value.code, refused.value.field) == ("empty_space", "search.knobs")

"""The space of a search on every server: within what it takes, and what the user may narrow."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from benchmarks.datasets.tpcc import estimated_bytes
from tuning.catalogue.costs import CostKind
from tuning.catalogue.knob import Durability
from tuning.catalogue.resources import HostResources
from tuning.catalogue.target import parse_traits
from tuning.configs.check import check_knobs
from tuning.configs.expected import Expected, HostFacts
from tuning.configs.memory import memory_need
from tuning.configs.price import forbidden_costs
from tuning.configs.situation import DeviceFacts, Situation
from tuning.search_space.build import build_space
from tuning.search_space.space_request import MAX_COUNT, BadSpace, SpaceRequest
from tuning.strategy.search.grid import Grid
from tuning.strategy.search.space import MAX_LEVELS, Space

MIB = 1024**2
GIB = 1024**3
POOL = "innodb_buffer_pool_size"
FLUSH = "innodb_flush_method"
BOUNDED = {
    "innodb_io_capacity": ("200", "900"),
    "innodb_io_capacity_max": ("2000", "9000"),
    "innodb_lru_scan_depth": ("200", "900"),
}
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
    space = build_space(SpaceRequest(count=MAX_COUNT), here)
    grid = Grid(space)
    for point in grid.spread(25, np.random.default_rng(1)):
        knobs = grid.knobs(point)
        check_knobs(knobs, here.target, source="search", host=here.host).accepted()
        assert not forbidden_costs(knobs, here.target, (), here.host)


@pytest.mark.parametrize("server", SERVERS)
def test_there_is_enough_to_search_and_it_can_be_stored(server: str) -> None:
    space = build_space(SpaceRequest(), situation(server))
    assert 8 <= len(space.dimensions) <= MAX_COUNT
    assert all(one.source for one in space.dimensions)
    assert Space.from_json(json.loads(json.dumps(space.as_json()))) == space


def test_the_pool_follows_the_data_and_stays_within_the_memory() -> None:
    small = dimension(build_space(SpaceRequest(), situation(data=GIB)), "innodb_buffer_pool_size")
    large = dimension(
        build_space(SpaceRequest(), situation(data=100 * GIB)), "innodb_buffer_pool_size"
    )
    assert int(small[-1]) == 2 * GIB
    assert 12 * GIB < int(large[-1]) < 24 * GIB
    tight = situation(data=100 * GIB)
    tight = replace(
        tight,
        resources=replace(tight.resources, memory_bytes=2 * GIB),
        host=replace(tight.host, memory_budget_bytes=2 * GIB),
    )
    space = build_space(SpaceRequest(names=("innodb_buffer_pool_size",)), tight)
    assert int(space.dimensions[0].levels[-1]) < 1.7 * GIB


@pytest.mark.parametrize("server", ["mysql 8.0", "mariadb 10.6", "mariadb 10.11"])
def test_in_a_small_memory_the_log_buffer_leaves_the_pool_its_room(server: str) -> None:
    """As in a scale model: 64 MiB would be a tenth of this memory."""
    here = situation(server)
    budget = 640 * MIB
    here = replace(
        here,
        resources=replace(here.resources, memory_bytes=budget),
        host=replace(here.host, memory_budget_bytes=budget, pool_chunk_bytes=MIB),
    )
    space = build_space(SpaceRequest(count=MAX_COUNT), here)
    assert int(dimension(space, POOL)[-1]) > 0.3 * budget
    grid = Grid(space)
    for point in grid.spread(25, np.random.default_rng(1)):
        check_knobs(grid.knobs(point), here.target, source="search", host=here.host).accepted()
    asked = SpaceRequest(names=("innodb_log_buffer_size",))
    asked = replace(asked, bounds={"innodb_log_buffer_size": ("16M", "64M")})
    assert int(dimension(build_space(asked, here), "innodb_log_buffer_size")[-1]) == 64 * MIB


@pytest.mark.parametrize("server", SERVERS)
def test_in_a_memory_that_barely_suffices_the_pool_reaches_what_the_server_has_by_itself(
    server: str,
) -> None:
    """Three quarters of it, the most that a source gives a reason to try, are less than 128M."""
    here = situation(server, data=200 * MIB)
    budget = 165_000_000
    need = memory_need(Expected({}, here.target, here.host))
    assert need is not None
    beside = need.total(8) - need.pool
    here = replace(
        here,
        resources=replace(here.resources, memory_bytes=budget),
        host=replace(here.host, memory_budget_bytes=budget + 2 * beside, pool_chunk_bytes=MIB),
    )
    sizes = dimension(build_space(SpaceRequest(names=(POOL,)), here), POOL)
    assert int(sizes[0]) < 64 * MIB
    assert int(sizes[-1]) >= 128 * MIB


def test_a_server_that_does_not_round_has_more_than_two_pools_in_a_small_memory() -> None:
    """MariaDB's other caches leave 300 MiB: between one and three chunks of 128 MiB."""
    here = situation("mariadb 10.11.19", data=400_000_000)
    memory = 604_000_000
    facts = replace(here.host, memory_budget_bytes=memory)
    small = replace(here, host=facts, resources=HostResources(400_000_000, 2, 400_000_000))
    pools = [int(one) for one in dimension(build_space(SpaceRequest(), small), POOL)]
    assert len(pools) > 10
    assert pools[-1] > 256 * MIB


def test_costs_are_searched_only_where_they_are_allowed() -> None:
    here = situation()
    free = replace(here, allowed=frozenset({CostKind.OBSERVABILITY, CostKind.RECOVERY_TIME}))
    assert "performance_schema" not in build_space(SpaceRequest(), here).names
    assert "performance_schema" in build_space(SpaceRequest(), free).names
    limit = int(dimension(build_space(SpaceRequest(), here), "innodb_redo_log_capacity")[-1])
    assert (
        limit
        <= 4 * GIB
        < int(dimension(build_space(SpaceRequest(), free), "innodb_redo_log_capacity")[-1])
    )


def test_pins_and_bounds_narrow_the_space() -> None:
    request = SpaceRequest(
        pinned={"innodb_flush_neighbors": "1"},
        bounds={"innodb_io_capacity": ("500", "4K")},
        base={"max_connections": "300", "innodb_io_capacity": "900"},
    )
    space = build_space(request, situation())
    assert "innodb_flush_neighbors" not in space.names
    assert space.pinned == {"innodb_flush_neighbors": "1", "max_connections": "300"}
    numbers = [int(one) for one in dimension(space, "innodb_io_capacity")]
    assert (min(numbers), max(numbers)) == (500, 4096)


def test_a_freed_knob_is_searched_beside_those_that_are_chosen() -> None:
    free = "table_open_cache"
    usual = build_space(SpaceRequest(), situation()).names
    assert free not in usual
    request = SpaceRequest(free=(free,), base={free: "3000"})
    space = build_space(request, situation())
    assert len(space.names) == len(usual)
    assert set(space.names) - set(usual) == {free}
    assert free not in space.pinned
    named = SpaceRequest(names=(POOL,), free=(free, POOL))
    assert build_space(named, situation()).names == (POOL, free)
    bounded = SpaceRequest(count=2, free=(free,), bounds={"innodb_sync_spin_loops": ("10", "90")})
    assert set(build_space(bounded, situation()).names) == {free, "innodb_sync_spin_loops"}


def test_what_stays_as_it_is_bounds_what_depends_on_it() -> None:
    request = SpaceRequest(names=("innodb_io_capacity_max",), base={"innodb_io_capacity": "8000"})
    assert min(map(int, build_space(request, situation()).dimensions[0].levels)) >= 8000
    request = SpaceRequest(
        names=("innodb_io_capacity",), pinned={"innodb_io_capacity_max": "12000"}
    )
    assert max(map(int, build_space(request, situation()).dimensions[0].levels)) <= 12000


def test_a_knob_that_is_lowered_to_another_keeps_its_upper_end() -> None:
    instances = {"innodb_buffer_pool_instances": ("2", "16")}
    request = SpaceRequest(names=("innodb_page_cleaners",), bounds=instances)
    cleaners = dimension(build_space(request, situation()), "innodb_page_cleaners")
    assert (min(map(int, cleaners)), max(map(int, cleaners))) == (2, 32)


def test_a_server_that_sizes_itself_is_left_to_it() -> None:
    names = build_space(SpaceRequest(base={"innodb_dedicated_server": "ON"}), situation()).names
    assert not {"innodb_buffer_pool_size", "innodb_redo_log_capacity"} & set(names)


IO, CEILING = "innodb_io_capacity", "innodb_io_capacity_max"
#: What is asked for, the code of the refusal, and its field below "search".
BAD_REQUESTS = [
    ({"names": ("innodb_io_capacty",)}, "unknown_knob", "knobs"),
    ({"names": ("datadir",)}, "unknown_knob", "knobs"),
    ({"free": ("datadir",)}, "unknown_knob", "free"),
    ({"pinned": {"query_cache_size": "0"}}, "unknown_knob", "pinned.query_cache_size"),
    ({"free": (IO,), "pinned": {IO: "900"}}, "bad_pin", f"pinned.{IO}"),
    ({"pinned": {"sync_binlog": "0"}}, "bad_pin", "pinned.sync_binlog"),
    ({"pinned": {IO: "5"}, "bounds": {IO: ("1", "2")}}, "bad_pin", f"pinned.{IO}"),
    ({"free": (CEILING,), "pinned": {IO: "4294967295"}}, "empty_space", "free"),
    ({"names": ("sync_binlog",)}, "empty_space", "knobs"),
    ({"bounds": {IO: ("4000", "500")}}, "bad_bounds", f"bounds.{IO}"),
    ({"bounds": {IO: ("1", "500")}}, "bad_bounds", f"bounds.{IO}"),
    ({"bounds": {FLUSH: ("fsync", "O_DIRECT")}}, "bad_bounds", f"bounds.{FLUSH}"),
    ({"bounds": {"sync_binlog": ("1", "1000")}}, "bad_bounds", "bounds.sync_binlog"),
    (
        {"pinned": {IO: "9000"}, "bounds": {CEILING: ("2000", "8000")}},
        *("bad_bounds", f"bounds.{CEILING}"),
    ),
    (
        {"bounds": {IO: ("200", "60000"), CEILING: ("2000", "25000")}},
        *("bad_bounds", f"bounds.{IO}"),
    ),
    ({"count": 0}, "bad_count", "knobs"),
    ({"count": MAX_COUNT + 1}, "bad_count", "knobs"),
    ({"count": 1, "bounds": {IO: ("200", "900"), POOL: ("1G", "2G")}}, "bad_count", "knobs"),
]


@pytest.mark.parametrize(("asked", "code", "field"), BAD_REQUESTS)
def test_bad_requests_are_refused_with_their_field(
    asked: dict[str, Any], code: str, field: str
) -> None:
    with pytest.raises(BadSpace) as refused:
        build_space(SpaceRequest(**asked), situation())
    assert (refused.value.code, refused.value.field) == (code, f"search.{field}")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("innodb_io_capacty", "did you mean innodb_io_capacity"),
        ("performance_schema", "--allow observability"),
        ("innodb_sync_spin_loops", "no values of innodb_sync_spin_loops .*: give it bounds"),
        ("innodb_deadlock_detect", "no values of innodb_deadlock_detect .*: pin it or leave"),
    ],
)
def test_a_knob_that_cannot_be_searched_is_refused_with_what_to_do(name: str, words: str) -> None:
    with pytest.raises(BadSpace, match=words):
        build_space(SpaceRequest(free=(name,)), situation())


def test_nothing_is_left_where_everything_is_pinned() -> None:
    pinned: dict[str, str] = {}
    for _ in range(2):
        space = build_space(SpaceRequest(count=MAX_COUNT, pinned=pinned), situation())
        pinned |= {one.name: one.levels[-1] for one in space.dimensions}
    with pytest.raises(BadSpace, match="every variable is pinned") as refused:
        build_space(SpaceRequest(count=MAX_COUNT, pinned=pinned), situation())
    assert (refused.value.code, refused.value.field) == ("empty_space", "search.knobs")


@pytest.mark.parametrize("server", SERVERS)
def test_the_pool_is_searched_on_every_server_in_sizes_that_it_takes_as_they_are(
    server: str,
) -> None:
    for cpus, warehouses in product((2, 64), (1, 10, 40)):
        here = situation(server, cpus, estimated_bytes(warehouses))
        sizes = [int(one) for one in dimension(build_space(SpaceRequest(), here), POOL)]
        assert len(sizes) > 1, here
        taken = [Expected({POOL: str(one)}, here.target, here.host).pool() for one in sizes]
        assert sizes == taken, here
        # All data fits into the largest, and the smallest is well below it.
        assert sizes[0] < here.resources.data_bytes <= sizes[-1], here


@pytest.mark.parametrize("server", SERVERS)
def test_bounds_of_a_small_pool_are_searched_as_they_are(server: str) -> None:
    here = situation(server, 2, estimated_bytes(1))
    space = build_space(SpaceRequest(bounds={POOL: ("256M", "1G")}), here)
    (pool,) = [one for one in space.dimensions if one.name == POOL]
    assert (int(pool.levels[0]), int(pool.levels[-1])) == (256 * MIB, GIB)
    assert pool.source == "as requested"
    wide = build_space(SpaceRequest(bounds={POOL: ("256M", "90G")}), here)
    (pool,) = [one for one in wide.dimensions if one.name == POOL]
    assert int(pool.levels[0]) == 256 * MIB
    assert len(pool.levels) <= MAX_LEVELS


@pytest.mark.parametrize("server", ["mysql 5.7", "mysql 8.0", "mysql 9.7", "mariadb 10.11"])
@pytest.mark.parametrize(
    "requested",
    [
        SpaceRequest(pinned={"innodb_io_capacity": "30000"}),
        SpaceRequest(base={"innodb_io_capacity": "30000"}, names=("innodb_io_capacity_max",)),
        SpaceRequest(bounds={"innodb_io_capacity": ("20000", "60000")}),
        SpaceRequest(bounds={"innodb_io_capacity_max": ("100", "150")}),
        SpaceRequest(bounds={"innodb_max_dirty_pages_pct_lwm": ("80", "95")}, count=MAX_COUNT),
        SpaceRequest(bounds={"innodb_max_dirty_pages_pct": ("5", "50")}, count=MAX_COUNT),
        SpaceRequest(
            pinned={"innodb_io_capacity_max": "400"}, bounds={"innodb_io_capacity": ("100", "300")}
        ),
        SpaceRequest(pinned={"innodb_io_capacity_max": "2500"}, free=("innodb_io_capacity",)),
        SpaceRequest(
            pinned={"innodb_max_dirty_pages_pct": "5"},
            bounds={"innodb_max_dirty_pages_pct_lwm": ("1", "4")},
        ),
    ],
)
def test_ranges_give_way_to_the_request(server: str, requested: SpaceRequest) -> None:
    """The gate takes every config, and everything requested can be tried."""
    here = situation(server)
    space = build_space(requested, here)
    grid = Grid(space)
    assert set(requested.bounds) | set(requested.names) <= set(space.names)
    assert all(one.low < one.high for one in space.dimensions if one.is_number)
    points = grid.spread(400, np.random.default_rng(1))
    for point in points[:50]:
        check_knobs(grid.knobs(point), here.target, source="search", host=here.host).accepted()
    for name in requested.bounds:
        place = space.names.index(name)
        assert len(np.unique(points[:, place])) > 0.8 * len(grid.levels[place])


def test_values_that_the_study_does_not_allow_are_left_out() -> None:
    request = SpaceRequest(bounds={"sync_binlog": ("1", "1000")})
    with pytest.raises(BadSpace, match="other values of sync_binlog are of class D1"):
        build_space(request, situation())
    free = replace(situation(), durability=Durability.D1)
    assert len(dimension(build_space(request, free), "sync_binlog")) > 10


@pytest.mark.parametrize(
    "server", ["mysql 5.7", "mysql 8.0", "mysql 8.4", "percona 8.0", "mariadb 10.11"]
)
@pytest.mark.parametrize("free", [GIB, 20 * GIB])
def test_the_redo_log_fits_beside_the_data(server: str, free: int) -> None:
    allowed = frozenset({CostKind.RECOVERY_TIME})
    here = replace(situation(server), allowed=allowed, device=DeviceFacts(free_bytes=free))
    space = build_space(SpaceRequest(count=MAX_COUNT), here)
    name = next(
        one for one in ("innodb_redo_log_capacity", "innodb_log_file_size") if one in space.names
    )
    for value in dimension(space, name):
        assert (Expected({name: value}, here.target).redo() or 0) <= free
    unlimited = build_space(SpaceRequest(count=MAX_COUNT), replace(here, device=DeviceFacts()))
    assert int(dimension(unlimited, name)[-1]) > 4 * GIB // 2


@pytest.mark.parametrize("server", ["mysql 5.7", "percona 5.7", "mysql 8.0.28"])
@pytest.mark.parametrize(
    "asked",
    [
        SpaceRequest(pinned={"innodb_log_files_in_group": "8"}),
        SpaceRequest(base={"innodb_log_files_in_group": "8"}),
        SpaceRequest(bounds={"innodb_log_files_in_group": ("2", "8")}),
    ],
    ids=["pinned", "of the baseline", "searched"],
)
def test_more_redo_files_are_smaller_ones(server: str, asked: SpaceRequest) -> None:
    here = replace(situation(server), device=DeviceFacts(free_bytes=2 * GIB))
    space = build_space(asked, here)
    for size in dimension(space, "innodb_log_file_size"):
        knobs = {"innodb_log_file_size": size, "innodb_log_files_in_group": "8"}
        assert (Expected(knobs, here.target).redo() or 0) <= 2 * GIB


def test_decimal_numbers_are_searched_as_such() -> None:
    asked = SpaceRequest(bounds={"innodb_max_dirty_pages_pct": ("89.5", "90.3")})
    found = dimension(build_space(asked, situation()), "innodb_max_dirty_pages_pct")
    assert {"89.5", "90", "90.3"} <= set(found)
    assert 8 < len(found) <= MAX_LEVELS


def test_a_pinned_redo_log_that_does_not_fit_is_refused() -> None:
    here = replace(
        situation(),
        allowed=frozenset({CostKind.RECOVERY_TIME}),
        device=DeviceFacts(free_bytes=10 * GIB),
    )
    with pytest.raises(BadSpace, match=r"redo log of 20G does .* leaves 10\.7 GB") as refused:
        build_space(SpaceRequest(pinned={"innodb_redo_log_capacity": "20G"}), here)
    assert refused.value.field == "search.pinned.innodb_redo_log_capacity"


@pytest.mark.parametrize(
    ("server", "name", "bounds", "first"),
    [
        ("mysql 9.7", "innodb_fsync_threshold", ("0", "64M"), ("0", str(MIB))),
        ("mysql 5.7", "query_cache_size", ("0", "64M"), ("0", str(MIB))),
        ("mysql 9.7", "innodb_fsync_threshold", ("0", "2M"), ("0", "1024")),
        ("mysql 9.7", "innodb_flush_log_at_timeout", ("0", "1"), ("0", "1")),
    ],
)
def test_a_range_may_begin_at_nothing(
    server: str, name: str, bounds: tuple[str, str], first: tuple[str, str]
) -> None:
    space = build_space(SpaceRequest(bounds={name: bounds}), situation(server))
    assert dimension(space, name)[:2] == first
    points = Grid(space).features(Grid(space).spread(20, np.random.default_rng(1)))
    assert np.isfinite(points).all()


def test_every_knob_with_bounds_is_searched_however_few_are_usual() -> None:
    names = build_space(SpaceRequest(count=MAX_COUNT), situation()).names
    numbers = [one for one in names if one in BOUNDED]
    assert len(numbers) == len(BOUNDED)
    space = build_space(SpaceRequest(count=len(BOUNDED), bounds=BOUNDED), situation())
    assert set(space.names) == set(BOUNDED)

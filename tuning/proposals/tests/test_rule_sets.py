"""What each set of rules advises on two hosts; no proposal is one that a server would refuse."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from benchmarks.storage.kinds import DeviceKind
from tuning.catalogue.costs import CostKind
from tuning.catalogue.knob import Durability
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.resources import HostResources
from tuning.catalogue.target import RELEASES, ServerTraits, parse_traits
from tuning.configs.expected import Expected, HostFacts, by_itself
from tuning.configs.line import Action
from tuning.configs.price import costs_of, durability_of
from tuning.configs.situation import DeviceFacts, Situation
from tuning.configs.values import same
from tuning.proposals.draft import Draft
from tuning.proposals.rules import (
    Rule,
    evaluate,
    plan_proposal,
    plan_proposals,
    rule_sets,
)
from tuning.search_space.ranges import dimension_of
from tuning.study_templates.loader import load_template, template_names

MIB = 1024**2
GIB = 1024**3
MYSQL = parse_traits("mysql 9.7")
NVME = DeviceFacts(DeviceKind.NVME, write_iops=80_000, read_iops=200_000, commit_us=80)
POOL, REDO = "innodb_buffer_pool_size", "innodb_redo_log_capacity"


def host(
    memory: int, cpus: int, data: int, *, connections: int = 8, target: ServerTraits = MYSQL
) -> Situation:
    facts = HostFacts(
        memory_budget_bytes=memory,
        connections=connections,
        direct_io=True,
        logical_cpus=cpus,
        host_memory_bytes=memory,
        open_files=1_000_000,
    )
    return Situation(target, HostResources(memory, cpus, data), facts)


#: Two hosts with known advice of each set of rules: docs/explanation/proposals.md.
A = host(24 * GIB, 2, GIB)
B = replace(host(64 * GIB, 16, 200 * GIB, connections=64), device=NVME)
EVERYTHING = frozenset(CostKind)


def reasons(situation: Situation) -> dict[str, str]:
    """Return the notes of the advisor's proposal by variable."""
    return {note.name: note.detail for note in plan_proposal("advisor", situation).notes}


def knobs(name: str, situation: Situation) -> dict[str, str]:
    """Values, sizes in GiB with one place."""
    found = plan_proposal(name, situation).knobs
    return {
        name: f"{int(value) / GIB:.1f}G" if value.isdigit() and int(value) >= GIB // 4 else value
        for name, value in found.items()
    }


#: By set of rules: all that it advises on the small host, and some of it on the large one.
ADVISED: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "advisor": ({POOL: "2.0G", REDO: "2.0G"}, {POOL: "48.0G", REDO: "4.0G"}),
    "manual": ({POOL: "12.0G", REDO: "4.0G"}, {POOL: "32.0G", "innodb_io_capacity": "20000"}),
    "mysqltuner": (
        {POOL: "2.0G", REDO: "1.0G", "innodb_buffer_pool_instances": "2"},
        {POOL: "51.0G", "innodb_buffer_pool_instances": "16", REDO: "1.0G"},
    ),
    "percona": (
        {
            POOL: "18.0G",
            "innodb_io_capacity": "200",
            "innodb_io_capacity_max": "2000",
            "innodb_max_dirty_pages_pct_lwm": "0",
            "innodb_purge_threads": "4",
        },
        {POOL: "48.0G", "innodb_read_io_threads": "4", "innodb_purge_threads": "4"},
    ),
    "callaghan": (
        {
            POOL: "17.2G",
            REDO: "4.0G",
            "innodb_max_dirty_pages_pct_lwm": "80",
            "innodb_idle_flush_pct": "1",
            "innodb_purge_threads": "4",
        },
        {POOL: "39.5G", "innodb_purge_threads": "4"},
    ),
    "kravtchuk": (
        {
            POOL: "16.1G",
            REDO: "4.0G",
            "innodb_io_capacity": "20000",
            "innodb_read_io_threads": "16",
            "innodb_purge_threads": "4",
            "innodb_change_buffering": "none",
            "table_open_cache": "8000",
        },
        {POOL: "43.0G", "innodb_buffer_pool_instances": "8"},
    ),
    "cloud": (
        {POOL: "18.0G", REDO: "2.0G", "max_connections": "2048"},
        {POOL: "48.0G", "max_connections": "5461"},
    ),
}


@pytest.mark.parametrize("name", ADVISED)
def test_each_rule_set_on_a_small_and_on_a_large_host(name: str) -> None:
    small, large = ADVISED[name]
    assert knobs(name, A) == small
    assert large.items() <= knobs(name, B).items()


def test_costs_are_only_proposed_where_they_are_allowed() -> None:
    held = {note.name for note in plan_proposal("advisor", A).notes if note.action is Action.HELD}
    assert held == {"performance_schema", "binlog_row_image"}
    allowed = replace(A, allowed=frozenset({CostKind.OBSERVABILITY, CostKind.RECOVERY_TIME}))
    assert knobs("advisor", allowed)["performance_schema"] == "OFF"
    assert "binlog_row_image" not in knobs("advisor", allowed)
    assert knobs("callaghan", allowed)[REDO] == "21.5G"
    delays = replace(A, allowed=frozenset({CostKind.STATEMENT_DELAY}))
    assert {"innodb_max_purge_lag", "innodb_max_purge_lag_delay"} <= knobs(
        "callaghan", delays
    ).keys()
    assert "innodb_max_purge_lag_delay" not in knobs("callaghan", A)


def test_the_redo_log_is_what_an_hour_writes_where_that_was_measured() -> None:
    measured = replace(A, redo_bytes_per_hour=2.6 * GIB)
    assert knobs("advisor", measured)[REDO] == "2.5G"
    assert knobs("percona", measured)[REDO] == "2.5G"
    assert "measured here: 2.8 GB" in reasons(measured)[REDO]
    busy = replace(A, redo_bytes_per_hour=60 * GIB)
    assert knobs("advisor", busy)[REDO] == "4.0G"
    assert knobs("advisor", replace(busy, allowed=EVERYTHING))[REDO] == "60.0G"


def test_a_redo_log_larger_than_a_small_pool_is_not_said_to_be_as_large() -> None:
    small = host(GIB // 2, 2, GIB)
    assert knobs("advisor", small)[REDO] == "1.0G"
    assert reasons(small)[REDO].startswith("the least that the rule gives, so that checkpoints")
    assert reasons(A)[REDO].startswith("as large as the buffer pool")


def test_the_redo_log_takes_what_the_device_leaves_to_the_last_steps() -> None:
    full = replace(A, device=DeviceFacts(free_bytes=3 * GIB))
    assert int(plan_proposal("advisor", full).knobs[REDO]) <= 3 * GIB // 4
    assert "limited to 805.3 MB by the free space" in reasons(full)[REDO]
    fuller = replace(A, device=DeviceFacts(free_bytes=800 * MIB))
    assert plan_proposal("advisor", fuller).knobs[REDO] == str(200 * MIB)


@pytest.mark.parametrize("server", ["mysql 5.7", "mysql 8.0", "mysql 9.7", "mariadb 10.11"])
@pytest.mark.parametrize("free", [8, 100, 380, 800, 1500, 4000])
def test_little_free_space_never_makes_the_redo_log_smaller_than_the_default(
    server: str, free: int
) -> None:
    here = host(24 * GIB, 2, GIB, target=parse_traits(server))
    full = replace(here, device=DeviceFacts(free_bytes=free * MIB))
    default = Expected({}, full.target).redo() or 0
    found = plan_proposal("advisor", full).knobs
    if {"innodb_redo_log_capacity", "innodb_log_file_size"} & found.keys():
        redo = Expected(found, full.target).redo() or 0
        # As much as the limit leaves, in steps of 2 MiB for each of two files at most.
        assert max(default, free * MIB // 4 * 0.9) <= redo <= free * MIB // 4
    else:
        assert free * MIB // 4 < default + 4 * MIB


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        (DeviceFacts(), {}),
        (
            DeviceFacts(DeviceKind.HDD),
            {"innodb_io_capacity": "200", "innodb_flush_neighbors": "1"},
        ),
        (DeviceFacts(DeviceKind.NVME), {}),
        (DeviceFacts(DeviceKind.NVME, write_iops=40_000), {"innodb_io_capacity": "5000"}),
        (DeviceFacts(write_iops=150), {"innodb_io_capacity": "100"}),
    ],
)
def test_flushing_answers_to_the_device(device: DeviceFacts, expected: dict[str, str]) -> None:
    found = knobs("advisor", replace(A, device=device))
    flushing = {"innodb_io_capacity", "innodb_flush_neighbors"} & found.keys()
    assert {name: found[name] for name in flushing} == expected


def test_older_servers_get_what_newer_ones_have_by_itself() -> None:
    old = replace(A, target=parse_traits("mysql 8.0.28"), device=NVME)
    found = knobs("advisor", old)
    assert found["innodb_flush_method"] == "O_DIRECT"
    assert found["innodb_log_writer_threads"] == "OFF"
    assert found["innodb_doublewrite_pages"] == "128"
    assert found["innodb_adaptive_hash_index"] == "OFF"
    assert found["innodb_log_file_size"] == "1.0G"
    large = replace(B, target=parse_traits("mysql 8.0.28"))
    assert knobs("advisor", large)["innodb_page_cleaners"] == "8"
    assert knobs("advisor", large)["innodb_read_io_threads"] == "8"
    assert "innodb_flush_method" not in knobs("advisor", large)  # the pool does not hold the data
    buffered = replace(old, host=replace(old.host, direct_io=False))
    assert "innodb_flush_method" not in knobs("advisor", buffered)


@pytest.mark.parametrize(
    ("cpus", "binary_log", "expected"),
    [(2, True, "OFF"), (16, True, "OFF"), (32, True, None), (4, False, "OFF"), (8, False, None)],
)
def test_log_writer_threads_are_off_where_the_cited_source_has_them_off(
    cpus: int, binary_log: bool, expected: str | None
) -> None:
    here = host(24 * GIB, cpus, GIB, target=parse_traits("mysql 8.4"))
    here = replace(here, host=replace(here.host, binary_log=binary_log))
    assert knobs("advisor", here).get("innodb_log_writer_threads") == expected


@pytest.mark.parametrize("situation", [A, B], ids=["small", "large"])
def test_the_pool_of_the_advisor_is_one_that_a_search_may_try(situation: Situation) -> None:
    pool = int(plan_proposal("advisor", situation).knobs[POOL])
    space = dimension_of(load_catalogue().knobs[POOL], situation)
    assert space is not None
    assert space.low <= pool <= space.high


@pytest.mark.parametrize(
    "text", ["import os", "a.b", "f(1)", "[1]", "x ** 2", "1 < 2 < 3", "'a' or 1"]
)
def test_an_expression_is_only_arithmetic_on_facts(text: str) -> None:
    with pytest.raises((SyntaxError, ValueError, KeyError)):
        evaluate(text, {"a": 1, "x": 2}.get)


def test_a_rule_that_needs_an_unknown_fact_says_nothing() -> None:
    rule = Rule(
        because="as the device", source="a test", set="innodb_io_capacity", to="writes / 2"
    )
    draft = Draft(A)
    rule.apply(draft)
    assert draft.knobs == {}
    known = Draft(replace(A, device=DeviceFacts(write_iops=8000)))
    rule.apply(known)
    assert known.knobs == {"innodb_io_capacity": "4000"}


def test_a_wait_for_more_commits_needs_a_slow_device_many_connections_and_leave() -> None:
    slow = replace(
        host(24 * GIB, 2, GIB, connections=64),
        device=DeviceFacts(DeviceKind.HDD, commit_us=12_000),
        allowed=EVERYTHING,
    )
    name = "binlog_group_commit_sync_delay"
    assert knobs("advisor", slow)[name] == "1200"
    assert name not in knobs("advisor", replace(slow, allowed=frozenset()))
    few = replace(slow, host=replace(slow.host, connections=8))
    assert name not in knobs("advisor", few)


SITUATIONS = [
    replace(base, target=target, allowed=allowed, device=device)
    for base, target, allowed, device in product(
        [
            host(400_000_000, 1, GIB // 10),
            host(GIB, 1, 2 * GIB),
            A,
            host(24 * GIB, 2, GIB, connections=1000),
            B,
            host(2048 * GIB, 256, 10_000 * GIB, connections=2000),
        ],
        RELEASES,
        [frozenset[CostKind](), EVERYTHING],
        [DeviceFacts(DeviceKind.HDD, 150, 200, 9000, 5 * GIB), NVME],
    )
]


@pytest.mark.long
@pytest.mark.parametrize("name", rule_sets())
def test_every_proposal_passes_the_gate_on_every_server_and_host(name: str) -> None:
    for situation in SITUATIONS:
        planned, target = plan_proposal(name, situation), situation.target
        where = f"{target}, {situation.resources}, {sorted(situation.allowed)}"
        assert planned.left_out == "", where
        assert all(stage.passed for stage in planned.checks), where
        assert durability_of(planned.knobs, target) is Durability.D0, where
        costs = {one.kind for one in costs_of(planned.knobs, target, situation.host)}
        assert costs <= situation.allowed, where
        proposed = {note.name for note in planned.notes if note.action is Action.PROPOSED}
        added = planned.knobs.keys() - proposed
        assert added <= {"max_connections", "max_prepared_stmt_count"}, where
        for line in proposed:
            others = {key: value for key, value in planned.knobs.items() if key != line}
            had = by_itself(line, Expected(others, target, situation.host))
            assert had is None or not same(had, planned.knobs[line]), f"{line}: {where}"


def test_every_template_names_proposals_that_there_are() -> None:
    named = {name for one in template_names() for name in load_template(one).proposals}
    assert set(plan_proposals(named, A)) == named
    assert named == set(rule_sets())


def test_what_the_gate_refuses_is_left_out_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Draft, "largest_pool", lambda _: float("inf"))
    tight = replace(A, host=replace(A.host, memory_budget_bytes=4 * GIB))
    planned = plan_proposal("cloud", tight)
    assert "of memory available here" in planned.left_out
    assert planned.knobs == {}

"""Rules across knobs know the version's defaults, the host and the workload, or are silent."""

from __future__ import annotations

import pytest

from benchmarks.servers.binary import Flavour
from tuning.catalogue.resources import HostResources
from tuning.catalogue.target import ServerTraits
from tuning.configs.candidates import PlannedCandidate, plan_file, plan_preset
from tuning.configs.expected import Expected, HostFacts
from tuning.configs.line import Action, Fate
from tuning.configs.rules import broken_rules, remarks
from tuning.configs.situation import Situation
from tuning.configs.values import whole_number
from tuning.configs.variables import INSTANCES

MYSQL57 = ServerTraits(Flavour.MYSQL, (5, 7, 42))
MYSQL80 = ServerTraits(Flavour.MYSQL, (8, 0, 46))
MYSQL97 = ServerTraits(Flavour.MYSQL, (9, 7, 4))
MARIADB106 = ServerTraits(Flavour.MARIADB, (10, 6, 23))
MARIADB = ServerTraits(Flavour.MARIADB, (10, 11, 19))
MIB = 1024**2
GIB = 1024**3


def expected(text: str, target: ServerTraits, host: HostFacts | None) -> Expected:
    pairs = dict(pair.split("=") for pair in text.split())
    knobs = {
        name: f"{whole_number(value)}" if value[0].isdigit() else value
        for name, value in pairs.items()
    }
    return Expected(knobs, target, host or HostFacts())


def broken(
    text: str, target: ServerTraits = MYSQL97, host: HostFacts | None = None
) -> dict[str, str]:
    return dict(broken_rules(expected(text, target, host)))


def said(
    text: str, target: ServerTraits = MYSQL97, host: HostFacts | None = None
) -> dict[str, str]:
    return {note.name: note.detail for note in remarks(expected(text, target, host))}


@pytest.mark.parametrize(
    ("text", "target", "name"),
    [
        ("innodb_io_capacity=300 innodb_io_capacity_max=200", MYSQL80, "innodb_io_capacity_max"),
        # 10000 is the default of innodb_io_capacity since 8.4
        ("innodb_io_capacity_max=4000", MYSQL97, "innodb_io_capacity_max"),
        ("innodb_io_capacity_max=4000", MYSQL80, None),
        ("innodb_io_capacity_max=150", MARIADB, "innodb_io_capacity_max"),
        ("innodb_io_capacity=50000", MYSQL80, None),
        # 75 in 5.7, 90 since
        ("innodb_max_dirty_pages_pct_lwm=80", MYSQL57, "innodb_max_dirty_pages_pct_lwm"),
        ("innodb_max_dirty_pages_pct_lwm=80", MYSQL80, None),
        ("innodb_max_dirty_pages_pct=5", MYSQL80, "innodb_max_dirty_pages_pct"),
        ("innodb_max_dirty_pages_pct=5", MYSQL57, None),
        ("innodb_page_cleaners=4 innodb_buffer_pool_instances=2", MYSQL80, "innodb_page_cleaners"),
        ("innodb_page_cleaners=4 innodb_buffer_pool_instances=4", MYSQL80, None),
        ("innodb_redo_log_capacity=1G innodb_log_file_size=1G", MYSQL80, "innodb_log_file_size"),
        ("binlog_format=STATEMENT transaction_isolation=READ-COMMITTED", MYSQL80, "binlog_format"),
        ("binlog_format=MIXED transaction_isolation=READ-COMMITTED", MYSQL80, None),
        ("gtid_mode=ON", MYSQL80, "gtid_mode"),
        ("gtid_mode=ON", MYSQL97, None),
    ],
)
def test_rules_that_need_no_host(text: str, target: ServerTraits, name: str | None) -> None:
    assert list(broken(text, target)) == ([name] if name else [])


def test_a_default_that_the_file_system_lacks_is_reported() -> None:
    here = HostFacts(direct_io=False)
    assert "the page cache instead" in said("", MARIADB, here)["innodb_flush_method"]
    assert said("", MYSQL97, here) == {}  # which finds out and takes fsync
    assert said("innodb_flush_method=fsync", MARIADB, here) == {}
    assert said("", MARIADB, HostFacts(direct_io=True)) == {}


def test_statement_logging_matters_only_where_there_is_a_binary_log() -> None:
    text = "binlog_format=STATEMENT transaction_isolation=READ-COMMITTED"
    assert broken(text, MYSQL80, HostFacts(binary_log=True))
    assert not broken(text, MYSQL80, HostFacts(binary_log=False))


def test_memory_counts_pool_buffers_and_the_workloads_connections() -> None:
    host = HostFacts(memory_budget_bytes=4 * GIB, connections=100)
    assert not broken("innodb_buffer_pool_size=2560M", MYSQL97, host)
    # 90 % of 4 GiB would hold 3 GiB of pool, but neither its control structures (150 MiB) nor
    # performance_schema (230 MiB).
    assert broken("innodb_buffer_pool_size=3G", MYSQL97, host)
    pool = "innodb_buffer_pool_size=2560M sort_buffer_size=16M"
    found = broken(pool, MYSQL97, host)["innodb_buffer_pool_size"]
    assert "buffer pool 2.7 GB with control structures of 134.2 MB" in found
    assert "100 connections of" in found
    assert "more than 90 % of the 4.3 GB" in found
    assert list(broken("sort_buffer_size=64M", MYSQL97, host)) == ["sort_buffer_size"]
    assert not broken("sort_buffer_size=64M", MYSQL97, HostFacts(connections=100))
    assert broken("innodb_log_buffer_size=4095M", MYSQL97, host)


def test_a_server_that_does_not_fit_by_itself_is_no_fault_of_a_config() -> None:
    host = HostFacts(memory_budget_bytes=300 * MIB, connections=8)
    assert not broken("innodb_buffer_pool_size=64M", MYSQL97, host)
    assert broken("innodb_buffer_pool_size=256M", MYSQL97, host)


def test_memory_counts_what_the_server_makes_of_the_pool() -> None:
    # 1025 MiB in 8 parts of 128 MiB chunks is 2 GiB.
    host = HostFacts(memory_budget_bytes=2 * GIB)
    assert broken(f"innodb_buffer_pool_size=1025M {INSTANCES}=8", MYSQL80, host)
    assert not broken(f"innodb_buffer_pool_size=1024M {INSTANCES}=8", MYSQL80, host)


def test_a_dedicated_server_sees_the_host_not_our_budget() -> None:
    text = "innodb_dedicated_server=ON"
    host = HostFacts(memory_budget_bytes=4 * GIB, host_memory_bytes=64 * GIB)
    assert "51.5 GB" in broken(text, MYSQL97, host)["innodb_buffer_pool_size"]
    assert not broken(
        text, MYSQL97, HostFacts(memory_budget_bytes=64 * GIB, host_memory_bytes=64 * GIB)
    )
    assert not broken(text, MYSQL97, HostFacts(memory_budget_bytes=4 * GIB))


def test_max_connections_alone_is_no_alarm() -> None:
    """A worst case that does not happen is a remark, not a refusal."""
    host = HostFacts(memory_budget_bytes=4 * GIB, connections=16)
    text = "max_connections=10000"
    assert not broken(text, MYSQL97, host)
    assert "the workload opens fewer" in said(text, MYSQL97, host)["max_connections"]
    assert "max_connections" not in said("max_connections=500", MYSQL97, host)


def test_direct_io_needs_a_file_system_that_has_it() -> None:
    for direct_io, refused in ((False, True), (True, False), (None, False)):
        here = HostFacts(direct_io=direct_io)
        assert bool(broken("innodb_flush_method=O_DIRECT", MYSQL97, here)) == refused
        assert not broken("innodb_flush_method=fsync", MYSQL97, here)


def plan(text: str, host: HostFacts) -> PlannedCandidate:
    data = f"[mysqld]\n{text}\n".encode()
    return plan_file("mine", data, MYSQL97, host=host)


def test_room_for_the_workload_is_made_where_it_was_not_set() -> None:
    few, many = HostFacts(connections=64), HostFacts(connections=500)
    assert plan("back_log=99", few).knobs == {"back_log": "99"}
    raised = plan("innodb_io_capacity=300", many)
    assert raised.knobs["max_connections"] == "520"
    assert raised.knobs["max_prepared_stmt_count"] == "21000"
    assert [(n.name, n.action) for n in raised.notes] == [
        ("max_connections", Action.ADJUSTED),
        ("max_prepared_stmt_count", Action.ADJUSTED),
    ]
    assert "151 by default is too low" in raised.notes[0].detail
    own = plan("max_connections=600\nmax_prepared_stmt_count=30000", many)
    assert own.knobs == {"max_connections": "600", "max_prepared_stmt_count": "30000"}


@pytest.mark.parametrize("line", ["max_connections=200", "max_prepared_stmt_count=16382"])
def test_a_file_that_leaves_no_room_is_raised_in_its_line(line: str) -> None:
    planned = plan(line, HostFacts(connections=500))
    assert planned.lines[0].fate is Fate.TRANSLATED
    assert "too low" in planned.lines[0].reason


def test_a_preset_has_to_run_so_it_is_raised_or_held() -> None:
    here = HostFacts(connections=5000, direct_io=False, memory_budget_bytes=64 * GIB)
    situation = Situation(MYSQL97, HostResources(16 * GIB, 4, GIB), here)
    default = plan_preset("server-default", situation)
    assert default.knobs == {"max_connections": "5020", "max_prepared_stmt_count": "201000"}
    paper = plan_preset("whitepaper-2", situation)
    assert paper.knobs["max_connections"] == "5020"  # 4000 in the paper
    assert "innodb_flush_method" not in paper.knobs
    notes = {n.name: n for n in paper.notes}
    assert notes["innodb_flush_method"].action is Action.HELD
    assert "4000 is too low" in notes["max_connections"].detail


#: What is set, on which server, the variable that is remarked on, and words of the remark.
REMARKS = """
INSTANCES=8 POOL=1025M | 8.0 | POOL | requested 1025M, effective 2G
INSTANCES=8 POOL=512M | 8.0 | INSTANCES | requested 8, effective 1: one below 1 GiB
innodb_page_cleaners=4 | 9.7 | innodb_page_cleaners | requested 4, effective 1
innodb_dedicated_server=ON POOL=1G | 9.7 | POOL | innodb_dedicated_server does not choose it
thread_pool_size=4 | mariadb | thread_pool_size | no effect without
query_cache_size=1M | mariadb | query_cache_size | query_cache_type is OFF
table_open_cache=40000 | 9.7 | table_open_cache | effective 9919
sync_binlog=1 | 9.7 | sync_binlog | without the binary log
"""


@pytest.mark.parametrize("row", REMARKS.strip().splitlines())
def test_what_the_server_makes_of_it_is_said_and_no_reason_to_refuse(row: str) -> None:
    row = row.replace("POOL", "innodb_buffer_pool_size")
    text, server, name, words = row.replace("INSTANCES", INSTANCES).split(" | ")
    target = {"8.0": MYSQL80, "9.7": MYSQL97, "mariadb": MARIADB}[server]
    here = HostFacts(
        memory_budget_bytes=64 * GIB, connections=64, open_files=20_000, binary_log=False
    )
    assert words in said(text, target, here)[name]
    assert broken(text, target, here) == {}


def test_a_config_without_surprises_gets_no_remark() -> None:
    here = HostFacts(
        memory_budget_bytes=16 * GIB,
        connections=64,
        direct_io=True,
        logical_cpus=8,
        host_memory_bytes=16 * GIB,
        open_files=65_536,
        binary_log=True,
    )
    text = "innodb_buffer_pool_size=4G innodb_io_capacity=2000 sync_binlog=1"
    for target in (MYSQL57, MYSQL80, MYSQL97, MARIADB106, MARIADB):
        assert said(text, target, here) == {}
        assert broken(text, target, here) == {}


def test_redo_is_known_under_every_name() -> None:
    assert Expected({}, MYSQL97).redo() == 100 * MIB
    assert Expected({}, MYSQL57).redo() == 96 * MIB
    assert Expected({}, MARIADB).redo() == 96 * MIB
    assert Expected({"innodb_log_file_size": f"{GIB}"}, MYSQL80).redo() == 2 * GIB
    assert Expected({"innodb_log_file_size": f"{GIB}"}, MARIADB).redo() == GIB
    dedicated = {"innodb_dedicated_server": "ON"}
    assert Expected(dedicated, MYSQL97, HostFacts(logical_cpus=16)).redo() == 8 * GIB
    assert Expected(dedicated, MYSQL97).redo() is None


def test_gtids_that_are_on_by_default_need_their_consistency() -> None:
    found = broken("enforce_gtid_consistency=OFF")
    assert list(found) == ["enforce_gtid_consistency"]
    assert "gtid_mode = ON, the default of MySQL 9.7.4" in found["enforce_gtid_consistency"]
    assert broken("enforce_gtid_consistency=OFF gtid_mode=OFF") == {}
    assert broken("enforce_gtid_consistency=OFF", MYSQL80) == {}
    assert list(broken("enforce_gtid_consistency=WARN gtid_mode=ON")) == ["gtid_mode"]
    assert broken("back_log=5", MARIADB) == {}

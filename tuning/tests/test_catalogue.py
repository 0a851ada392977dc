"""The catalogue meets its schema, is consistent in itself and holds the facts that bite."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmarks.servers.binary import Flavour
from tuning.catalogue.knob import Computed, Durability, Dynamic, Kind, Knob, SetBy
from tuning.catalogue.loader import DATA_FILE, SCHEMA_FILE, load_catalogue
from tuning.catalogue.resources import HostResources
from tuning.catalogue.target import ServerTraits, parse_version
from tuning.catalogue.timeline import Timeline, reached
from tuning.datafiles import read_data_file
from tuning.errors import InvalidDataFile

TARGETS = {
    text: ServerTraits(Flavour(text.split()[0]), parse_version(text.split()[1]))
    for text in (
        "mysql 5.7.42",
        "mysql 8.0.19",
        "mysql 8.0.46",
        "mysql 8.4.13",
        "mysql 9.7.4",
        "percona 5.7.44",
        "percona 8.0.36",
        "percona 8.4.5",
        "mariadb 10.6.7",
        "mariadb 10.11.7",
        "mariadb 10.11.19",
        "mariadb 11.8.9",
    )
}


def knob(name: str) -> Knob:
    return load_catalogue().knobs[name]


def test_the_data_file_meets_its_schema() -> None:
    assert len(read_data_file(DATA_FILE, SCHEMA_FILE)["knobs"]) == 135


@pytest.mark.parametrize(
    ("break_it", "place"),
    [
        (lambda c: c["knobs"]["sync_binlog"].pop("does"), "knobs/sync_binlog"),
        (lambda c: c["knobs"]["sync_binlog"].update(typ="int"), "sync_binlog: Additional"),
        (lambda c: c["knobs"]["sync_binlog"]["mysql"].update(dynamic={"5.7": "yes"}), "dynamic"),
        (lambda c: c["knobs"]["sync_binlog"]["mysql"].update(default={"v5": 1}), "default"),
        (lambda c: c["knobs"]["sync_binlog"]["durability"].append({"class": "D3"}), "durability"),
        (lambda c: c["knobs"]["back_log"]["worth_testing"][0].pop("source"), "'source' is"),
        (lambda c: c["knobs"]["back_log"]["worth_testing"][0].pop("to"), "'to' is"),
    ],
)
def test_the_schema_refuses_what_breaks_it(break_it: Any, place: str, tmp_path: Path) -> None:
    content = copy.deepcopy(yaml.safe_load(DATA_FILE.read_text()))
    break_it(content)
    broken = tmp_path / "knobs.yaml"
    broken.write_text(yaml.safe_dump(content))
    with pytest.raises(InvalidDataFile, match=rf"knobs\.yaml: .*{place}"):
        read_data_file(broken, SCHEMA_FILE)


@pytest.mark.parametrize("entry", load_catalogue().knobs.values(), ids=lambda knob: knob.name)
def test_every_entry_is_consistent(entry: Knob) -> None:
    successors = {f.successor for f in entry.flavours.values() if f.successor}
    assert successors <= load_catalogue().knobs.keys()
    if entry.kind is Kind.PATH:
        assert entry.set_by is SetBy.ADVISOR
    for text, target in TARGETS.items():
        if not entry.exists_in(target):
            continue
        default, limits, values = entry.default(target), entry.limits(target), entry.values(target)
        if entry.kind is Kind.ENUM:
            assert values, text
        if isinstance(default, str) and values:
            assert default in values, text
        if isinstance(default, str) and limits:
            assert limits.low <= float(default) <= limits.high, text
        if limits:
            assert limits.low < limits.high, text
        if entry.kind is Kind.BOOL and not isinstance(default, Computed):
            assert default in {"ON", "OFF"}, text
    if entry.kind is Kind.ENUM:
        spellings = {value for target in TARGETS.values() for value in entry.values(target)}
        assert all(rule.values | rule.not_values <= spellings for rule in entry.durability)


def test_every_default_is_d0_except_where_the_server_itself_gives_less() -> None:
    below = {
        (text.split()[0], entry.name)
        for text, target in TARGETS.items()
        for entry in load_catalogue().knobs.values()
        if entry.exists_in(target) and isinstance(default := entry.default(target), str)
        for rule in entry.durability
        if rule.matches(default, {})
    }
    # MariaDB ships with the binary log off, where this default costs nothing.
    assert below == {("mariadb", "sync_binlog")}


@pytest.mark.parametrize(
    ("name", "has_it", "lacks_it"),
    [
        ("innodb_log_file_size", ["mysql 8.4.13", "mariadb 11.8.9"], ["mysql 9.7.4"]),
        ("innodb_log_files_in_group", ["mysql 8.4.13"], ["mysql 9.7.4", "mariadb 10.6.7"]),
        ("innodb_undo_tablespaces", ["mysql 8.4.13", "mariadb 10.11.7"], ["mysql 9.7.4"]),
        ("innodb_redo_log_capacity", ["mysql 8.0.46"], ["mysql 8.0.19", "mariadb 11.8.9"]),
        ("innodb_doublewrite_files", ["percona 8.0.36"], ["mysql 8.0.19", "mysql 5.7.42"]),
        ("query_cache_size", ["mysql 5.7.42", "mariadb 11.8.9"], ["mysql 8.0.19"]),
        ("innodb_change_buffer_max_size", ["mariadb 10.11.19"], ["mariadb 11.8.9"]),
        ("innodb_buffer_pool_instances", ["percona 8.4.5"], ["mariadb 10.6.7"]),
        ("innodb_buffer_pool_size_max", ["mariadb 10.11.19"], ["mariadb 10.11.7"]),
        ("innodb_log_write_ahead_size", ["mariadb 11.8.9"], ["mariadb 10.11.7"]),
        ("innodb_data_file_buffering", ["mariadb 11.8.9"], ["mariadb 10.11.19"]),
        ("innodb_snapshot_isolation", ["mariadb 10.11.19"], ["mariadb 10.11.7"]),
        ("log_timestamps", ["mysql 9.7.4"], ["mariadb 10.11.19"]),
        ("innodb_empty_free_list_algorithm", ["percona 8.4.5"], ["mysql 8.4.13"]),
        ("innodb_track_changed_pages", ["percona 5.7.44"], ["percona 8.0.36", "percona 8.4.5"]),
        ("thread_pool_size", ["percona 8.0.36", "mariadb 10.6.7"], ["mysql 9.7.4"]),
        ("binlog_commit_wait_usec", ["mariadb 10.6.7"], ["mysql 8.0.46"]),
    ],
)
def test_which_server_has_a_variable(name: str, has_it: list[str], lacks_it: list[str]) -> None:
    assert [t for t in (*has_it, *lacks_it) if knob(name).exists_in(TARGETS[t])] == has_it


@pytest.mark.parametrize(
    ("name", "server", "default"),
    [
        ("innodb_io_capacity", "mysql 8.0.46", "200"),
        ("innodb_io_capacity", "mysql 8.4.13", "10000"),
        ("innodb_io_capacity", "mariadb 11.8.9", "200"),
        ("innodb_change_buffering", "mysql 8.4.13", "none"),
        ("innodb_change_buffering", "mysql 9.7.4", "all"),
        ("innodb_change_buffer_max_size", "mysql 9.7.4", "5"),
        ("innodb_adaptive_hash_index", "mysql 8.0.46", "ON"),
        ("innodb_adaptive_hash_index", "mysql 8.4.13", "OFF"),
        ("innodb_log_buffer_size", "mysql 8.4.13", "67108864"),
        ("innodb_redo_log_capacity", "mysql 9.7.4", "104857600"),
        ("innodb_flush_method", "mariadb 10.11.19", "O_DIRECT"),
        ("innodb_flush_method", "mysql 5.7.42", "fsync"),
        ("innodb_checksum_algorithm", "mariadb 10.11.19", "full_crc32"),
        ("innodb_purge_batch_size", "mariadb 10.11.7", "1000"),
        ("innodb_purge_batch_size", "mariadb 10.11.19", "127"),
        ("innodb_empty_free_list_algorithm", "percona 5.7.44", "backoff"),
        ("innodb_empty_free_list_algorithm", "percona 8.0.36", "legacy"),
        ("back_log", "mysql 9.7.4", "10000"),
        ("gtid_mode", "mysql 8.4.13", "OFF"),
        ("gtid_mode", "mysql 9.7.4", "ON"),
        ("sync_binlog", "mariadb 11.8.9", "0"),
        ("explicit_defaults_for_timestamp", "mariadb 10.6.7", "OFF"),
        ("innodb_max_dirty_pages_pct", "mysql 5.7.42", "75"),
    ],
)
def test_defaults_that_differ_between_servers(name: str, server: str, default: str) -> None:
    assert knob(name).default(TARGETS[server]) == default


def test_what_the_server_works_out_is_said_in_words() -> None:
    assert isinstance(knob("innodb_flush_method").default(TARGETS["mysql 8.4.13"]), Computed)
    assert isinstance(knob("innodb_io_capacity_max").default(TARGETS["mysql 8.4.13"]), Computed)


def test_mariadb_alone_takes_3_for_flush_log_at_trx_commit() -> None:
    commit = knob("innodb_flush_log_at_trx_commit")
    highs = {text: limits.high for text, t in TARGETS.items() if (limits := commit.limits(t))}
    assert {text for text, high in highs.items() if high == 3} == {
        text for text in TARGETS if text.startswith("mariadb")
    }
    assert set(highs.values()) == {2, 3}


@pytest.mark.parametrize(
    ("name", "value", "durability"),
    [
        ("innodb_flush_log_at_trx_commit", "2", Durability.D1),
        ("innodb_flush_log_at_trx_commit", "0", Durability.D1),
        ("sync_binlog", "0", Durability.D1),
        ("sync_binlog", "1000", Durability.D1),
        ("innodb_doublewrite", "OFF", Durability.D2),
        ("innodb_doublewrite", "DETECT_ONLY", Durability.D2),
        ("innodb_checksum_algorithm", "none", Durability.D2),
        ("innodb_log_checksums", "OFF", Durability.D2),
        ("innodb_flush_method", "O_DIRECT_NO_FSYNC", Durability.D2),
        ("innodb_flush_method", "nosync", Durability.D2),
        ("innodb_flush_method", "littlesync", Durability.D2),
        ("innodb_checksum_algorithm", "strict_none", Durability.D2),
        ("innodb_doublewrite", "fast", Durability.D2),
        ("innodb_checksums", "OFF", Durability.D2),
        ("innodb_corrupt_table_action", "warn", Durability.D2),
        ("innodb_corrupt_table_action", "salvage", Durability.D2),
        ("innodb_use_global_flush_log_at_trx_commit", "OFF", Durability.D1),
    ],
)
def test_unsafe_values_have_their_class(name: str, value: str, durability: Durability) -> None:
    [rule] = [rule for rule in knob(name).durability if rule.matches(value, {})]
    assert rule.durability is durability


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("innodb_flush_log_at_trx_commit", "1"),
        ("innodb_flush_log_at_trx_commit", "3"),
        ("sync_binlog", "1"),
        ("innodb_doublewrite", "DETECT_AND_RECOVER"),
        ("innodb_flush_method", "O_DIRECT"),
        ("innodb_flush_log_at_timeout", "30"),
    ],
)
def test_safe_values_have_none(name: str, value: str) -> None:
    assert not [rule for rule in knob(name).durability if rule.matches(value, {})]


def test_the_flush_timeout_counts_only_where_commits_do_not_flush() -> None:
    [rule] = knob("innodb_flush_log_at_timeout").durability
    assert rule.matches("30", {"innodb_flush_log_at_trx_commit": "2"})
    assert not rule.matches("30", {"innodb_flush_log_at_trx_commit": "1"})


def test_restart_or_dynamic() -> None:
    log_size = knob("innodb_log_file_size")
    assert log_size.dynamic(TARGETS["mariadb 10.6.7"]) is Dynamic.RESTART
    assert log_size.dynamic(TARGETS["mariadb 10.11.7"]) is Dynamic.GLOBAL
    assert knob("sort_buffer_size").dynamic(TARGETS["mysql 8.0.46"]) is Dynamic.SESSION


def test_files_and_binary_logging_are_no_knobs() -> None:
    assert {k.name for k in load_catalogue().knobs.values() if k.set_by} == {
        "innodb_doublewrite_dir",
        "innodb_log_group_home_dir",
        "innodb_undo_directory",
        "innodb_temp_data_file_path",
        "innodb_parallel_doublewrite_path",
        "log_bin",
        "skip_log_bin",
    }


def test_a_variable_may_be_shown_under_another_name() -> None:
    isolation = knob("transaction_isolation")
    assert isolation.variable(TARGETS["mariadb 10.11.19"]) == "tx_isolation"
    assert isolation.variable(TARGETS["mariadb 11.8.9"]) == "transaction_isolation"


@pytest.mark.parametrize(
    ("version", "has_it"),
    [
        ("10.6.21", False),
        ("10.11.11", False),
        ("10.11.12", True),
        ("11.2.9", False),
        ("11.4.5", False),
        ("11.4.6", True),
        ("11.8.1", False),
        ("11.8.2", True),
        ("12.1.0", True),
    ],
)
def test_a_change_in_several_branches_counts_per_branch(version: str, has_it: bool) -> None:
    releases = tuple(parse_version(text) for text in ("10.11.12", "11.4.6", "11.8.2"))
    assert reached(parse_version(version), releases) is has_it


def test_a_timeline_gives_the_newest_value_up_to_a_version() -> None:
    timeline = Timeline([((8, 4, 0), "b"), ((5, 7, 0), "a")])
    assert [timeline.at(v) for v in ((5, 6, 0), (8, 3, 9), (8, 4, 0), (9, 7, 4))] == list("aabb")
    assert Timeline[str]().at((8, 0, 0)) is None


def test_a_slip_is_recognised() -> None:
    catalogue = load_catalogue()
    target = TARGETS["mysql 9.7.4"]
    assert catalogue.closest("innodb_bufer_pool_size", target) == "innodb_buffer_pool_size"
    assert catalogue.closest("SYNC_BINLOG", target) == "sync_binlog"
    assert catalogue.closest("wait_timeout", target) is None


@pytest.mark.parametrize("entry", load_catalogue().knobs.values(), ids=lambda knob: knob.name)
def test_every_group_of_facts_has_its_source(entry: Knob) -> None:
    for flavour, facts in entry.flavours.items():
        lifecycle = (facts.added, facts.deprecated, facts.ignored, facts.removed, facts.successor)
        stated = {
            "lifecycle": any(lifecycle) or facts.tolerated,
            "default": bool(facts.default),
            "range": bool(facts.limits),
            "values": bool(facts.values),
            "dynamic": bool(facts.dynamic),
        }
        assert {group for group, there in stated.items() if there} == facts.evidence.keys(), (
            flavour
        )
        assert bool(facts.default) == bool(facts.dynamic), flavour
    assert bool(entry.durability) == bool(entry.durability_evidence)


def test_what_was_seen_on_mysql_was_not_seen_on_percona_server() -> None:
    facts = knob("innodb_io_capacity").flavours
    assert facts[Flavour.MYSQL].evidence["default"] == "B"
    assert facts[Flavour.PERCONA].evidence["default"] == "S"


@pytest.mark.parametrize("entry", load_catalogue().knobs.values(), ids=lambda knob: knob.name)
def test_what_is_worth_testing_is_within_what_servers_take(entry: Knob) -> None:
    spellings = {word for target in TARGETS.values() for word in entry.values(target)}
    for part in entry.worth_testing:
        if part.values and entry.kind in (Kind.ENUM, Kind.BOOL):
            assert set(part.values) <= (spellings or {"ON", "OFF"})
        if part.low is None or part.high is None:
            continue
        assert part.low <= part.high
        if part.of is None:
            assert any(
                limits.low <= part.low and part.high <= limits.high
                for target in TARGETS.values()
                if (limits := entry.limits(target))
            )


def test_what_is_worth_testing_depends_on_the_host() -> None:
    host = HostResources(memory_bytes=64 * 1024**3, logical_cpus=32, data_bytes=50 * 1024**3)
    of_data, of_memory = knob("innodb_buffer_pool_size").worth_testing
    assert of_data.bounds(host) == pytest.approx((3 * 1024**3, 12 * 1024**3))
    assert of_memory.bounds(host) == (32 * 1024**3, 48 * 1024**3)
    of_cores, absolute = knob("innodb_buffer_pool_instances").worth_testing
    assert of_cores.bounds(host) == (8, 32)
    assert absolute.bounds(host) == (8, 32)
    [words] = knob("innodb_flush_method").worth_testing
    assert (words.bounds(host), words.values) == (None, ("fsync", "O_DIRECT"))

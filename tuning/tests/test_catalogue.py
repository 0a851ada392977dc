"""The catalogue meets its schema, is consistent in itself and holds the facts that bite."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
import yaml
from pydantic import TypeAdapter, ValidationError

from benchmarks.datafiles import faults
from benchmarks.servers.binary import Flavour
from tuning.catalogue.facts import Computed, Dynamic, Timeline, reached
from tuning.catalogue.knob import Durability, Knob
from tuning.catalogue.loader import DATA_FILE, Catalogue, load_catalogue
from tuning.catalogue.resources import HostResources
from tuning.catalogue.target import ServerTraits, parse_version
from tuning.configs.effective.durability import durability_of

CONTENT: dict[str, Any] = yaml.load(DATA_FILE.read_text(), Loader=yaml.CSafeLoader)
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


def test_the_catalogue_is_whole() -> None:
    assert len(load_catalogue().knobs) == 135


def changed(path: str, value: object) -> dict[str, Any]:
    """The file with another value at that path below `knobs`; an ellipsis takes it away."""
    content = copy.deepcopy(CONTENT | {"knobs": {name: CONTENT["knobs"][name] for name in FEW}})
    *way, last = path.split("/")
    place: Any = content["knobs"]
    for key in way:
        place = place[int(key) if isinstance(place, list) else key]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return content


BINLOG, BACK_LOG = "sync_binlog", "back_log"
NAMED_KIND = "innodb_flush_method"
FEW = (
    BINLOG,
    BACK_LOG,
    NAMED_KIND,
    "innodb_buffer_pool_size",
    "innodb_doublewrite",
    "innodb_undo_directory",
)


@pytest.mark.parametrize(
    ("path", "value", "complaint"),
    [
        (f"{BINLOG}/name", "other", "sync_binlog already has its name"),
        (f"{BINLOG}/durability", ..., "`durability_evidence` must be given"),
        (f"{BINLOG}/durability_evidence", ..., "`durability_evidence` must be given"),
        (f"{BINLOG}/durability/0/above", 5, "durability/0: exactly one of `values`, `not_values`"),
        (f"{BINLOG}/durability/0/only_with", {"gtid_mod": ["ON"]}, "names gtid_mod, which does"),
        (f"{NAMED_KIND}/durability/0/values", ["O_DIRCT"], "no server accepts O_DIRCT"),
        (f"{NAMED_KIND}/worth_testing/0/values", ["fsync", "fsink"], "no server accepts fsink"),
        (f"{NAMED_KIND}/worth_testing/0/values", ["fsync"], "worth_testing/0/values: .* 2"),
        (f"{NAMED_KIND}/worth_testing/0/values", ["fsync"] * 2, "fsync is given twice"),
        (f"{NAMED_KIND}/worth_testing/0/of", "data", "`of` requires `from` and `to`"),
        (f"{NAMED_KIND}/mysql/values", ..., "facts and evidence do not match for values"),
        (f"{NAMED_KIND}/mysql/values/8.0", ["fsync", "fsync"], "/8.0: fsync is given twice"),
        (f"{NAMED_KIND}/mysql/default", {"5.7": "fsink"}, "the default fsink is not one of"),
        (f"{NAMED_KIND}/unit", "bytes", "type enum has no unit"),
        ("innodb_buffer_pool_size/unit", "MiB", "the unit of type bytes is bytes"),
        ("innodb_buffer_pool_size/unit", ..., "the unit of type bytes is bytes"),
        ("innodb_undo_directory/set_by", ..., "a path must have `set_by: advisor`"),
        (f"{BACK_LOG}/scales", ..., "`scales` must be given for every knob"),
        ("innodb_undo_directory/scales", "none", "and for knobs only"),
        ("innodb_flush_method/scales", "memory", "type enum does not scale with memory"),
        (f"{BACK_LOG}/worth_testing/0/to", ..., "`from` and `to` must be given"),
        (f"{BACK_LOG}/worth_testing/0/from", ..., "`from` and `to` must be given"),
        (f"{BACK_LOG}/worth_testing/0/from", 10**9, "`from` is above `to`"),
        (f"{BACK_LOG}/worth_testing/0/values", ["1", "2"], "either `from` and `to` or `values`"),
        (f"{BINLOG}/mysql", {}, "mysql without facts"),
        (f"{BINLOG}/mariadb", None, "mariadb without facts"),
        (f"{BINLOG}/mysql/as", "mysql", "`as` copies the facts of mysql"),
        (f"{BINLOG}/percona/as", "mariadb", "`as` copies the facts of mysql"),
        (f"{BINLOG}/mysql", ..., "`as` copies the facts of mysql, which are missing"),
        (f"{BINLOG}/mysql/added", "5", "mysql/added: not a release: '5'"),
        (f"{BINLOG}/mysql/added", 8.0, "mysql/added: not a release: 8.0; write"),
        (f"{BINLOG}/mysql/added", ["8.0"], "mysql/added: not a release"),
        (f"{BINLOG}/mysql/removed", ["8.4", "8.0"], "removed: versions must be in ascending"),
        (
            f"{BINLOG}/mysql/successor",
            "log_bim",
            "sync_binlog names log_bim, which does not exist",
        ),
        (f"{BINLOG}/mysql/default", {"v5": 1}, "mysql/default: not a release: 'v5'"),
        (f"{BINLOG}/mysql/default", {"5.7": True}, "mysql/default/5.7: a default must be text"),
        (
            f"{BINLOG}/mysql/default",
            {"5.7": {"auto": 1}},
            "mysql/default/5.7: a default must be text",
        ),
        (f"{BINLOG}/mysql/default", {"5.7": ""}, "mysql/default/5.7: a default must be text"),
        (f"{BINLOG}/mysql/default", {"8.0": 1, "5.7": 1}, "versions must be in ascending order"),
        (f"{BINLOG}/mysql/default", {"8.0": 1, "8.0.0": 1}, "versions must be in ascending order"),
        (
            f"{BINLOG}/mysql/default",
            {"5.7": "many"},
            "the default many is not a number of type int",
        ),
        (f"{BINLOG}/mysql/default", {"5.7": 2**40}, "mysql: the default .* is not within 0 to"),
        (f"{BINLOG}/mysql/default", ..., "facts and evidence do not match for default"),
        ("innodb_doublewrite/mariadb/default", {"10.6": "on"}, "the default on is not one of"),
        (f"{BINLOG}/mysql/range", {"5.7": [2, 1]}, "the first value of a range must be below"),
        (f"{BINLOG}/mysql/evidence/range", ..., "facts and evidence do not match for range"),
        (f"{BINLOG}/mysql/evidence/rnage", "B", "facts and evidence do not match for rnage"),
    ],
)
def test_what_breaks_an_entry_is_refused_with_its_place(
    path: str, value: object, complaint: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        TypeAdapter(Catalogue).validate_python(changed(path, value))
    assert re.search(complaint, faults(refused.value))


def test_a_file_without_knobs_or_evidence_is_refused() -> None:
    with pytest.raises(ValidationError) as refused:
        TypeAdapter(Catalogue).validate_python({"knobs": {}, "knob": {}})
    for complaint in ("knobs: .* at least 1", "evidence: is missing", "knob: is unknown"):
        assert re.search(complaint, faults(refused.value))


def test_computed_defaults_name_variables_of_the_catalogue() -> None:
    knobs = load_catalogue().knobs
    named = {
        name
        for target in TARGETS.values()
        for entry in knobs.values()
        if entry.exists_in(target) and isinstance(default := entry.default(target), Computed)
        for name in default.of
    }
    assert "innodb_io_capacity" in named
    assert named <= knobs.keys()


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
    ],
)
def test_defaults_that_differ_between_servers(name: str, server: str, default: str) -> None:
    assert knob(name).default(TARGETS[server]) == default


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
        ("innodb_flush_log_at_trx_commit", "1", Durability.D0),
        ("innodb_flush_log_at_trx_commit", "3", Durability.D0),
        ("sync_binlog", "1", Durability.D0),
        ("innodb_doublewrite", "DETECT_AND_RECOVER", Durability.D0),
        ("innodb_flush_method", "O_DIRECT", Durability.D0),
        ("innodb_flush_log_at_timeout", "30", Durability.D0),
    ],
)
def test_values_have_their_class(name: str, value: str, durability: Durability) -> None:
    assert durability_of({name: value}) is durability


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
    timeline = Timeline([((5, 7, 0), "a"), ((8, 4, 0), "b")])
    assert [timeline.at(v) for v in ((5, 6, 0), (8, 3, 9), (8, 4, 0), (9, 7, 4))] == list("aabb")
    assert Timeline[str]().at((8, 0, 0)) is None


def test_a_slip_is_recognised() -> None:
    catalogue = load_catalogue()
    target = TARGETS["mysql 9.7.4"]
    assert catalogue.closest("innodb_bufer_pool_size", target) == "innodb_buffer_pool_size"
    assert catalogue.closest("SYNC_BINLOG", target) == "sync_binlog"
    assert catalogue.closest("wait_timeout", target) is None


def test_what_was_seen_on_mysql_was_not_seen_on_percona_server() -> None:
    facts = knob("innodb_io_capacity").flavours
    assert facts[Flavour.MYSQL].evidence["default"] == "B"
    assert facts[Flavour.PERCONA].evidence["default"] == "S"


def test_some_server_takes_the_whole_range_that_is_worth_testing() -> None:
    for entry in load_catalogue().knobs.values():
        limits = [found for target in TARGETS.values() if (found := entry.limits(target))]
        for part in entry.worth_testing:
            if part.of is None and part.low is not None and part.high is not None:
                low, high = part.low, part.high
                assert any(one.low <= low and high <= one.high for one in limits), entry.name


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

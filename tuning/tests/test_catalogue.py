"""The catalogue meets its schema, is consistent in itself and holds the facts that bite."""

from __future__ import annotations

import re

import pytest
import yaml
from pydantic import TypeAdapter, ValidationError

from benchmarks.datafiles import faults
from benchmarks.servers.binary import Flavour
from tuning.catalogue.facts import Computed, Facts, at, reached
from tuning.catalogue.knob import Kind, Knob, SetBy
from tuning.catalogue.loader import DATA_FILE, Catalogue, load_catalogue
from tuning.catalogue.resources import HostResources, Scales
from tuning.catalogue.target import ServerTraits, parse_version
from tuning.configs.price import durability_of

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


NUMBERS = {Kind.BYTES: r"[0-9]+", Kind.INT: r"-?[0-9]+", Kind.FLOAT: r"-?[0-9]+(\.[0-9]+)?"}


def words_of(entry: Knob) -> set[str]:
    of_flavours = (facts.values for facts in entry.flavours.values())
    return {word for timeline in of_flavours for _, words in timeline for word in words} or {
        "ON",
        "OFF",
    }


def test_the_facts_of_a_flavour_fit_together_and_have_evidence() -> None:
    for entry in load_catalogue().knobs.values():
        for facts in entry.flavours.values():
            check_facts(entry, facts)


def check_facts(entry: Knob, facts: Facts) -> None:
    releases = (facts.added, facts.deprecated, facts.ignored, facts.removed)
    stated = {
        "lifecycle": any(releases) or facts.tolerated or facts.successor,
        "default": facts.default,
        "range": facts.limits,
        "values": facts.values,
        "dynamic": facts.dynamic,
    }
    assert facts.evidence.keys() == {name for name, said in stated.items() if said}
    assert bool(facts.default) == bool(facts.dynamic)
    changes = (facts.default, facts.limits, facts.values)
    for timeline in (*changes, facts.dynamic, facts.shown_as):
        versions = [version for version, _ in timeline]
        assert versions == sorted(set(versions))
    assert all(list(one) == sorted(set(one)) for one in releases)
    assert all(limits.low < limits.high for _, limits in facts.limits)
    for version in {version for timeline in changes for version, _ in timeline}:
        default, values = at(facts.default, version), at(facts.values, version)
        assert values or default is None or entry.kind is not Kind.ENUM
        if not isinstance(default, str):
            continue
        assert default in (values or (("ON", "OFF") if entry.kind is Kind.BOOL else (default,)))
        if entry.kind in NUMBERS:
            assert re.fullmatch(NUMBERS[entry.kind], default)
            limits = at(facts.limits, version)
            assert limits is None or limits.low <= float(default) <= limits.high


def test_every_entry_fits_together() -> None:
    for entry in load_catalogue().knobs.values():
        check_entry(entry)


def check_entry(entry: Knob) -> None:
    known, number = load_catalogue().knobs, entry.kind in NUMBERS
    assert entry.flavours
    assert entry.unit == "bytes" or entry.kind is not Kind.BYTES
    assert number or not entry.unit
    assert bool(entry.durability) == bool(entry.durability_evidence)
    assert entry.kind is not Kind.PATH or entry.set_by is SetBy.ADVISOR
    assert (entry.scales is None) == (entry.set_by is not None)
    assert entry.scales not in (Scales.MEMORY, Scales.DATA) or entry.kind in (Kind.INT, Kind.BYTES)
    assert entry.at_most is None or entry.at_most.knob in known
    assert not entry.equals or entry.equals in known
    assert all(one.successor in known for one in entry.flavours.values() if one.successor)
    words: set[str] = set()
    for part in entry.worth_testing:
        words |= set(part.values)
        assert (part.low is None) == (part.high is None) == bool(part.values)
        assert part.low is None or part.high is None or part.low <= part.high
        assert part.of is None or part.low is not None
    for rule in entry.durability:
        words |= rule.values | rule.not_values
        assert [bool(rule.values), bool(rule.not_values), rule.above is not None].count(True) == 1
        assert rule.only_with.keys() <= known.keys()
    for cost in entry.costs:
        words |= cost.values
        assert bool(cost.values) == (cost.above is None)
        assert number or cost.above is None
    assert entry.kind not in (Kind.BOOL, Kind.ENUM) or words <= words_of(entry)


@pytest.mark.parametrize(
    ("path", "value", "complaint"),
    [
        ("mysql", {}, "mysql without facts"),
        ("mysql", ..., "`as` copies the facts of mysql, which are missing"),
        ("percona/as", "mariadb", "`as` copies the facts of mysql"),
        ("mysql/added", 8.0, "mysql/added: not a release: 8.0; write"),
        ("mysql/default", {"v5": 1}, "mysql/default/0/0: not a release: 'v5'"),
        ("mysql/default", {"5.7": True}, "mysql/default/0/1: a default must be text"),
        ("mysql/defalt", {"5.7": 1}, "defalt: is unknown"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(
    path: str, value: object, complaint: str
) -> None:
    content = yaml.load(DATA_FILE.read_text(), Loader=yaml.CSafeLoader)
    content["knobs"] = {"sync_binlog": content["knobs"]["sync_binlog"]}
    *way, last = path.split("/")
    place = content["knobs"]["sync_binlog"]
    for key in way:
        place = place[key]
    place[last] = value
    if value is ...:
        del place[last]
    with pytest.raises(ValidationError) as refused:
        TypeAdapter(Catalogue).validate_python(content)
    assert re.search(complaint, faults(refused.value))


def test_the_order_of_a_search_names_each_place_once() -> None:
    places = [entry.search for entry in load_catalogue().knobs.values() if entry.search]
    assert sorted(places) == list(range(1, len(places) + 1))


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


CLASSES = """
innodb_flush_log_at_trx_commit 1 D0, innodb_flush_log_at_trx_commit 3 D0, sync_binlog 1 D0
innodb_doublewrite DETECT_AND_RECOVER D0, innodb_flush_method O_DIRECT D0
innodb_flush_log_at_timeout 30 D0, innodb_flush_log_at_trx_commit 2 D1, sync_binlog 0 D1
innodb_flush_log_at_trx_commit 0 D1, sync_binlog 1000 D1
innodb_use_global_flush_log_at_trx_commit OFF D1, innodb_doublewrite OFF D2
innodb_doublewrite DETECT_ONLY D2, innodb_doublewrite fast D2, innodb_checksum_algorithm none D2
innodb_checksum_algorithm strict_none D2, innodb_checksums OFF D2, innodb_log_checksums OFF D2
innodb_flush_method O_DIRECT_NO_FSYNC D2, innodb_flush_method nosync D2
innodb_flush_method littlesync D2, innodb_corrupt_table_action warn D2
innodb_corrupt_table_action salvage D2
"""


@pytest.mark.parametrize("row", CLASSES.strip().replace("\n", ", ").split(", "))
def test_values_have_their_class(row: str) -> None:
    name, value, durability = row.split()
    assert durability_of({name: value}) == durability


def test_the_flush_timeout_counts_only_where_commits_do_not_flush() -> None:
    [rule] = knob("innodb_flush_log_at_timeout").durability
    assert rule.matches("30", {"innodb_flush_log_at_trx_commit": "2"})
    assert not rule.matches("30", {"innodb_flush_log_at_trx_commit": "1"})


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
    timeline = (((5, 7, 0), "a"), ((8, 4, 0), "b"))
    assert [at(timeline, v) for v in ((5, 6, 0), (8, 3, 9), (8, 4, 0), (9, 7, 4))] == list("aabb")
    assert at((), (8, 0, 0)) is None


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

"""Knobs that come from no file pass only in a form that the server takes as it is written."""

from __future__ import annotations

import re

import pytest

from benchmarks.servers.binary import Flavour
from benchmarks.servers.forbidden import is_forbidden
from tuning.catalogue.knob import Durability
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ServerTraits
from tuning.configs.check import ConfigReport, check_knobs, import_cnf
from tuning.configs.parse import scan_cnf
from tuning.configs.price import durability_of
from tuning.configs.values import config_hash, readable, render_cnf
from tuning.errors import InvalidConfig, Problem

MYSQL57 = ServerTraits(Flavour.MYSQL, (5, 7, 42))
MYSQL80 = ServerTraits(Flavour.MYSQL, (8, 0, 46))
MYSQL97 = ServerTraits(Flavour.MYSQL, (9, 7, 4))
PERCONA80 = ServerTraits(Flavour.PERCONA, (8, 0, 36))
MARIADB = ServerTraits(Flavour.MARIADB, (10, 11, 19))
MARIADB_OLD = ServerTraits(Flavour.MARIADB, (10, 11, 7))
MARIADB11 = ServerTraits(Flavour.MARIADB, (11, 8, 9))


def gate(
    lines: str, target: ServerTraits = MYSQL97, durability: Durability = Durability.D0
) -> ConfigReport:
    settings = scan_cnf(f"[mysqld]\n{lines}\n", lambda _: True).settings
    knobs = {setting.name: setting.value for setting in settings}
    return check_knobs(knobs, target, source="my.cnf", durability=durability).accepted()


def refused(
    lines: str, target: ServerTraits = MYSQL97, durability: Durability = Durability.D0
) -> tuple[Problem, ...]:
    with pytest.raises(InvalidConfig) as caught:
        gate(lines, target, durability)
    return caught.value.problems


def reason(lines: str, target: ServerTraits = MYSQL97) -> str:
    [problem] = refused(lines, target)
    assert problem.source == "my.cnf"
    return problem.reason


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("innodb-buffer-pool-size = 3G", "innodb_buffer_pool_size", "3221225472"),
        ("innodb_buffer_pool_size = 1T", "innodb_buffer_pool_size", "1099511627776"),
        ("table_open_cache = 4k", "table_open_cache", "4096"),
        ("innodb_io_capacity = 010000", "innodb_io_capacity", "10000"),
        ("innodb_max_dirty_pages_pct = 75.50", "innodb_max_dirty_pages_pct", "75.5"),
        ("innodb_adaptive_hash_index = 0", "innodb_adaptive_hash_index", "OFF"),
        ("innodb_adaptive_hash_index", "innodb_adaptive_hash_index", "ON"),
        ("skip-innodb-adaptive-hash-index", "innodb_adaptive_hash_index", "OFF"),
        ("enable-performance-schema", "performance_schema", "ON"),
        ("innodb_flush_method = o_direct", "innodb_flush_method", "O_DIRECT"),
        ("transaction_isolation = read-committed", "transaction_isolation", "READ-COMMITTED"),
        ("innodb_monitor_enable = '%'", "innodb_monitor_enable", "%"),
        ("innodb_page_size = 16K", "innodb_page_size", "16384"),
    ],
)
def test_values_take_the_form_that_the_server_shows(line: str, name: str, value: str) -> None:
    assert gate(line).knobs == {name: value}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        # units and numbers
        ("innodb_buffer_pool_size = 3 G", "without a blank, not '3 G'"),
        ("innodb_buffer_pool_size = 1.5G", "whole number, .* not '1.5G'"),
        ("innodb_buffer_pool_size = -1", "must not be negative"),
        ("innodb_buffer_pool_size = NaN", "whole number"),
        ("innodb_buffer_pool_size = ", "has an empty value"),
        ("innodb_buffer_pool_size", "needs a value"),
        ("innodb_buffer_pool_size = 1M", "must be 5M to"),
        ("join_buffer_size = 9223372036854775808", "too large a number"),
        ("join_buffer_size = 9999999999999999999999999999G", "whole number"),
        ("innodb_io_capacity = 99", "must be 100 to 4294967295 on MySQL 9.7.4, not 99"),
        ("innodb_max_dirty_pages_pct = NaN", "plain number"),
        ("innodb_max_dirty_pages_pct = 100", "must be 0 to 99.999"),
        ("innodb_page_size = 5000", "must be one of 4096, 8192, 16384, 32768, 65536"),
        # words
        ("innodb_flush_method = fdatasync", "must be one of fsync, O_DSYNC"),
        ("innodb_flush_method = 4", "must be a name .*, not the number '4'"),
        ("innodb_adaptive_hash_index = maybe", "must be ON or OFF"),
        ("innodb_monitor_enable = ../../etc", "cannot be"),
        ("skip_innodb_io_capacity", "no server knows"),
        # names
        ("innodb_bufer_pool_size = 1G", "did you mean innodb_buffer_pool_size"),
        ("INNODB_IO_CAPACITY = 200", "means innodb_io_capacity"),
        ("read_only = ON", "keep the workload from writing"),
        ("tx_isolation = READ-COMMITTED", "does not have it"),
        ("maximum_join_buffer_size = 1G", "limits join_buffer_size"),
        # what this server lacks
        ("innodb_log_file_size = 1G", "removed in 9.0.0.; use innodb_redo_log_capacity"),
        ("query_cache_size = 0", "removed in 8.0.3"),
        ("innodb_empty_free_list_algorithm = backoff", "only in Percona Server"),
        # what needs another data directory
        ("innodb_page_size = 8K", "fixed when the data directory is made; the dataset has 16384"),
    ],
)
def test_what_the_server_would_not_take_as_written_is_refused(line: str, why: str) -> None:
    [problem] = refused(line)
    assert re.search(why, problem.reason), problem


@pytest.mark.parametrize(
    ("line", "refuses", "takes", "why"),
    [
        (
            "innodb_flush_log_at_trx_commit = 3",
            MYSQL97,
            MARIADB,
            "must be 0 to 2 on MySQL 9.7.4, .* would silently use 2",
        ),
        # Seen on 10.11.7, which takes 3G, and on 10.11.19, which makes it 2 GiB - 4K.
        ("innodb_log_buffer_size = 3G", MARIADB, MARIADB_OLD, "must be 2M to"),
    ],
)
def test_what_one_server_refuses_another_takes(
    line: str, refuses: ServerTraits, takes: ServerTraits, why: str
) -> None:
    assert re.search(why, reason(line, refuses))
    assert gate(line, takes).knobs


@pytest.mark.parametrize(
    ("line", "target", "admitted"),
    [
        ("innodb_flush_log_at_trx_commit = 2", MYSQL97, Durability.D1),
        ("sync_binlog = 0", MYSQL97, Durability.D1),
        ("sync_binlog = 100", MARIADB, Durability.D1),
        ("innodb_doublewrite = OFF", MYSQL80, Durability.D2),
        ("skip-innodb-doublewrite", MARIADB, Durability.D2),
        ("innodb_doublewrite = fast", MARIADB11, Durability.D2),
        ("innodb_checksum_algorithm = NONE", MYSQL97, Durability.D2),
        ("innodb_flush_method = O_DIRECT_NO_FSYNC", PERCONA80, Durability.D2),
    ],
)
def test_a_d0_study_refuses_what_loses_data_and_says_what(
    line: str, target: ServerTraits, admitted: Durability
) -> None:
    [problem] = refused(line, target)
    assert f"class {admitted}, but only D0 is allowed" in problem.reason
    assert "may lose" in problem.reason
    knobs = gate(line, target, admitted).knobs
    assert durability_of(knobs) is admitted


def test_a_d1_study_still_refuses_d2() -> None:
    gate("innodb_flush_log_at_trx_commit = 2", durability=Durability.D1)
    assert refused("innodb_doublewrite = OFF", durability=Durability.D1)


@pytest.mark.parametrize(
    ("line", "target", "words"),
    [
        ("innodb_log_file_size = 1G", MYSQL80, "deprecated .* innodb_redo_log_capacity"),
        ("innodb_flush_method = O_DIRECT", MARIADB11, "deprecated in MariaDB 11.8.9"),
        ("innodb_buffer_pool_chunk_size = 1M", MARIADB, "without effect"),
    ],
)
def test_deprecated_and_idle_knobs_are_kept_with_a_note(
    line: str, target: ServerTraits, words: str
) -> None:
    [note] = gate(line, target).notes
    assert re.search(words, note.detail)


def test_readable_numbers() -> None:
    numbers = (0, 99, 1023, 5242880, 3 * 2**30, 4294967295, 99.999)
    assert " ".join(map(readable, numbers)) == "0 99 1023 5M 3G 4294967295 99.999"


def test_the_last_guard_lets_through_what_is_tuned_and_nothing_that_the_advisor_places() -> None:
    for knob in load_catalogue().knobs.values():
        assert is_forbidden(knob.name) == (knob.set_by is not None), knob.name


def test_a_config_is_the_same_in_any_order_and_comes_back_from_its_text() -> None:
    knobs = {"innodb_buffer_pool_size": "3221225472", "innodb_flush_method": "O_DIRECT"}
    assert config_hash(knobs) == config_hash(dict(reversed(knobs.items())))
    text = render_cnf(knobs, MYSQL97)
    assert text == "[mysqld]\ninnodb_buffer_pool_size = 3G\ninnodb_flush_method = O_DIRECT\n"
    assert gate(text.removeprefix("[mysqld]\n")).knobs == knobs


@pytest.mark.parametrize("target", [MYSQL80, PERCONA80])
def test_a_server_that_would_leave_out_the_fsync_by_itself_is_d2(target: ServerTraits) -> None:
    """MySQL 8.0 takes O_DIRECT_NO_FSYNC beside innodb_dedicated_server, unless it is set."""
    [problem] = refused("innodb_dedicated_server = ON", target)
    assert "class D2, but only D0 is allowed; set innodb_flush_method = O_DIRECT" in problem.reason
    knobs = gate("innodb_dedicated_server = ON", target, Durability.D2).knobs
    assert durability_of(knobs, target) is Durability.D2
    safe = gate("innodb_dedicated_server = ON\ninnodb_flush_method = O_DIRECT", target).knobs
    assert durability_of(safe, target) is Durability.D0
    assert gate("innodb_dedicated_server = OFF", target).knobs
    assert gate("innodb_dedicated_server = ON", MYSQL97).knobs


@pytest.mark.parametrize("value", ["128\u212a", "1\u0664", "\u0661K", "128\uff2b", "\u00b2"])
def test_letters_and_digits_that_only_look_right_are_refused(value: str) -> None:
    for name in ("innodb_buffer_pool_size", "query_cache_size", "innodb_log_file_size"):
        assert import_cnf(f"[mysqld]\n{name} = {value}\n".encode(), "x", MYSQL97).problems

"""Requested and effective values are compared as the server means them, not as text."""

from __future__ import annotations

from benchmarks.servers.binary import Flavour
from tuning.catalogue.target import ServerTraits
from tuning.configs.effective.readback import Difference, differences, effective_values, signature

MYSQL = ServerTraits(Flavour.MYSQL, (8, 4, 13))
MARIADB = ServerTraits(Flavour.MARIADB, (10, 11, 19))


def test_other_spellings_of_the_same_value_are_no_difference() -> None:
    asked = {
        "innodb_io_capacity": "200",
        "innodb_max_dirty_pages_pct": "90",
        "innodb_adaptive_hash_index": "OFF",
        "innodb_flush_method": "fsync",
    }
    shown = {
        "innodb_io_capacity": "200",
        "innodb_max_dirty_pages_pct": "90.000000",
        "innodb_adaptive_hash_index": "0",
        "innodb_flush_method": "FSYNC",
    }
    assert differences(asked, shown, MYSQL) == []
    assert differences({"back_log": "1500.0"}, {"back_log": "1500"}, MYSQL) == []
    assert effective_values(asked, shown, MYSQL) == {
        "innodb_io_capacity": "200",
        "innodb_max_dirty_pages_pct": "90",
        "innodb_adaptive_hash_index": "OFF",
        "innodb_flush_method": "FSYNC",
    }


def test_a_rounded_clamped_or_hidden_value_is_one() -> None:
    asked = {"innodb_buffer_pool_size": "251658240", "table_open_cache": "8000", "back_log": "9"}
    shown = {"innodb_buffer_pool_size": "268435456", "table_open_cache": "7995"}
    assert differences(asked, shown, MYSQL) == [
        Difference("innodb_buffer_pool_size", "251658240", "268435456"),
        Difference("table_open_cache", "8000", "7995"),
        Difference("back_log", "9", None),
    ]


def test_numbers_too_long_for_a_float_are_distinguished() -> None:
    asked = {"join_buffer_size": "9223372036854775807"}
    assert differences(asked, {"join_buffer_size": "9223372036854775680"}, MYSQL)


def test_a_variable_under_another_name_is_found() -> None:
    asked = {"transaction_isolation": "READ-COMMITTED"}
    assert differences(asked, {"tx_isolation": "READ-COMMITTED"}, MARIADB) == []
    assert differences(asked, {"transaction_isolation": "READ-COMMITTED"}, MYSQL) == []


def test_mysql_57_shows_its_default_flush_method_as_nothing() -> None:
    old = ServerTraits(Flavour.MYSQL, (5, 7, 42))
    shown = {"innodb_flush_method": ""}
    assert differences({"innodb_flush_method": "fsync"}, shown, old) == []
    [found] = differences({"innodb_flush_method": "O_DIRECT"}, shown, old)
    assert found.effective == "fsync"


def redo_signature(knobs: dict[str, int], size: int = 48 << 20, files: int = 2) -> str:
    shown = {
        "innodb_log_file_size": f"{size}",
        "innodb_log_files_in_group": f"{files}",
        "innodb_redo_log_capacity": f"{knobs.get('innodb_redo_log_capacity', 100 << 20)}",
    }
    target = ServerTraits(Flavour.MYSQL, (8, 0, 46))
    return signature(shown, target, {name: f"{value}" for name, value in knobs.items()})


def test_the_redo_log_counts_by_its_real_size() -> None:
    """From 8.0.30 on the default capacity is shown where the old pair sizes the log."""
    default = redo_signature({})
    half = 512 << 20
    pair = redo_signature(
        {"innodb_log_file_size": half, "innodb_log_files_in_group": 2}, size=half
    )
    whole = redo_signature({"innodb_redo_log_capacity": 2 * half})
    assert pair == whole != default
    # 2 x 48M is not the default capacity of 100M, though every variable is as by default
    assert redo_signature({"innodb_log_file_size": 48 << 20}) != default
    # a capacity that is set leaves the pair without effect
    assert redo_signature({"innodb_redo_log_capacity": 100 << 20}) == default

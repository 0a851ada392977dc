"""The scripts set what a running server takes, in an order that works, and undo it again."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuning.catalogue.loader import load_catalogue
from tuning.configs.line import Action, Note
from tuning.export.changes import literal
from tuning.tests.export_cases import (
    MARIADB,
    MYSQL,
    MYSQL_8,
    MYSQL_57,
    facts,
    flat,
    knobs_in,
    rendered,
    statements_in,
)

DEFAULTS = {"innodb_io_capacity": "10000", "innodb_io_capacity_max": "20000"}


def sql(**changes: Any) -> list[str]:
    """The statements without the one that shows the result."""
    return statements_in(rendered(facts(**changes), "sql"))[:-1]


def undo(current: bytes | None = None, **changes: Any) -> list[str]:
    return statements_in(rendered(facts(**changes), "rollback-sql", current))


def test_dynamic_lines_are_persisted_and_the_others_explained() -> None:
    text = rendered(facts(baseline_variables=DEFAULTS), "sql")
    assert "SET PERSIST innodb_io_capacity = 2000;" in statements_in(text)
    assert not any("innodb_flush_method" in line for line in statements_in(text))
    assert "innodb_flush_method = O_DIRECT: requires a restart" in flat(text)
    assert "-- SET PERSIST_ONLY innodb_flush_method = 'O_DIRECT';" in text.splitlines()
    assert "3, what is best here" in text
    assert "Before production: " in text
    assert "measured with 1 other setting" in flat(text)


@pytest.mark.parametrize("target", [MYSQL_57, MARIADB], ids=str)
def test_servers_without_persist_get_a_note_that_it_does_not_last(target: Any) -> None:
    text = rendered(facts(server=target), "sql")
    assert "SET GLOBAL innodb_io_capacity = 2000;" in statements_in(text)
    assert "PERSIST" not in " ".join(statements_in(text))
    assert "loses these values at the next restart, so put them into my.cnf as well" in flat(text)
    undone = rendered(facts(server=target), "rollback-sql")
    assert "SET GLOBAL innodb_io_capacity = 200;" in statements_in(undone)
    assert "RESET PERSIST" not in undone


def test_a_ceiling_is_raised_before_what_is_below_it() -> None:
    knobs = {"innodb_io_capacity": "30000", "innodb_io_capacity_max": "60000"}
    assert sql(knobs=knobs, baseline_variables=DEFAULTS) == [
        "SET PERSIST innodb_io_capacity_max = 60000;",
        "SET PERSIST innodb_io_capacity = 30000;",
    ]
    assert undo(knobs=knobs, baseline_variables=DEFAULTS)[2:4] == [
        "SET GLOBAL innodb_io_capacity = 10000;",
        "SET GLOBAL innodb_io_capacity_max = 20000;",
    ]


def test_and_lowered_after_it() -> None:
    """9.7 does not take a ceiling below the capacity: it makes it the capacity."""
    knobs = {"innodb_io_capacity_max": "400", "innodb_io_capacity": "200"}
    assert sql(knobs=knobs, baseline_variables=DEFAULTS) == [
        "SET PERSIST innodb_io_capacity = 200;",
        "SET PERSIST innodb_io_capacity_max = 400;",
    ]
    assert undo(knobs=knobs, baseline_variables=DEFAULTS)[2:4] == [
        "SET GLOBAL innodb_io_capacity_max = 20000;",
        "SET GLOBAL innodb_io_capacity = 10000;",
    ]


@pytest.mark.parametrize(
    ("target", "ceiling"), [(MYSQL, "1000"), (MYSQL_8, "2000")], ids=["9.7", "8.0"]
)
def test_a_ceiling_that_a_start_works_out_is_set_on_a_running_server(
    target: Any, ceiling: str
) -> None:
    found = sql(server=target, knobs={"innodb_io_capacity": "500"})
    assert f"SET PERSIST innodb_io_capacity_max = {ceiling};" in found
    shown = sql(
        knobs={"innodb_io_capacity": "500"}, candidate_variables={"innodb_io_capacity_max": "777"}
    )
    assert "SET PERSIST innodb_io_capacity_max = 777;" in shown


def test_dirty_page_limits_do_not_cross() -> None:
    knobs = {"innodb_max_dirty_pages_pct_lwm": "2.5", "innodb_max_dirty_pages_pct": "5"}
    assert sql(knobs=knobs) == [
        "SET PERSIST innodb_max_dirty_pages_pct_lwm = 2.5;",
        "SET PERSIST innodb_max_dirty_pages_pct = 5;",
    ]


def test_gtid_mode_moves_step_by_step() -> None:
    knobs = {"enforce_gtid_consistency": "OFF", "gtid_mode": "OFF"}
    assert sql(knobs=knobs) == [
        "SET GLOBAL gtid_mode = 'ON_PERMISSIVE';",
        "SET GLOBAL gtid_mode = 'OFF_PERMISSIVE';",
        "SET PERSIST gtid_mode = 'OFF';",
        "SET PERSIST enforce_gtid_consistency = 'OFF';",
    ]
    assert undo(knobs=knobs)[2:6] == [
        "SET GLOBAL enforce_gtid_consistency = 'ON';",
        "SET GLOBAL gtid_mode = 'OFF_PERMISSIVE';",
        "SET GLOBAL gtid_mode = 'ON_PERMISSIVE';",
        "SET GLOBAL gtid_mode = 'ON';",
    ]


def test_a_pool_that_a_running_server_would_round_waits_for_a_restart() -> None:
    text = rendered(facts(knobs={"innodb_buffer_pool_size": f"{64 * 1024**2}"}), "sql")
    assert statements_in(text) == []
    assert "-- SET PERSIST_ONLY innodb_buffer_pool_size = 67108864;" in text
    [set_now] = sql(knobs={"innodb_buffer_pool_size": f"{1024**3}"})
    assert set_now == "SET PERSIST innodb_buffer_pool_size = 1073741824;"
    [on_mariadb] = sql(server=MARIADB, knobs={"innodb_buffer_pool_size": f"{64 * 1024**2}"})
    assert on_mariadb == "SET GLOBAL innodb_buffer_pool_size = 67108864;"


def test_what_cannot_be_persisted_is_left_to_my_cnf() -> None:
    text = rendered(facts(knobs={"innodb_dedicated_server": "ON"}), "sql")
    assert "PERSIST_ONLY innodb_dedicated_server" not in text
    assert "innodb_dedicated_server = ON: the server does not persist it" in flat(text)
    assert "RESET" not in rendered(facts(knobs={"innodb_dedicated_server": "ON"}), "rollback-sql")


def test_sql_has_the_variables_name_and_not_the_options() -> None:
    knobs = {"transaction_isolation": "READ-COMMITTED"}
    assert sql(server=MARIADB, knobs=knobs) == ["SET GLOBAL tx_isolation = 'READ-COMMITTED';"]
    assert sql(knobs=knobs) == ["SET PERSIST transaction_isolation = 'READ-COMMITTED';"]


def test_values_are_written_by_their_type() -> None:
    knobs = load_catalogue().knobs
    assert literal(knobs["innodb_io_capacity"], "2000") == "2000"
    assert literal(knobs["innodb_max_dirty_pages_pct"], "7.5") == "7.5"
    assert literal(knobs["innodb_flush_sync"], "OFF") == "OFF"
    assert literal(knobs["innodb_monitor_enable"], "%") == "'%'"
    assert literal(knobs["innodb_monitor_enable"], "it's") == "'it''s'"
    for name, value in [
        ("innodb_io_capacity", "1; DROP DATABASE x"),
        ("innodb_monitor_enable", "a\\"),
        ("innodb_monitor_enable", "a\n; b"),
    ]:
        with pytest.raises(ValueError, match=name):
            literal(knobs[name], value)


@pytest.mark.long
@given(st.text(max_size=300))
def test_no_text_from_outside_becomes_a_statement(text: str) -> None:
    changes: dict[str, Any] = {
        "study": text,
        "study_url": text,
        "device": {"data_dir": f"{text}\n; DROP DATABASE tpcc; --", "log_dir": f"*/ {text}"},
        "candidate": f"{text} mine",
        "baseline": text,
        "notes": [Note("innodb_io_capacity", Action.KEPT, text), Note(text, Action.HELD, text)],
    }
    plain, hostile = facts(), facts(**changes)
    assert statements_in(rendered(hostile, "sql")) == statements_in(rendered(plain, "sql"))
    assert statements_in(rendered(hostile, "rollback-sql")) == statements_in(
        rendered(plain, "rollback-sql")
    )
    assert knobs_in(rendered(hostile, "rollback-cnf")) == knobs_in(rendered(plain, "rollback-cnf"))


def test_the_rollback_resets_what_was_persisted_and_sets_what_was_read_back() -> None:
    assert undo(baseline_variables=DEFAULTS) == [
        "RESET PERSIST IF EXISTS innodb_io_capacity;",
        "RESET PERSIST IF EXISTS innodb_flush_method;",
        "RESET PERSIST IF EXISTS innodb_io_capacity_max;",
        "SET GLOBAL innodb_io_capacity_max = 20000;",
        "SET GLOBAL innodb_io_capacity = 10000;",
        "SHOW GLOBAL VARIABLES WHERE Variable_name IN "
        "('innodb_io_capacity', 'innodb_io_capacity_max');",
    ]
    text = flat(rendered(facts(), "rollback-sql"))
    assert "Restored only by the old my.cnf and a restart: innodb_flush_method" in text


def test_or_what_the_users_own_file_had() -> None:
    current = b"[mysqld]\ninnodb-io-capacity = 5K\ndatadir=/x\n"
    assert undo(current, baseline_variables=DEFAULTS)[3:5] == [
        "SET GLOBAL innodb_io_capacity_max = 10240;",
        "SET GLOBAL innodb_io_capacity = 5120;",
    ]


def test_the_old_my_cnf_comes_back_as_it_was() -> None:
    current = (
        b"[mysqld]\nloose-innodb_io_capacity = 300\nport = 3306\n"
        b"innodb_flush_method=fsync # hm\ninnodb_io_capacity=400\n"
    )
    text = rendered(facts(), "rollback-cnf", current)
    assert knobs_in(text) == {"innodb_io_capacity": "400", "innodb_flush_method": "fsync"}
    assert "3306" not in text


def test_without_one_the_servers_defaults_do_or_no_line_at_all() -> None:
    text = rendered(facts(), "rollback-cnf")
    assert knobs_in(text) == {"innodb_io_capacity": "10000"}
    assert "innodb_flush_method: delete the line, the server computes it" in flat(text)


def test_an_old_value_that_is_unsafe_comes_back_with_a_warning() -> None:
    current = b"[mysqld]\ninnodb_flush_log_at_trx_commit = 2\n"
    given_ = facts(knobs={"innodb_flush_log_at_trx_commit": "1", "innodb_io_capacity": "2000"})
    text = rendered(given_, "rollback-cnf", current)
    assert "innodb_flush_log_at_trx_commit = 2" in text.splitlines()
    warning = "WARNING: innodb_flush_log_at_trx_commit = 2, as before, may lose the commits"
    assert warning in flat(text)


def test_keeping_the_baseline_is_nothing_to_set_and_nothing_to_undo() -> None:
    kept = facts(candidate="server-default", knobs={})
    assert statements_in(rendered(kept, "sql")) == []
    assert statements_in(rendered(kept, "rollback-sql")) == []
    assert knobs_in(rendered(kept, "rollback-cnf")) == {}


def test_what_continues_in_the_background_comes_last() -> None:
    knobs = {
        "innodb_buffer_pool_size": f"{1024**3}",
        "innodb_log_file_size": f"{1024**3}",
        "innodb_io_capacity": "5000",
        "innodb_log_file_buffering": "ON",
    }
    names = [line.split()[2] for line in sql(server=MARIADB, knobs=knobs)]
    assert names[-2:] == ["innodb_log_file_size", "innodb_buffer_pool_size"]
    before_the_change = dataclasses.replace(MARIADB, version=(10, 11, 7))
    text = rendered(facts(server=before_the_change, knobs=knobs), "sql")
    assert "SET GLOBAL innodb_log_file_size" not in text


def test_a_pool_does_not_grow_beyond_the_limit_of_the_running_server() -> None:
    newer = dataclasses.replace(MARIADB, version=(11, 8, 6))
    knobs = {"innodb_buffer_pool_size": f"{1024**3}"}
    assert statements_in(rendered(facts(server=newer, knobs=knobs), "sql")) == []
    shown = {"innodb_buffer_pool_size_max": f"{8 * 1024**3}"}
    assert sql(server=newer, knobs=knobs, baseline_variables=shown) == [
        "SET GLOBAL innodb_buffer_pool_size = 1073741824;"
    ]


def test_the_thread_pool_is_set_only_where_it_runs() -> None:
    knobs = {"thread_pool_size": "4"}
    text = rendered(facts(server=MARIADB, knobs=knobs), "sql")
    assert statements_in(text) == []
    assert "was started without a thread pool" in flat(text)
    running = {"thread_handling": "pool-of-threads"}
    assert len(sql(server=MARIADB, knobs=knobs, baseline_variables=running)) == 1


def test_a_resize_is_to_be_waited_for_both_ways() -> None:
    """Else the adaptive hash index is as before the resize again (5.7.42, 8.0.46, 8.4.10)."""
    knobs = {"innodb_buffer_pool_size": f"{1024**3}", "innodb_adaptive_hash_index": "OFF"}
    given_ = facts(server=MYSQL_8, knobs=knobs)
    assert [line.split()[2] for line in sql(server=MYSQL_8, knobs=knobs)] == [
        "innodb_adaptive_hash_index",
        "innodb_buffer_pool_size",
    ]
    said = "before you change innodb_adaptive_hash_index again"
    for text in (rendered(given_, "sql"), rendered(given_, "rollback-sql")):
        assert said in flat(text)
        assert "Innodb_buffer_pool_resize_status" in flat(text)


def test_what_a_running_mariadb_leaves_on_takes_a_restart() -> None:
    newer = dataclasses.replace(MARIADB, version=(11, 8, 6))
    turned_on = {"innodb_log_file_buffering": "ON"}
    assert sql(server=newer, knobs=turned_on) == ["SET GLOBAL innodb_log_file_buffering = ON;"]
    assert undo(server=newer, knobs=turned_on) == []
    text = flat(rendered(facts(server=newer, knobs=turned_on), "rollback-sql"))
    assert "by the old my.cnf and a restart: innodb_log_file_buffering" in text

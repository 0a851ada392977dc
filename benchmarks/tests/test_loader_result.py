"""What the loader leaves in a real server: tpcc-mysql's schema, TPC-C's rows, consistent."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pymysql.connections import Connection

from benchmarks.datasets import tpcc
from benchmarks.datasets.golden import estimated_directory_bytes
from benchmarks.datasets.source import Dataset, tpcc_source
from benchmarks.datasets.tpcc import Violation, check_consistency
from benchmarks.datasets.tpcc_rows import LOAD_TIME
from benchmarks.servers.binary import ServerBinary
from benchmarks.servers.instance import ServerInstance
from benchmarks.servers.running import running_server
from benchmarks.storage.copying import directory_bytes
from benchmarks.tests.quick import QUICK

pytestmark = pytest.mark.server

ADDRESS = (
    "street_1 varchar(20), street_2 varchar(20), city varchar(20), state char(2), zip char(9)"
)

#: Facts of tpcc-mysql at 1ec1c5e, in column order; "!" is NOT NULL.
COLUMNS = {
    "warehouse": f"id! smallint, name varchar(10), {ADDRESS}, tax decimal(4,2), ytd decimal(12,2)",
    "district": f"id! tinyint, w_id! smallint, name varchar(10), {ADDRESS}, tax decimal(4,2),"
    " ytd decimal(12,2), next_o_id int",
    "customer": "id! int, d_id! tinyint, w_id! smallint, first varchar(16), middle char(2),"
    f" last varchar(16), {ADDRESS}, phone char(16), since datetime, credit char(2),"
    " credit_lim bigint, discount decimal(4,2), balance decimal(12,2),"
    " ytd_payment decimal(12,2), payment_cnt smallint, delivery_cnt smallint, data text",
    "history": "c_id int, c_d_id tinyint, c_w_id smallint, d_id tinyint, w_id smallint,"
    " date datetime, amount decimal(6,2), data varchar(24)",
    "new_orders": "o_id! int, d_id! tinyint, w_id! smallint",
    "orders": "id! int, d_id! tinyint, w_id! smallint, c_id int, entry_d datetime,"
    " carrier_id tinyint, ol_cnt tinyint, all_local tinyint",
    "order_line": "o_id! int, d_id! tinyint, w_id! smallint, number! tinyint, i_id int,"
    " supply_w_id smallint, delivery_d datetime, quantity tinyint, amount decimal(6,2),"
    " dist_info char(24)",
    "item": "id! int, im_id int, name varchar(24), price decimal(5,2), data varchar(50)",
    "stock": "i_id! int, w_id! smallint, quantity smallint, "
    + ", ".join(f"dist_{number:02} char(24)" for number in range(1, 11))
    + ", ytd decimal(8,0), order_cnt smallint, remote_cnt smallint, data varchar(50)",
}
PREFIXES = {
    "warehouse": "w", "district": "d", "customer": "c", "history": "h", "new_orders": "no",
    "orders": "o", "order_line": "ol", "item": "i", "stock": "s",
}  # fmt: skip
INDEXES = {
    "warehouse": {"PRIMARY": "w_id"},
    "district": {"PRIMARY": "d_w_id d_id"},
    "customer": {"PRIMARY": "c_w_id c_d_id c_id", "idx_customer": "c_w_id c_d_id c_last c_first"},
    "history": {"fkey_history_1": "h_c_w_id h_c_d_id h_c_id", "fkey_history_2": "h_w_id h_d_id"},
    "new_orders": {"PRIMARY": "no_w_id no_d_id no_o_id"},
    "orders": {"PRIMARY": "o_w_id o_d_id o_id", "idx_orders": "o_w_id o_d_id o_c_id o_id"},
    "order_line": {
        "PRIMARY": "ol_w_id ol_d_id ol_o_id ol_number",
        "fkey_order_line_2": "ol_supply_w_id ol_i_id",
    },
    "item": {"PRIMARY": "i_id"},
    "stock": {"PRIMARY": "s_w_id s_i_id", "fkey_stock_2": "s_i_id"},
}
FOREIGN_KEYS = {
    "fkey_district_1": "district d_w_id -> warehouse w_id",
    "fkey_customer_1": "customer c_w_id c_d_id -> district d_w_id d_id",
    "fkey_history_1": "history h_c_w_id h_c_d_id h_c_id -> customer c_w_id c_d_id c_id",
    "fkey_history_2": "history h_w_id h_d_id -> district d_w_id d_id",
    "fkey_new_orders_1": "new_orders no_w_id no_d_id no_o_id -> orders o_w_id o_d_id o_id",
    "fkey_orders_1": "orders o_w_id o_d_id o_c_id -> customer c_w_id c_d_id c_id",
    "fkey_order_line_1": "order_line ol_w_id ol_d_id ol_o_id -> orders o_w_id o_d_id o_id",
    "fkey_order_line_2": "order_line ol_supply_w_id ol_i_id -> stock s_w_id s_i_id",
    "fkey_stock_1": "stock s_w_id -> warehouse w_id",
    "fkey_stock_2": "stock s_i_id -> item i_id",
}

Schema = tuple[dict[str, list[str]], dict[str, dict[str, str]], dict[str, str]]


@pytest.fixture(scope="module")
def server(
    any_server: ServerBinary,
    copied_dataset: Callable[[ServerBinary, Path], Dataset],
    server_session_tmp: Path,
) -> Iterator[ServerInstance]:
    """A server on a copy of the golden copy; tests leave its rows as they were."""
    place = server_session_tmp / f"loaded-{any_server.digest[:12]}"
    place.mkdir()
    place.chmod(0o755)
    dataset = copied_dataset(any_server, place / "data")
    with running_server(
        any_server,
        data_dir=place / "data",
        run_dir=place / "run",
        options={**QUICK, **dataset.options, "innodb_buffer_pool_size": str(512 << 20)},
    ) as instance:
        yield instance


@pytest.fixture
def connection(server: ServerInstance) -> Iterator[Connection[Any]]:
    """A connection whose changes are rolled back."""
    with contextlib.closing(server.connect(database="tpcc", autocommit=False)) as connection:
        yield connection
        connection.rollback()


def query(connection: Connection[Any], statement: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())


def read_schema(connection: Connection[Any]) -> Schema:
    """Columns with types, indexes and foreign keys, in words that all servers share."""
    columns: dict[str, list[str]] = {}
    for table, name, kind, nullable in query(
        connection,
        "SELECT table_name, column_name, column_type, is_nullable FROM information_schema.columns"
        " WHERE table_schema = 'tpcc' ORDER BY table_name, ordinal_position",
    ):
        kind = re.sub(r"int\(\d+\)", "int", str(kind))  # display widths went away in MySQL 8.0
        columns.setdefault(table, []).append(f"{name}{'' if nullable == 'YES' else '!'} {kind}")
    indexes: dict[str, dict[str, str]] = {}
    for table, name, parts in query(
        connection,
        "SELECT table_name, index_name,"
        " GROUP_CONCAT(column_name ORDER BY seq_in_index SEPARATOR ' ')"
        " FROM information_schema.statistics WHERE table_schema = 'tpcc'"
        " GROUP BY table_name, index_name",
    ):
        indexes.setdefault(table, {})[name] = parts
    foreign_keys = {
        name: f"{table} {parts} -> {parent} {parent_parts}"
        for name, table, parts, parent, parent_parts in query(
            connection,
            "SELECT constraint_name, table_name,"
            " GROUP_CONCAT(column_name ORDER BY ordinal_position SEPARATOR ' '),"
            " MIN(referenced_table_name),"
            " GROUP_CONCAT(referenced_column_name ORDER BY ordinal_position SEPARATOR ' ')"
            " FROM information_schema.key_column_usage WHERE table_schema = 'tpcc'"
            " AND referenced_table_name IS NOT NULL GROUP BY constraint_name, table_name",
        )
    }
    return columns, indexes, foreign_keys


def test_schema_is_tpcc_mysqls(connection: Connection[Any]) -> None:
    columns, indexes, foreign_keys = read_schema(connection)
    expected = {
        table: [f"{PREFIXES[table]}_{column.strip()}" for column in re.split(r", ?(?!\d)", text)]
        for table, text in COLUMNS.items()
    }
    assert columns == expected
    assert indexes == INDEXES
    assert foreign_keys == FOREIGN_KEYS


def test_size_estimates_are_close(
    any_server: ServerBinary, golden_dataset: Callable[[ServerBinary], Dataset]
) -> None:
    dataset = golden_dataset(any_server)
    table_bytes = directory_bytes(dataset.data_dir / tpcc.SCHEMA)
    assert tpcc.estimated_bytes(2) == pytest.approx(table_bytes, rel=0.15)
    assert dataset.bytes < estimated_directory_bytes(tpcc_source(2)) < 1.4 * dataset.bytes


def test_foreign_keys_hold_though_they_were_not_checked_while_loading(
    connection: Connection[Any],
) -> None:
    for rule in FOREIGN_KEYS.values():
        child, parent = rule.split(" -> ")
        (table, *columns), (parent_table, *parent_columns) = child.split(), parent.split()
        on = " AND ".join(f"c.{a} = p.{b}" for a, b in zip(columns, parent_columns, strict=True))
        # Each reference is looked up once: an order has ten lines.
        orphans = query(
            connection,
            f"SELECT COUNT(*) FROM (SELECT DISTINCT {', '.join(columns)} FROM {table}) c"
            f" LEFT JOIN {parent_table} p ON {on} WHERE p.{parent_columns[0]} IS NULL",
        )
        assert orphans == [(0,)], rule


def test_foreign_keys_are_enforced_afterwards(connection: Connection[Any]) -> None:
    with pytest.raises(Exception, match="foreign key constraint fails"):
        query(connection, "INSERT INTO new_orders VALUES (9999, 1, 1)")


def test_values_arrive_as_they_were_made(connection: Connection[Any]) -> None:
    assert query(connection, "SELECT DISTINCT o_entry_d FROM orders LIMIT 2") == query(
        connection, f"SELECT TIMESTAMP '{LOAD_TIME}'"
    )
    assert query(
        connection,
        "SELECT COUNT(*), SUM(o_carrier_id IS NULL), MIN(o_carrier_id), MAX(o_carrier_id)"
        " FROM orders WHERE o_id > 2100 OR o_id <= 2100 AND o_carrier_id IS NULL",
    ) == [(18_000, 18_000, None, None)]
    [(lines, dated, paid)] = query(
        connection,
        "SELECT COUNT(*), SUM((ol_o_id > 2100) = (ol_delivery_d IS NULL)),"
        " SUM(IF(ol_o_id > 2100, ol_amount > 0, ol_amount = 0)) FROM order_line",
    )
    assert lines == dated == paid
    assert query(
        connection,
        "SELECT c_credit, COUNT(*), MIN(CHAR_LENGTH(c_data)) >= 300, MAX(CHAR_LENGTH(c_data)),"
        " MIN(c_balance), MAX(c_credit_lim) FROM customer GROUP BY c_credit ORDER BY c_credit",
    ) == [("BC", 6_000, 1, 500, -10, 50_000), ("GC", 54_000, 1, 500, -10, 50_000)]
    assert query(connection, "SELECT COUNT(*) FROM stock WHERE s_data LIKE '%original%'") == [
        (20_000,)
    ]


def test_statistics_are_fresh(connection: Connection[Any]) -> None:
    for table, count in tpcc.expected_rows(2).items():
        estimate = query(
            connection,
            "SELECT n_rows FROM mysql.innodb_table_stats"
            f" WHERE database_name = 'tpcc' AND table_name = '{table}'",
        )
        assert estimate[0][0] == pytest.approx(count, rel=0.2), table


def test_nothing_is_left_to_purge(connection: Connection[Any]) -> None:
    [(_, _, report)] = query(connection, "SHOW ENGINE INNODB STATUS")
    length = re.search(r"History list length (\d+)", report)
    assert length is not None
    assert int(length[1]) < 100  # the accounts that were made at the start


def test_consistency_conditions_hold(connection: Connection[Any]) -> None:
    assert check_consistency(connection) == []


#: What each change breaks: (condition, warehouse, district). They are made at once, for to check
#: reads all rows; no two are in the same place.
CHANGES: dict[str, set[tuple[int, int, int | None]]] = {
    "UPDATE warehouse SET w_ytd = w_ytd + 0.01 WHERE w_id = 2": {(1, 2, None)},
    "UPDATE district SET d_ytd = NULL WHERE d_w_id = 1": {(1, 1, None)},
    "UPDATE district SET d_next_o_id = 3002 WHERE d_w_id = 2 AND d_id = 3": {(2, 2, 3)},
    "DELETE FROM new_orders WHERE no_w_id = 1 AND no_d_id = 4 AND no_o_id = 3000": {(2, 1, 4)},
    "DELETE FROM new_orders WHERE no_w_id = 1 AND no_d_id = 5 AND no_o_id = 2500": {(3, 1, 5)},
    "DELETE FROM order_line WHERE ol_w_id = 2 AND ol_d_id = 10 AND ol_o_id = 7"
    " AND ol_number = 5": {(4, 2, 10)},
    # An order of a district that has no line at all.
    "INSERT INTO district (d_id, d_w_id, d_ytd, d_next_o_id) VALUES (11, 2, 0, 2)": set(),
    "INSERT INTO customer (c_id, c_d_id, c_w_id) VALUES (1, 11, 2)": set(),
    "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_ol_cnt) VALUES (1, 11, 2, 1, 5)": {
        (4, 2, 11)
    },
    # Delivered to the last order: that is no breach.
    "DELETE FROM new_orders WHERE no_w_id = 1 AND no_d_id = 6": set(),
    "DELETE FROM new_orders WHERE no_d_id = 7 AND no_o_id < 2900": set(),
}


def test_consistency_check_finds_broken_rows(connection: Connection[Any]) -> None:
    for change in CHANGES:
        query(connection, change)
    found = check_consistency(connection)
    places = [(v.condition, v.warehouse, v.district) for v in found]
    assert len(places) == len(set(places))
    assert set(places) == set().union(*CHANGES.values())
    assert str(Violation(2, 1, 4)) == "TPC-C 3.3.2.2 in warehouse 1 district 4"


def test_consistency_check_reports_few_of_many(connection: Connection[Any]) -> None:
    query(connection, "UPDATE district SET d_next_o_id = 1")
    query(connection, "UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_id = 1 AND o_w_id = 1")
    found = check_consistency(connection)
    assert [v.condition for v in found] == 10 * [2] + 10 * [4]
    assert {(v.warehouse, v.district) for v in found[10:]} == {(1, d) for d in range(1, 11)}

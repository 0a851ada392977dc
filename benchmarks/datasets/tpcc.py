"""TPC-C's population on tpcc-mysql's schema: sizes, loading, and the conditions it must meet.

Tables, column order, types, keys, index names and foreign keys in `sql/` are those of tpcc-mysql
at 1ec1c5e; both drivers of TPC-C run on them. Character set and row format are the server's
defaults, as they are with tpcc-mysql.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from pymysql.connections import Connection

from benchmarks.datasets import tpcc_rows as rows
from benchmarks.datasets.loading import Batch, Meter, execute_each, load_rows, run_all
from benchmarks.errors import LoadFailed
from benchmarks.servers.instance import ServerInstance

SCHEMA = "tpcc"
#: Raised whenever rows or schema change; an older golden copy is then no longer used.
VERSION = 2
ROWS = "loading rows"
INDEXES = "building indexes"
CHECKS = "checking the rows"
PHASES = {ROWS: 0.67, INDEXES: 0.22, CHECKS: 0.11}
#: Violations of one condition that are reported one by one.
REPORTED = 10
# Measured with 16 KiB pages: tables and indexes take 244 MB at 2 warehouses and 991 MB at 10 with
# MySQL 9.7, 931 MB with MariaDB 10.11.
_BYTES_PER_WAREHOUSE = 98_000_000
_FIXED_BYTES = 40_000_000


def estimated_bytes(warehouses: int) -> int:
    """Return about how large tables and indexes are: what a buffer pool would hold."""
    return _FIXED_BYTES + warehouses * _BYTES_PER_WAREHOUSE


def expected_rows(warehouses: int) -> dict[str, int]:
    """Return the rows of each table but order_line, whose number is random."""
    districts = warehouses * rows.DISTRICTS
    return {
        "item": rows.ITEMS,
        "warehouse": warehouses,
        "district": districts,
        "stock": warehouses * rows.ITEMS,
        "customer": districts * rows.CUSTOMERS,
        "history": districts * rows.CUSTOMERS,
        "orders": districts * rows.ORDERS,
        "new_orders": districts * (rows.ORDERS + 1 - rows.FIRST_NEW_ORDER),
    }


def load(
    warehouses: int,
    server: ServerInstance,
    jobs: int,
    meter: Meter,
    should_stop: Callable[[], bool],
) -> None:
    """Load the tables, see `DatasetSource.load`.

    Raises LoadFailed also when rows are missing or a consistency condition does not hold.
    """
    expected = expected_rows(warehouses)
    lines = expected["orders"] * sum(rows.LINES) // 2  # on average

    def do(*tasks: Callable[[Connection[Any]], list[Any]]) -> list[list[Any]]:
        return run_all(server, tasks, should_stop, database=SCHEMA)

    meter.enter(ROWS)
    create = [f"CREATE DATABASE IF NOT EXISTS {SCHEMA}", f"USE {SCHEMA}", *_file("tables.sql")]
    run_all(server, [execute_each(create)], should_stop)
    loaded = load_rows(
        server,
        SCHEMA,
        [
            Batch("item", rows.item),
            *(
                Batch(table, make, (warehouse,))
                for warehouse in range(1, warehouses + 1)
                for table, make in rows.PER_WAREHOUSE.items()
            ),
        ],
        jobs=jobs,
        on_rows=lambda count: meter.advance(count / (sum(expected.values()) + lines)),
        should_stop=should_stop,
    )
    meter.enter(INDEXES)
    # All secondary indexes of a table are built in one pass over its rows, two tables at a time.
    largest, *others = _file("indexes.sql")
    do(execute_each([largest]), execute_each(others))
    # With foreign_key_checks off a foreign key on indexed columns changes the dictionary only;
    # the rows were made to satisfy it.
    do(execute_each(_file("foreign_keys.sql")))
    meter.enter(CHECKS)
    count = execute_each([f"SELECT COUNT(*) FROM {name}" for name in loaded])  # noqa: S608
    counted, violations = do(count, check_consistency)
    found = {name: int(row[0]) for name, row in zip(loaded, counted, strict=True)}
    wanted = {**loaded, **expected}
    if found != wanted:
        raise LoadFailed(f"rows are missing: expected {wanted}, found {found}")
    if violations:
        raise LoadFailed(f"the loaded rows break {violations[0]} ({len(violations)} found)")
    do(execute_each([f"ANALYZE TABLE {', '.join(loaded)}"]))


def _file(name: str) -> list[str]:
    text = (Path(__file__).parent / "sql" / name).read_text(encoding="utf-8")
    return [part.strip() for part in text.split(";\n") if part.strip()]


class Violation(NamedTuple):
    """One place where a consistency condition, 1 to 4, does not hold."""

    condition: int
    warehouse: int
    district: int | None

    def __str__(self) -> str:
        district = "" if self.district is None else f" district {self.district}"
        return f"TPC-C 3.3.2.{self.condition} in warehouse {self.warehouse}{district}"


def check_consistency(connection: Connection[Any]) -> list[Violation]:
    """Return where conditions 1 to 4 (clause 3.3.2) do not hold, at most ten of each.

    They hold after loading and after every run: a violation means that the driver, the server or
    the disk lost or doubled something. Reads the whole of orders, new_orders and order_line.
    """
    violations = []
    with connection.cursor() as cursor:
        for condition, statement in enumerate(_CONDITIONS, start=1):
            cursor.execute(statement, (REPORTED,))
            violations += [Violation(condition, *place) for place in cursor.fetchall()]
    return violations


# Each statement returns (warehouse, district) of the breaches. A district from which every order
# was delivered has no new_orders: 2 then compares orders alone and 3 nothing. <=> also finds what
# is missing altogether.
_CONDITIONS = (
    """
    SELECT w_id, NULL
    FROM tpcc.warehouse
    LEFT JOIN (SELECT d_w_id, SUM(d_ytd) AS ytd FROM tpcc.district GROUP BY d_w_id) d
        ON d.d_w_id = w_id
    WHERE NOT w_ytd <=> d.ytd LIMIT %s""",
    """
    SELECT d_w_id, d_id
    FROM tpcc.district
    LEFT JOIN (SELECT o_w_id, o_d_id, MAX(o_id) AS last
               FROM tpcc.orders GROUP BY o_w_id, o_d_id) o
        ON o.o_w_id = d_w_id AND o.o_d_id = d_id
    LEFT JOIN (SELECT no_w_id, no_d_id, MAX(no_o_id) AS last
               FROM tpcc.new_orders GROUP BY no_w_id, no_d_id) n
        ON n.no_w_id = d_w_id AND n.no_d_id = d_id
    WHERE NOT d_next_o_id - 1 <=> o.last
       OR (n.last IS NOT NULL AND NOT d_next_o_id - 1 <=> n.last) LIMIT %s""",
    """
    SELECT no_w_id, no_d_id
    FROM tpcc.new_orders
    GROUP BY no_w_id, no_d_id
    HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*) LIMIT %s""",
    """
    SELECT o.o_w_id, o.o_d_id
    FROM (SELECT o_w_id, o_d_id, SUM(o_ol_cnt) AS expected
          FROM tpcc.orders GROUP BY o_w_id, o_d_id) o
    LEFT JOIN (SELECT ol_w_id, ol_d_id, COUNT(*) AS found
               FROM tpcc.order_line GROUP BY ol_w_id, ol_d_id) l
        ON l.ol_w_id = o.o_w_id AND l.ol_d_id = o.o_d_id
    WHERE NOT o.expected <=> l.found LIMIT %s""",
)

"""TPC-C's population on tpcc-mysql's schema: the dataset of TPC-C runs.

Tables, column order, types, keys, index names and foreign keys in `sql/` are those of tpcc-mysql
at 1ec1c5e; both drivers of TPC-C run on them. Character set and row format are the server's
defaults, as they are with tpcc-mysql.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pymysql.connections import Connection

from benchmarks.counted import counted
from benchmarks.datasets import rows, rules
from benchmarks.datasets.consistency import check_consistency
from benchmarks.datasets.loading import Batch, load_rows
from benchmarks.datasets.progress import Meter
from benchmarks.datasets.statements import execute_each, run_all
from benchmarks.errors import LoadFailed
from benchmarks.servers.instance import ServerInstance

ROWS = "loading rows"
INDEXES = "building indexes"
CHECKS = "checking the rows"
#: The order in which a warehouse's tables are loaded: processes meet in one table only at its end,
#: and each table is loaded in key order, so that its pages lie in key order on the disk.
TABLES = (
    "order_line",
    "stock",
    "customer",
    "orders",
    "history",
    "new_orders",
    "district",
    "warehouse",
)


@dataclass(frozen=True)
class TpccSource:
    """Rows of so many warehouses; the same on every host."""

    warehouses: int
    version: ClassVar[int] = rules.SCHEMA_VERSION

    def __post_init__(self) -> None:
        if not 1 <= self.warehouses <= rules.MAX_WAREHOUSES:
            raise ValueError(
                f"warehouses must be 1 to {rules.MAX_WAREHOUSES}, not {self.warehouses}"
            )

    @property
    def name(self) -> str:
        return f"w{self.warehouses}"

    @property
    def title(self) -> str:
        return counted(self.warehouses, "warehouse")

    @property
    def identity(self) -> Mapping[str, object]:
        return {"warehouses": self.warehouses, "seed": rules.DEFAULT_SEED}

    @property
    def data_bytes(self) -> int:
        return rules.estimated_bytes(self.warehouses)

    @property
    def phases(self) -> Mapping[str, float]:
        return {
            ROWS: 0.5 + 1.2 * self.warehouses,
            INDEXES: 0.2 + 0.4 * self.warehouses,
            CHECKS: 0.1 + 0.2 * self.warehouses,
        }

    def load(
        self, server: ServerInstance, jobs: int, meter: Meter, should_stop: Callable[[], bool]
    ) -> None:
        """See `DatasetSource.load`. The server must allow local_infile.

        LoadFailed also when rows are missing or a consistency condition does not hold.
        """
        expected = sum(rules.expected_rows(self.warehouses).values())
        expected += self.warehouses * rules.DISTRICTS * rules.ORDERS * 10  # lines, on average

        meter.enter(ROWS)
        run_all(server, [execute_each(_CREATE)], should_stop)
        batches = [
            Batch(name, rows.PER_WAREHOUSE[name], (rules.DEFAULT_SEED, warehouse))
            for warehouse in range(1, self.warehouses + 1)
            for name in TABLES
        ]
        loaded = load_rows(
            server,
            rules.DATABASE,
            [Batch("item", rows.item, (rules.DEFAULT_SEED,)), *batches],
            jobs=jobs,
            on_rows=lambda rows: meter.advance(rows / expected),
            should_stop=should_stop,
        )
        meter.enter(INDEXES)
        # Two tables at a time. With foreign_key_checks off a foreign key on indexed columns
        # changes the dictionary only; the rows were made to satisfy it.
        largest = [one for one in _INDEXES if one.startswith("ALTER TABLE order_line")]
        others = [one for one in _INDEXES if one not in largest]
        for parts in ([largest, others], [_FOREIGN_KEYS]):
            tasks = [execute_each(part) for part in parts]
            run_all(server, tasks, should_stop, database=rules.DATABASE)
        meter.enter(CHECKS)
        self._verify(server, loaded, should_stop)

    def _verify(
        self, server: ServerInstance, loaded: Mapping[str, int], should_stop: Callable[[], bool]
    ) -> None:
        """Count the rows, check their consistency and refresh the optimizer's statistics."""
        names = list(loaded)
        count = execute_each([f"SELECT COUNT(*) FROM {name}" for name in names])  # noqa: S608
        checks: list[Callable[[Connection[Any]], list[Any]]] = [count, check_consistency]
        counted, violations = run_all(server, checks, should_stop, database=rules.DATABASE)
        found = {name: int(row[0]) for name, row in zip(names, counted, strict=True)}
        expected = {**loaded, **rules.expected_rows(self.warehouses)}
        if found != expected:
            raise LoadFailed(f"rows are missing: expected {expected}, found {found}")
        if violations:
            raise LoadFailed(f"the loaded rows break {violations[0]} ({len(violations)} found)")
        analyze = execute_each([f"ANALYZE TABLE {', '.join(names)}"])
        run_all(server, [analyze], should_stop, database=rules.DATABASE)


def _statements(file: str) -> tuple[str, ...]:
    text = (Path(__file__).parent / "sql" / file).read_text(encoding="utf-8")
    return tuple(part.strip() for part in text.split(";\n") if part.strip())


#: Makes the database and each table with its primary key only.
_CREATE = (
    f"CREATE DATABASE IF NOT EXISTS {rules.DATABASE}",
    f"USE {rules.DATABASE}",
    *_statements("tables.sql"),
)
#: Builds all secondary indexes of a table in one pass over its rows.
_INDEXES = _statements("indexes.sql")
#: Adds the foreign keys of a table, for which indexes exist by then.
_FOREIGN_KEYS = _statements("foreign_keys.sql")

"""Filling an empty server with TPC-C's population: rows, indexes, foreign keys, checks."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pymysql
from pymysql.connections import Connection

from benchmarks.datasets import rules, schema
from benchmarks.datasets.consistency import check_consistency
from benchmarks.datasets.parallel_load import load_rows
from benchmarks.datasets.progress import Meter, ProgressCallback, ignore, never
from benchmarks.datasets.statements import execute_each, run_all
from benchmarks.errors import LoadFailed
from benchmarks.servers.instance import ServerInstance

ROWS = "loading rows"
INDEXES = "building indexes"
CHECKS = "checking the rows"


@dataclass(frozen=True)
class LoadReport:
    """Rows of each table and seconds of each phase."""

    rows: Mapping[str, int]
    seconds: Mapping[str, float]


def default_jobs() -> int:
    """One loading process for each processor we may use: each keeps a server thread busy too,
    and neither waits for the disk.
    """
    return max(1, len(os.sched_getaffinity(0)))


def plan(warehouses: int) -> dict[str, float]:
    """The phases of `load` and about how many seconds each takes on two processors."""
    return {
        ROWS: 0.5 + 1.2 * warehouses,
        INDEXES: 0.2 + 0.4 * warehouses,
        CHECKS: 0.1 + 0.2 * warehouses,
    }


def load(
    instance: ServerInstance,
    warehouses: int,
    *,
    seed: int = rules.DEFAULT_SEED,
    jobs: int | None = None,
    progress: ProgressCallback = ignore,
    should_stop: Callable[[], bool] = never,
    meter: Meter | None = None,
) -> LoadReport:
    """Create and fill the database `tpcc`, which must not hold tables yet.

    The server must allow local_infile. `meter` replaces `progress` where loading is a part of
    something longer. Raises LoadFailed (a statement failed, rows are missing, a consistency
    condition does not hold; the tables are then unusable) and RunFailed(CANCELLED).
    """
    if not 1 <= warehouses <= rules.MAX_WAREHOUSES:
        raise ValueError(f"warehouses must be 1 to {rules.MAX_WAREHOUSES}, not {warehouses}")
    meter = meter or Meter(progress, plan(warehouses))
    try:
        meter.enter(ROWS)
        create_tables(instance)
        rows = _load_rows(instance, warehouses, seed, jobs or default_jobs(), meter, should_stop)
        meter.enter(INDEXES)
        add_indexes(instance, should_stop)
        meter.enter(CHECKS)
        verify(instance, rows, warehouses, should_stop)
    except pymysql.Error as error:
        raise LoadFailed(f"loading failed: {error}") from error
    meter.finish()
    return LoadReport(rows, dict(meter.seconds))


def create_tables(instance: ServerInstance) -> None:
    """The database and its tables, with primary keys only."""
    with contextlib.closing(instance.connect()) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE IF NOT EXISTS {rules.DATABASE}")
        cursor.execute(f"USE {rules.DATABASE}")
        for statement in schema.TABLES:
            cursor.execute(statement)


def add_indexes(instance: ServerInstance, should_stop: Callable[[], bool]) -> None:
    """Secondary indexes, two tables at a time, then the foreign keys.

    With foreign_key_checks off a foreign key on indexed columns changes the dictionary only; the
    rows were made to satisfy it.
    """
    largest = [one for one in schema.INDEXES if one.startswith("ALTER TABLE order_line")]
    others = [one for one in schema.INDEXES if one not in largest]
    run_all(instance, [execute_each(part) for part in (largest, others)], should_stop)
    run_all(instance, [execute_each(schema.FOREIGN_KEYS)], should_stop)


def verify(
    instance: ServerInstance,
    loaded: Mapping[str, int],
    warehouses: int,
    should_stop: Callable[[], bool],
) -> None:
    """Count the rows, check the consistency conditions and refresh the optimizer's statistics."""
    names = list(loaded)
    count = execute_each([f"SELECT COUNT(*) FROM {name}" for name in names])  # noqa: S608
    checks: list[Callable[[Connection[Any]], list[Any]]] = [count, check_consistency]
    counted, violations = run_all(instance, checks, should_stop)
    found = {name: int(row[0]) for name, row in zip(names, counted, strict=True)}
    expected = {**loaded, **rules.expected_rows(warehouses)}
    if found != expected:
        raise LoadFailed(f"rows are missing: expected {expected}, found {found}")
    if violations:
        raise LoadFailed(f"the loaded rows break {violations[0]} ({len(violations)} found)")
    run_all(instance, [execute_each([f"ANALYZE TABLE {', '.join(names)}"])], should_stop)


def _load_rows(
    instance: ServerInstance,
    warehouses: int,
    seed: int,
    jobs: int,
    meter: Meter,
    should_stop: Callable[[], bool],
) -> dict[str, int]:
    def on_rows(count: int, share: float) -> None:
        meter.rows += count
        meter.advance(share)

    return load_rows(
        instance, warehouses, seed=seed, jobs=jobs, on_rows=on_rows, should_stop=should_stop
    )

"""The tables of sysbench's own OLTP scripts, as `sysbench prepare` makes them.

Only `k` differs: it is drawn evenly, where sysbench draws most values from a hundredth of them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.datasets.loading import Batch, Meter, execute_each, load_rows, run_all
from benchmarks.datasets.text import Bytes, digits, join, numeric
from benchmarks.errors import LoadFailed
from benchmarks.servers.instance import ServerInstance

SCHEMA = "sbtest"
#: Raised whenever the rows change.
VERSION = 2
MAX_TABLES = 1_000
MAX_TABLE_SIZE = 1_000_000_000
SEED = 20161
ROWS = "loading rows"
INDEXES = "building indexes"
PHASES = {ROWS: 0.67, INDEXES: 0.33}
_BATCH_ROWS = 100_000
# Measured with 16 KiB pages, the index on k included.
_BYTES_PER_ROW = 240
_BYTES_PER_TABLE = 6_000_000
_CREATE = """
CREATE TABLE sbtest{} (
    id INTEGER NOT NULL AUTO_INCREMENT,
    k INTEGER DEFAULT '0' NOT NULL,
    c CHAR(120) DEFAULT '' NOT NULL,
    pad CHAR(60) DEFAULT '' NOT NULL,
    PRIMARY KEY (id)
) ENGINE=InnoDB
"""


def estimated_bytes(tables: int, table_size: int) -> int:
    """Return about how large tables and indexes are."""
    return tables * (table_size * _BYTES_PER_ROW + _BYTES_PER_TABLE)


def load(
    tables: int,
    table_size: int,
    server: ServerInstance,
    jobs: int,
    meter: Meter,
    should_stop: Callable[[], bool],
) -> None:
    """Load the tables, see `DatasetSource.load`."""
    numbers = range(1, tables + 1)
    meter.enter(ROWS)
    create = [_CREATE.format(number) for number in numbers]
    begin = [f"CREATE DATABASE IF NOT EXISTS {SCHEMA}", f"USE {SCHEMA}", *create]
    run_all(server, [execute_each(begin)], should_stop)
    loaded = load_rows(
        server,
        SCHEMA,
        [
            Batch(f"sbtest{number}", rows, (number, first, table_size))
            for first in range(1, table_size + 1, _BATCH_ROWS)
            for number in numbers
        ],
        jobs=jobs,
        on_rows=lambda rows: meter.advance(rows / (tables * table_size)),
        should_stop=should_stop,
    )
    if loaded != {f"sbtest{number}": table_size for number in numbers}:
        raise LoadFailed(f"rows are missing: {dict(loaded)}")
    meter.enter(INDEXES)
    indexes = [f"CREATE INDEX k_{number} ON sbtest{number} (k)" for number in numbers]
    names = ", ".join(f"sbtest{number}" for number in numbers)
    for part in ([indexes[0::2], indexes[1::2]], [[f"ANALYZE TABLE {names}"]]):
        run_all(server, [execute_each(one) for one in part], should_stop, database=SCHEMA)


def rows(number: int, first: int, table_size: int) -> Bytes:
    """Return the lines of a table from the row `first` on, at most a batch."""
    ids = np.arange(first, min(first + _BATCH_ROWS, table_size + 1))
    seed = np.random.SeedSequence(SEED, spawn_key=(number, first))
    rng = np.random.Generator(np.random.SFC64(seed))
    return join(
        digits(ids, 10),
        digits(rng.integers(1, table_size + 1, len(ids)), 10),
        _groups(rng, len(ids), 10),
        _groups(rng, len(ids), 5),
    )


def _groups(rng: np.random.Generator, count: int, groups: int) -> Bytes:
    """Return groups of 11 random digits with dashes between them."""
    cells = numeric(rng, count, groups * 12 - 1)
    cells[:, 11::12] = ord("-")
    return cells

"""The tables of sysbench's own OLTP scripts, as `sysbench prepare` makes them.

Only `k` differs: it is drawn evenly, where sysbench draws most values from a hundredth of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.random  # now: a loading process may not be able to read it later

from benchmarks.counted import counted, plural
from benchmarks.datasets.loading import Batch, load_rows
from benchmarks.datasets.progress import Meter
from benchmarks.datasets.statements import execute_each, run_all
from benchmarks.datasets.text import Bytes, Column, Ints, constant, digits, join, numeric
from benchmarks.errors import LoadFailed
from benchmarks.servers.instance import ServerInstance

SCHEMA = "sbtest"
ROWS = "loading rows"
INDEXES = "building indexes"
MAX_TABLES = 1_000
MAX_TABLE_SIZE = 1_000_000_000
_SEED = 20161
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


@dataclass(frozen=True)
class SbtestSource:
    """So many tables of `table_size` rows each. Raises ValueError for impossible sizes."""

    tables: int
    table_size: int
    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        for name, value, most in (
            ("tables", self.tables, MAX_TABLES),
            ("table_size", self.table_size, MAX_TABLE_SIZE),
        ):
            if not 1 <= value <= most:
                raise ValueError(f"{name} must be 1 to {most}, not {value}")

    @property
    def name(self) -> str:
        return f"sbtest-{self.tables}x{self.table_size}"

    @property
    def title(self) -> str:
        rows = f"{self.table_size:,} {plural(self.table_size, 'row')}"
        return f"{counted(self.tables, 'table')} of {rows}"

    @property
    def identity(self) -> Mapping[str, object]:
        return {"tables": self.tables, "table_size": self.table_size, "seed": _SEED}

    @property
    def data_bytes(self) -> int:
        return self.tables * (self.table_size * _BYTES_PER_ROW + _BYTES_PER_TABLE)

    @property
    def phases(self) -> Mapping[str, float]:
        millions = self.tables * self.table_size / 1e6
        return {ROWS: 0.5 + 6 * millions, INDEXES: 0.2 + 3 * millions}

    def load(
        self, server: ServerInstance, jobs: int, meter: Meter, should_stop: Callable[[], bool]
    ) -> None:
        """See `DatasetSource.load`. The server must allow local_infile."""
        numbers = range(1, self.tables + 1)

        meter.enter(ROWS)
        create = [_CREATE.format(number) for number in numbers]
        begin = [f"CREATE DATABASE IF NOT EXISTS {SCHEMA}", f"USE {SCHEMA}", *create]
        run_all(server, [execute_each(begin)], should_stop)
        batches = [
            Batch(f"sbtest{number}", rows, (number, first, self.table_size))
            for first in range(1, self.table_size + 1, _BATCH_ROWS)
            for number in numbers
        ]
        loaded = load_rows(
            server,
            SCHEMA,
            batches,
            jobs=jobs,
            on_rows=lambda rows: meter.advance(rows / (self.tables * self.table_size)),
            should_stop=should_stop,
        )
        if loaded != {f"sbtest{number}": self.table_size for number in numbers}:
            raise LoadFailed(f"rows are missing: {dict(loaded)}")
        meter.enter(INDEXES)
        indexes = [f"CREATE INDEX k_{number} ON sbtest{number} (k)" for number in numbers]
        names = ", ".join(f"sbtest{number}" for number in numbers)
        for part in ([indexes[0::2], indexes[1::2]], [[f"ANALYZE TABLE {names}"]]):
            run_all(server, [execute_each(one) for one in part], should_stop, database=SCHEMA)


def rows(number: int, first: int, table_size: int) -> Bytes:
    """Return the lines of a table from the row `first` on, at most a batch."""
    ids: Ints = np.arange(first, min(first + _BATCH_ROWS, table_size + 1))
    seed = np.random.SeedSequence(_SEED, spawn_key=(number, first))
    rng = np.random.Generator(np.random.SFC64(seed))
    return join(
        len(ids),
        [
            digits(ids, 10),
            digits(rng.integers(1, table_size + 1, len(ids)), 10),
            _groups(rng, len(ids), 10),
            _groups(rng, len(ids), 5),
        ],
    )


def _groups(rng: np.random.Generator, count: int, groups: int) -> Column:
    """Groups of 11 random digits with dashes between them."""
    cells = numeric(rng, count, groups * 12 - 1).cells
    cells[:, 11::12] = constant(b"-").cells[0, 0]
    return Column(cells)

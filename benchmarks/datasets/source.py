"""The two ends of preparing data: where it comes from, and the golden copy that runs clone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from benchmarks.counted import counted, plural
from benchmarks.datasets import sbtest, tpcc
from benchmarks.datasets.loading import Meter
from benchmarks.datasets.tpcc_rows import SEED
from benchmarks.drivers.protocol import Workload
from benchmarks.drivers.workloads import TPCC
from benchmarks.servers.instance import ServerInstance

#: w_id is a signed SMALLINT in tpcc-mysql's schema.
_MAX_WAREHOUSES = 32_767


@dataclass(frozen=True)
class Dataset:
    """A golden copy: `path` is its folder, `bytes` what a clone takes on the disk.

    A clone starts only with `options`.
    """

    path: Path
    bytes: int
    options: Mapping[str, str]

    @property
    def key(self) -> str:
        """Name of server, data and page size: runs on other keys are not comparable."""
        return self.path.name

    @property
    def data_dir(self) -> Path:
        """The data directory. Never start a server on it: clone it."""
        return self.path / "data"


@dataclass(frozen=True)
class DatasetSource:
    """Data that can be loaded into an empty server.

    name: part of the golden copy's key, such as "w10". title: the size, such as "10 warehouses".
    version: raised whenever its rows change.
    identity: facts about the data, by which a golden copy is known to be the one asked for.
    data_bytes: estimated size of tables and indexes. phases: the phases of `load`, each with its
    share of the time.
    load: creates and fills the tables of a server with so many threads. Raises LoadFailed,
    pymysql.Error, OSError and RunFailed: CANCELLED.
    """

    name: str
    title: str
    version: int
    identity: Mapping[str, object] = field(hash=False)
    data_bytes: int
    phases: Mapping[str, float] = field(hash=False)
    load: Callable[[ServerInstance, int, Meter, Callable[[], bool]], None] = field(
        repr=False, compare=False
    )


def source_of(workload: Workload) -> DatasetSource:
    """Return where the data of a workload comes from. Raises ValueError for impossible sizes."""
    make = tpcc_source if workload.name == TPCC else sbtest_source
    return make(**workload.parameters)


def tpcc_source(warehouses: int) -> DatasetSource:
    """Return TPC-C's population of so many warehouses. Raises ValueError."""
    _check("warehouses", warehouses, _MAX_WAREHOUSES)
    return DatasetSource(
        name=f"w{warehouses}",
        title=counted(warehouses, "warehouse"),
        version=tpcc.VERSION,
        identity={"warehouses": warehouses, "seed": SEED},
        data_bytes=tpcc.estimated_bytes(warehouses),
        phases=tpcc.PHASES,
        load=partial(tpcc.load, warehouses),
    )


def sbtest_source(tables: int, table_size: int) -> DatasetSource:
    """Return sysbench's tables, of `table_size` rows each. Raises ValueError."""
    _check("tables", tables, sbtest.MAX_TABLES)
    _check("table_size", table_size, sbtest.MAX_TABLE_SIZE)
    return DatasetSource(
        name=f"sbtest-{tables}x{table_size}",
        title=f"{counted(tables, 'table')} of {table_size:,} {plural(table_size, 'row')}",
        version=sbtest.VERSION,
        identity={"tables": tables, "table_size": table_size, "seed": sbtest.SEED},
        data_bytes=sbtest.estimated_bytes(tables, table_size),
        phases=sbtest.PHASES,
        load=partial(sbtest.load, tables, table_size),
    )


def _check(name: str, value: int, most: int) -> None:
    if not 1 <= value <= most:
        raise ValueError(f"{name} must be 1 to {most}, not {value}")

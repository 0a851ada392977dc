"""The two ends of preparing data: where it comes from, and the golden copy that runs clone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from benchmarks.datasets.progress import Meter
from benchmarks.datasets.sbtest import SbtestSource
from benchmarks.datasets.tpcc import TpccSource
from benchmarks.drivers.protocol import Workload
from benchmarks.drivers.workloads import TPCC
from benchmarks.servers.instance import ServerInstance


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


class DatasetSource(Protocol):
    """Data that can be loaded into an empty server.

    name: part of the golden copy's key, such as "w10". title: the size, such as "10 warehouses".
    version: raised whenever its rows change.
    identity: facts about the data, by which a golden copy is known to be the one asked for.
    data_bytes: estimated size of tables and indexes. phases: those of `load` with their seconds on
    two processors, of which only the proportion matters.
    """

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def version(self) -> int: ...

    @property
    def identity(self) -> Mapping[str, object]: ...

    @property
    def data_bytes(self) -> int: ...

    @property
    def phases(self) -> Mapping[str, float]: ...

    def load(
        self, server: ServerInstance, jobs: int, meter: Meter, should_stop: Callable[[], bool]
    ) -> None:
        """Create and fill the tables with `jobs` processes.

        Raises LoadFailed, pymysql.Error, and RunFailed: CANCELLED, LOST, OUT_OF_MEMORY.
        """
        ...


def source_of(workload: Workload) -> DatasetSource:
    """Return where the data of a workload comes from. Raises ValueError for impossible sizes."""
    kind = TpccSource if workload.name == TPCC else SbtestSource
    return kind(**workload.parameters)

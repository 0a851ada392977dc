"""The load and the sizes of a study: fields of every request that measures, and what they are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field, StrictInt, ValidationInfo
from pydantic_core import PydanticCustomError

from benchmarks.datasets.sbtest import MAX_TABLE_SIZE, MAX_TABLES
from benchmarks.datasets.source import DatasetSource, source_of
from benchmarks.drivers.protocol import Workload
from benchmarks.drivers.workloads import OLTP_DRIVER, TPCC, WORKLOADS
from tuning.requests.fields import MAX_HOST_NAME, OTHER_WORKLOAD, Cli

MAX_WAREHOUSES = 10_000
#: About as much data as the 10 warehouses of most templates.
USUAL_TABLES = 8
USUAL_TABLE_SIZE = 500_000
MAX_SECONDS = 86_400
MAX_MINUTES = 7 * 24 * 60


def _workload(name: str) -> str:
    if name not in WORKLOADS:
        raise ValueError(f"must be one of {', '.join(WORKLOADS)}")
    return name


_TPCC_ONLY = "only TPC-C has warehouses: state tables and rows instead, or choose tpcc"
_SCALED = "a scale model of a real server is made of TPC-C's warehouses: choose tpcc"
_OLTP_ONLY = "only sysbench's workloads have tables of a size: choose one, or state warehouses"
#: Reasons to refuse a field beside TPC-C, and beside the other workloads.
_BESIDE_TPCC: Final = {"tables": _OLTP_ONLY, "table_size": _OLTP_ONLY}
_BESIDE_OLTP: Final = {
    "warehouses": _TPCC_ONLY,
    "data_size": _SCALED,
    "memory": _SCALED,
    "profile": _SCALED,
    "driver": f"only {OLTP_DRIVER} runs this workload",
}
#: Fields that not every workload has; a request declares its workload before them.
OF_WORKLOADS: Final = (*_BESIDE_TPCC, *_BESIDE_OLTP)


def check_workload(value: Any, info: ValidationInfo) -> Any:
    """Return the value of a field; raise an error where the workload does not have it."""
    workload, name = info.data.get("workload"), info.field_name or ""
    refused = _BESIDE_TPCC if workload == TPCC else _BESIDE_OLTP
    if workload and value not in (None, "auto", OLTP_DRIVER) and name in refused:
        raise PydanticCustomError(OTHER_WORKLOAD, refused[name])
    return value


WorkloadName = Annotated[
    str,
    AfterValidator(_workload),
    Field(
        title="Workload",
        description="tpcc: TPC-C's five transactions, of which New-Orders count. oltp_...: "
        "sysbench's own script of that name, of which every transaction counts.",
        json_schema_extra={"enum": list(WORKLOADS)},
    ),
]
#: Whether the host has a driver is found when a study is planned.
Driver = Annotated[
    str,
    Field(
        max_length=64,
        title="Driver",
        description="The program that sends the transactions; auto is tpcc-mysql if installed "
        "and the workload is TPC-C, else sysbench.",
        json_schema_extra={"enum": ["auto", "tpcc-mysql", "sysbench"]},
    ),
]
LoadHost = Annotated[
    str,
    Field(
        max_length=MAX_HOST_NAME,
        title="Run the driver on",
        description="Another host drives the server over the network and takes no CPU time from "
        "it; by default the driver runs beside the server. Only runs with the same load host are "
        "ranked together.",
    ),
    Cli("load-host", "NAME"),
]
Warehouses = Annotated[
    StrictInt | None,
    Field(ge=1, le=MAX_WAREHOUSES, title="Warehouses", description="Size of TPC-C's dataset."),
    Cli("warehouses", "N"),
]
Tables = Annotated[
    StrictInt | None,
    Field(
        ge=1,
        le=MAX_TABLES,
        title="Tables",
        description=f"Tables of an oltp workload, {USUAL_TABLES} by default.",
        examples=[USUAL_TABLES],
    ),
    Cli("tables", "N"),
]
TableSize = Annotated[
    StrictInt | None,
    Field(
        ge=1,
        le=MAX_TABLE_SIZE,
        title="Rows of each table",
        description=f"Of an oltp workload, {USUAL_TABLE_SIZE:,} by default; a row takes 240 "
        "bytes.",
        examples=[USUAL_TABLE_SIZE],
    ),
    Cli("table-size", "ROWS"),
]
WarmupS = Annotated[
    StrictInt | None,
    Field(ge=0, le=MAX_SECONDS, title="Warm-up, seconds", description="Warm-up, in seconds."),
    Cli("warmup", "S"),
]
MeasureS = Annotated[
    StrictInt | None,
    Field(
        ge=1,
        le=MAX_SECONDS,
        title="Measurement, seconds",
        description="Measured interval, in seconds.",
    ),
    Cli("measure", "S"),
]
Minutes = Annotated[
    StrictInt | None,
    Field(ge=1, le=MAX_MINUTES, title="Budget, minutes"),
    Cli("budget", "MINUTES"),
]
Seed = Annotated[
    Annotated[StrictInt, Field(ge=0, le=2**62)] | None,
    Field(title="Seed", description="Seed of the random order. Default: drawn."),
    Cli(""),
]


@dataclass(frozen=True)
class Sizes:
    """The sizes of a study; seconds are those of one run."""

    workload: Workload
    connections: tuple[int, ...]
    warmup_s: int
    measure_s: int
    blocks: int

    @cached_property
    def source(self) -> DatasetSource:
        """Where the data comes from."""
        return source_of(self.workload)

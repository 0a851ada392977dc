"""The load of a study or a gate: the fields that both requests have, and their sizes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Final

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StrictInt,
    ValidationInfo,
    field_validator,
)
from pydantic_core import PydanticCustomError

from benchmarks.datasets.sbtest import MAX_TABLE_SIZE, MAX_TABLES
from benchmarks.datasets.source import DatasetSource, source_of
from benchmarks.drivers.protocol import Workload
from benchmarks.drivers.workloads import OLTP_DRIVER, TPCC, WORKLOADS
from tuning.catalogue.knob import Durability
from tuning.requests.fields import SAYS_ALL, Cli, HostName, Request

MAX_WAREHOUSES = 10_000
#: About as much data as the 10 warehouses of most templates.
USUAL_TABLES = 8
USUAL_TABLE_SIZE = 500_000
MAX_SECONDS = 86_400
MAX_MINUTES = 7 * 24 * 60
MAX_CONNECTIONS = 10_000

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


def _workload(name: str) -> str:
    if name not in WORKLOADS:
        raise ValueError(f"must be one of {', '.join(WORKLOADS)}")
    return name


def _upper(value: object) -> object:
    return value.upper() if isinstance(value, str) else value


Connections = Annotated[StrictInt, Field(ge=1, le=MAX_CONNECTIONS)]


class LoadRequest(Request):
    """The fields that studies and gates share: a load, its sizes and its time on a host."""

    workload: Annotated[str, AfterValidator(_workload)] = Field(
        TPCC,
        title="Workload",
        description="tpcc: TPC-C's five transactions, of which New-Orders count. oltp_...: "
        "sysbench's own script of that name, of which every transaction counts.",
        json_schema_extra={"enum": list(WORKLOADS)},
    )
    # Whether the host has the driver is found when a study is planned.
    driver: str = Field(
        "auto",
        max_length=64,
        title="Driver",
        description="The program that sends the transactions; auto is tpcc-mysql if installed "
        "and the workload is TPC-C, else sysbench.",
        json_schema_extra={"enum": ["auto", "tpcc-mysql", "sysbench"]},
    )
    load_host: Annotated[HostName, Cli("load-host", "NAME")] = Field(
        "",
        title="Run the driver on",
        description="Another host drives the server over the network and takes no CPU time from "
        "it; by default the driver runs beside the server. Only runs with the same load host are "
        "ranked together.",
    )
    warehouses: Annotated[StrictInt | None, Cli("warehouses", "N")] = Field(
        None,
        ge=1,
        le=MAX_WAREHOUSES,
        title="Warehouses",
        description="Size of TPC-C's dataset.",
    )
    tables: Annotated[StrictInt | None, Cli("tables", "N")] = Field(
        None,
        ge=1,
        le=MAX_TABLES,
        title="Tables",
        description=f"Tables of an oltp workload, {USUAL_TABLES} by default.",
        examples=[USUAL_TABLES],
    )
    table_size: Annotated[StrictInt | None, Cli("table-size", "ROWS")] = Field(
        None,
        ge=1,
        le=MAX_TABLE_SIZE,
        title="Rows of each table",
        description=f"Of an oltp workload, {USUAL_TABLE_SIZE:,} by default; a row takes 240 "
        "bytes.",
        examples=[USUAL_TABLE_SIZE],
    )
    warmup_s: Annotated[StrictInt | None, Cli("warmup", "S")] = Field(
        None, ge=0, le=MAX_SECONDS, title="Warm-up, seconds", description="Warm-up, in seconds."
    )
    measure_s: Annotated[StrictInt | None, Cli("measure", "S")] = Field(
        None,
        ge=1,
        le=MAX_SECONDS,
        title="Measurement, seconds",
        description="Measured interval, in seconds.",
    )
    budget_minutes: Annotated[StrictInt | None, Cli("budget", "MINUTES")] = Field(
        None,
        ge=1,
        le=MAX_MINUTES,
        title="Budget, minutes",
        description="Limits the blocks or pairs by time instead of by number.",
    )
    durability: Annotated[
        Durability, BeforeValidator(_upper, json_schema_input_type=Durability)
    ] = Field(
        Durability.D0,
        title="Least safe class to accept",
        description="The least safe class that configs may have; D0 loses nothing.",
    )
    seed: Annotated[Annotated[StrictInt, Field(ge=0, le=2**62)] | None, Cli("")] = Field(
        None, title="Seed", description="Seed of the random order. Default: drawn."
    )

    @field_validator("*")
    @classmethod
    def _is_of_workload(cls, value: Any, info: ValidationInfo) -> Any:
        workload, name = info.data.get("workload"), info.field_name or ""
        refused = _BESIDE_TPCC if workload == TPCC else _BESIDE_OLTP
        if workload and value not in (None, "auto", OLTP_DRIVER) and name in refused:
            raise PydanticCustomError(SAYS_ALL, refused[name])
        return value


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

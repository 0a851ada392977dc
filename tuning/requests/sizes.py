"""The load and the sizes of a study: fields of every request that measures, and what they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import BeforeValidator, Field, StrictInt

from tuning.requests.fields import MAX_HOST_NAME, Cli

MAX_LOAD_HOSTS = 20
MAX_WAREHOUSES = 10_000
MAX_SECONDS = 86_400
MAX_MINUTES = 7 * 24 * 60


def _one_or_more(value: object) -> object:
    """Take the name of one host as a list of one."""
    if isinstance(value, str):
        return (value,) if value else ()
    return value


#: Whether the host has a driver is found when a study is planned.
Driver = Annotated[
    str,
    Field(
        max_length=64,
        title="Driver",
        description="The program that sends the TPC-C transactions; auto is tpcc-mysql if "
        "installed, else sysbench.",
        json_schema_extra={"enum": ["auto", "tpcc-mysql", "sysbench"]},
    ),
]
LoadHosts = Annotated[
    Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=MAX_HOST_NAME)], ...],
        Field(max_length=MAX_LOAD_HOSTS),
    ],
    BeforeValidator(_one_or_more, json_schema_input_type=str | tuple[str, ...]),
    Field(
        title="Run the driver on",
        description="Another host, or several that share the connections, drive the server over "
        "the network and take no CPU time from it; by default the driver runs beside the server. "
        "Only runs with the same load hosts are ranked together.",
    ),
    Cli("load-host", "NAME"),
]
Warehouses = Annotated[
    StrictInt | None,
    Field(ge=1, le=MAX_WAREHOUSES, title="Warehouses", description="Size of the dataset."),
    Cli("warehouses", "N"),
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

    warehouses: int
    connections: tuple[int, ...]
    warmup_s: int
    measure_s: int
    blocks: int

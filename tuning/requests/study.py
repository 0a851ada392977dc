"""The request for a study, on one host or on several."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StrictBool, StrictInt

from benchmarks.datafiles import distinct
from benchmarks.drivers.workloads import workload_of
from tuning.catalogue.costs import CostKind, read_kinds
from tuning.catalogue.target import Origin
from tuning.requests.configs import ORIGIN_HELP, ConfigText, origin_of
from tuning.requests.device import DeviceRequest
from tuning.requests.fields import MAX_ID, Cli, HostName, HostPath, Size, given
from tuning.requests.load import (
    USUAL_TABLE_SIZE,
    USUAL_TABLES,
    Connections,
    LoadRequest,
    Sizes,
)
from tuning.requests.search import SearchRequest
from tuning.study_templates.loader import USUAL_TEMPLATE, StudyTemplate

# Each device and each number of connections is measured with its own blocks, and each config costs
# a run in every block.
MAX_DEVICES = 20
MAX_WORKLOADS = 20
MAX_CONFIGS = 20
MAX_HOSTS = 20
MAX_BLOCKS = 1_000
MAX_NAME = 200
MAX_PAUSE_REASON = 200
_DUPLICATES = "Measure configs with the same effective values separately (A/A comparison)"


def _numbers(value: object) -> object:
    """Numbers with commas between them as a list."""
    if not isinstance(value, str):
        return value
    try:
        return [int(part) for part in value.split(",")]
    except ValueError:
        form = "must be whole numbers separated by commas, such as 8 or 8, 32, 128"
        raise ValueError(form) from None


def _different(numbers: list[int] | None) -> list[int] | None:
    """Refuse a number twice, which would be two rankings of the same load."""
    if numbers is not None and len(set(numbers)) < len(numbers):
        raise ValueError("has the same number twice")
    return numbers


def _kinds(value: object) -> object:
    """Kinds of cost with commas between them as a set."""
    return read_kinds(value) if isinstance(value, str) else value


def _origin(text: str) -> str:
    origin_of(text)
    return text


class _StudyFields(LoadRequest):
    """The fields that studies on one host and on several have in common."""

    template: str = Field(
        USUAL_TEMPLATE, max_length=64, title="Template", description="Study template."
    )
    name: Annotated[str, Cli("")] = Field(
        "",
        max_length=MAX_NAME,
        title="Name",
        description="Shown in the list of studies. Optional.",
    )
    devices: Annotated[list[DeviceRequest], Cli("device", "[HOST:]DIR")] = Field(
        [],
        max_length=MAX_DEVICES,
        title="Devices",
        description="Each has its own ranking. Default: the host's usual device.",
    )
    server: Annotated[HostPath | None, Cli("server", "PATH_TO_MYSQLD")] = Field(
        None,
        title="Server binary",
        description="Path of a mysqld or mariadbd that the host has. If empty, its first one.",
    )
    configs: Annotated[list[ConfigText], Cli("config", "FILE.cnf")] = Field(
        [],
        max_length=MAX_CONFIGS,
        title="Your files",
        description="Candidates of yours, in addition to the template's.",
    )
    translate_from: Annotated[str, AfterValidator(_origin), Cli("translate-from", "SERVER")] = (
        Field("", max_length=64, title="My files were written for", description=ORIGIN_HELP)
    )
    allow: Annotated[
        frozenset[CostKind],
        BeforeValidator(_kinds, json_schema_input_type=list[CostKind]),
        Cli("allow", "KIND[,KIND...]"),
    ] = Field(
        frozenset(),
        title="Costs that proposals may have",
        description=f"Kinds of cost, other than durability: {', '.join(CostKind)}.",
    )
    connections: Annotated[
        list[Connections] | None,
        AfterValidator(_different),
        BeforeValidator(_numbers, json_schema_input_type=list[int] | None),
        Cli("connections", "N[,N...]"),
    ] = Field(
        None,
        min_length=1,
        max_length=MAX_WORKLOADS,
        title="Connections",
        description="One number, or several separated by commas; each has its own ranking.",
    )
    blocks: Annotated[StrictInt | None, Cli("blocks", "N")] = Field(
        None,
        ge=1,
        le=MAX_BLOCKS,
        title="Blocks",
        description="How many times each candidate runs.",
    )
    races: Annotated[StrictBool | None, Cli("race")] = Field(
        None,
        title="Race",
        description="Drop candidates that are measurably behind; the time saved goes to the rest. "
        "Default: as in the template.",
    )
    confirms: Annotated[StrictBool | None, Cli("confirm")] = Field(
        None,
        title="Confirm the winner",
        description="Measure the winner again, in at least 5 pairs with the baseline; its lead is "
        "otherwise probably overstated. Default: as in the template.",
    )
    ablates: Annotated[StrictBool | None, Cli("test-lines")] = Field(
        None,
        title="Test each line",
        description="Measure a confirmed winner without some of its lines, and leave out lines "
        "that contribute nothing. Default: as in the template; a search does.",
    )
    recovery: StrictBool | None = Field(
        None,
        title="Time crash recovery",
        description="Kill the baseline and the winner under load, three times each, and time how "
        "long they take to serve again. Default: only in a search.",
    )
    binary_log: Annotated[Literal["auto", "on", "off"], Cli("binlog")] = Field(
        "auto",
        title="Binary log",
        description="Whether every run writes a binary log. auto: as your my.cnf or the profile "
        "says, else as the server does by default.",
    )
    keeps_duplicates: Annotated[StrictBool, Cli("keep-duplicates")] = Field(
        False, title=_DUPLICATES, description=f"{_DUPLICATES}."
    )
    data_size: Annotated[Size | None, Cli("data-size", "SIZE")] = Field(
        None,
        title="Data of the real server",
        description="Data of your real server, such as 200G as in a my.cnf, or 200GB (10^9 "
        "bytes). With the memory, the study is a scale model of that server "
        "(docs/how-to/scale.md), and the recommendation is sized back to it.",
    )
    memory: Annotated[Size | None, Cli("memory", "SIZE")] = Field(
        None,
        title="Memory of the real server",
        description="Memory of your real server, such as 48G. Your own files are then those of "
        "the real server.",
    )
    profile: Annotated[StrictInt | None, Cli("")] = Field(
        None,
        ge=1,
        le=MAX_ID,
        title="Profile of the server",
        description="Id of a profile of your real server. Its config is the baseline, its sizes "
        "and connections are those of the study, and its figures decide what is proposed.",
    )
    baseline: str = Field(
        "",
        max_length=MAX_NAME,
        title="Baseline",
        description="Name of the config of yours that the others are compared with. Default: the "
        "first one beside a profile, else the template's.",
    )
    search: SearchRequest | None = Field(
        None,
        title="Search",
        description="Search for better configs, starting with the template's candidates. The "
        "template `search` searches without it.",
    )

    def sizes(self, template: StudyTemplate, logical_cpus: int) -> Sizes:
        """Return the requested sizes, else the template's, which may scale with the CPUs."""
        return Sizes(
            workload=workload_of(
                self.workload,
                warehouses=given(self.warehouses, template.warehouses),
                tables=given(self.tables, USUAL_TABLES),
                table_size=given(self.table_size, USUAL_TABLE_SIZE),
            ),
            connections=tuple(self.connections or template.connections_on(logical_cpus)),
            warmup_s=given(self.warmup_s, template.warmup_s),
            measure_s=given(self.measure_s, template.measure_s),
            blocks=given(self.blocks, template.blocks),
        )

    @property
    def origin(self) -> Origin:
        """The server that the files were written for."""
        return origin_of(self.translate_from)


class StudyRequest(_StudyFields):
    """A request for a study. What is left out is as in the template or on the host."""

    host: Annotated[HostName, Cli("host", "NAME")] = Field(
        "",
        title="Host",
        description="The host to measure on. Default: that of the devices, else the only one or "
        "the one that is asked.",
    )


class GroupRequest(_StudyFields):
    """A request for a study on each of several hosts.

    All use the same server version, driver, data and connections. A device without `host` is
    measured on every host.
    """

    hosts: Annotated[tuple[HostName, ...], distinct(), Cli("host", "NAME")] = Field(
        min_length=2, max_length=MAX_HOSTS, title="Hosts", description="Their names."
    )

    def on(self, host: str, **changes: object) -> StudyRequest:
        """Return the request for one of the hosts."""
        fields = {name: getattr(self, name) for name in self.model_fields_set - {"hosts"}}
        return StudyRequest.model_construct(**(fields | {"host": host} | changes))

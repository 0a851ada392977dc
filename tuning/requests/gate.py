"""The request for a gate: a candidate, a baseline, and by how much the candidate may be worse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StrictInt,
    ValidationInfo,
    field_validator,
)

from tuning.requests.configs import ConfigText
from tuning.requests.device import DeviceRequest
from tuning.requests.fields import Cli, HostName, HostPath, KnobName, Request, Value
from tuning.requests.load import Connections, LoadRequest
from tuning.requests.search import MAX_SETTINGS, settings
from tuning.requests.study import StudyRequest
from tuning.statistics.data import Metric
from tuning.statistics.gate import (
    CONFIDENCES,
    DEFAULT_CONFIDENCE,
    DEFAULT_LIMITS,
    DEFAULT_PAIRS,
    MAX_LOSS,
    GatePlan,
    Limit,
)
from tuning.statistics.looks import FIRST_LOOK, MAX_LOOKS

MAX_GATE_NAME = 100
MAX_STORED = 200


def _limits(value: object) -> object:
    """Texts such as `p95 +5%` as percent by metric."""
    if not isinstance(value, list | tuple):
        return value
    limits = [Limit.parse(f"{text}") for text in value]
    if len({one.metric for one in limits}) < len(limits):
        raise ValueError("names a metric twice")
    return {one.metric: one.loss * 100 for one in limits}


class GateSide(Request):
    """One side of a gate: a config, a server, or both.

    Without a config a baseline has the server's defaults and a candidate the baseline's config.
    """

    config: ConfigText | None = Field(None, description="A my.cnf.")
    stored: str = Field(
        "",
        max_length=MAX_STORED,
        description="Instead of `config`: `default`, the hash of a stored config (8 characters or "
        "more), `study:ID`, or the name of a study, for the config that it recommends.",
    )
    knobs: Annotated[
        Mapping[KnobName, Value],
        BeforeValidator(settings, json_schema_input_type=Mapping[str, str]),
        Cli("set", "NAME=VALUE"),
    ] = Field(
        {},
        max_length=MAX_SETTINGS,
        description="Changes of the config, such as innodb_io_capacity=4000.",
    )
    server: Annotated[HostPath | None, Cli("server", "PATH_TO_MYSQLD")] = Field(
        None,
        description="Path of a server program that the host has. Default: that of the baseline, "
        "and for the baseline the host's first.",
    )

    @field_validator("stored")
    @classmethod
    def _one_config(cls, stored: str, info: ValidationInfo) -> str:
        if stored and info.data.get("config") is not None:
            raise ValueError("name a file or a stored config, not both")
        return stored

    @property
    def names_config(self) -> bool:
        """Whether it has a config of its own."""
        return self.config is not None or bool(self.stored)


def _candidate(side: GateSide) -> GateSide:
    if not (side.names_config or side.knobs or side.server):
        raise ValueError("a candidate has a config, variables or a server of its own")
    return side


def _printable(name: str) -> str:
    if not name.isprintable():
        raise ValueError(f"a gate needs a name of 1 to {MAX_GATE_NAME} printable characters")
    return name


class GateRequest(LoadRequest):
    """A request for a gate; sizes that are left out are those of the usual template."""

    name: Annotated[str, AfterValidator(_printable)] = Field(
        min_length=1, max_length=MAX_GATE_NAME, description="Its history goes by this name."
    )
    candidate: Annotated[GateSide, AfterValidator(_candidate), Cli("")] = Field(
        description="Without a config it has that of the baseline, with `knobs` or a server of "
        "its own."
    )
    baseline: Annotated[GateSide, Cli("")] = Field(
        GateSide(), description="Without a config: the server's defaults."
    )
    limits: Annotated[
        Mapping[Metric, Annotated[float, Field(gt=0, le=MAX_LOSS * 100)]],
        BeforeValidator(_limits, json_schema_input_type=Mapping[Metric, float]),
        Cli("limit", "LIMIT"),
    ] = Field(
        {one.metric: one.loss * 100 for one in DEFAULT_LIMITS},
        min_length=1,
        description="By how many percent each metric may be worse, such as 'p95 +5%' (default: "
        f"{', '.join(one.typed for one in DEFAULT_LIMITS)}). Metrics that are left out do not "
        "matter.",
    )
    confidence: Annotated[float, Cli("confidence", "PERCENT")] = Field(
        DEFAULT_CONFIDENCE * 100,
        ge=CONFIDENCES[0] * 100,
        le=CONFIDENCES[1] * 100,
        description="Confidence of each decision, in percent.",
    )
    max_pairs: Annotated[StrictInt, Cli("pairs", "N")] = Field(
        DEFAULT_PAIRS, ge=FIRST_LOOK, le=MAX_LOOKS, description="The most pairs to measure."
    )
    host: Annotated[HostName, Cli("host", "NAME")] = Field(
        "", description="The host to measure on. Default: as for a study."
    )
    device: Annotated[DeviceRequest, Cli("")] = Field(
        DeviceRequest(), description="Default: the host's usual device."
    )
    connections: Annotated[Connections | None, Cli("connections", "N")] = Field(
        None, description="Number of connections."
    )
    binary_log: Annotated[Literal["default", "on", "off"], Cli("binlog")] = Field(
        "default",
        description="Binary log of both sides. on: also synced at every commit and with rows, "
        "unless a config says otherwise. default: each server does what it does by default.",
    )

    @property
    def plan(self) -> GatePlan:
        """The decision that is asked for."""
        limits = tuple(Limit(metric, loss / 100) for metric, loss in self.limits.items())
        return GatePlan(limits, self.confidence / 100, self.max_pairs)

    def study_request(self) -> StudyRequest:
        """Return the fields that it has in common with any study."""
        names = *LoadRequest.model_fields, "host", "name"
        return StudyRequest(
            **{name: getattr(self, name) for name in names},
            devices=[self.device],
            server=self.baseline.server,
            connections=None if self.connections is None else [self.connections],
            blocks=self.max_pairs,
        )

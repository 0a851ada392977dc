"""Servers, stored configs, templates and the version."""

from __future__ import annotations

from typing import Any

from ninja import Field, Schema

from advisor.api.schemas.common import Server
from tuning.catalogue.knob import Durability
from tuning.comparison.sides import Side
from tuning.statistics.data import Metric
from tuning.statistics.estimate import Estimate


class ServerRow(Server):
    """A server program that was measured on a host, or is there."""

    id: int
    host: str = Field(alias="host.name")
    digest: str = Field(description="SHA-256 of the program.")


class ConfigUse(Schema):
    """The config as a candidate of a study."""

    study_id: int
    study: str = Field(alias="study.name")
    candidate: str = Field(alias="name")
    is_baseline: bool
    durability: Durability


class StoredConfig(Schema):
    """A set of values of variables; identical ones are one."""

    hash: str
    knobs: dict[str, str]
    runs: int = Field(description="Number of its runs, failed runs included.")
    candidates: list[ConfigUse] = Field(description="At most 100, the newest first.")


class ComparedSide(Schema):
    """A run, candidate or config among others."""

    side: str = Field(alias="token", description="Its name, with device and workload.")
    name: str
    about: str = Field(description="Where it was measured.")
    config: str = Field(alias="candidate.config.hash")
    runs: int = Field(description="How many runs its figures are of.")

    @staticmethod
    def resolve_runs(side: Side) -> int:
        return len(side.runs)


class ComparedFigure(Schema):
    median: float
    runs: int
    change: Estimate | None = Field(
        description="To the first side; null: it is that, or cannot be compared with it. In one "
        "study it is that of the study's ranking."
    )
    better: bool | None = Field(description="Measurably better; null: no difference measured.")


class Comparison(Schema):
    """Chosen runs, candidates, configs or studies side by side."""

    sides: list[ComparedSide]
    figures: dict[str, list[ComparedFigure | None]] = Field(description="By name, a side each.")
    knobs: dict[str, list[str | None]] = Field(description="Variables that differ, a side each.")
    differs: dict[str, list[str]] = Field(
        description="What the sides were measured with that differs: then there are no changes."
    )
    missing: dict[str, str] = Field(description="Names that stand for nothing measured, and why.")


class Version(Schema):
    version: str
    commit: str = Field(description="Empty where git does not know it.")
    api: int = Field(description="Version of this API.")


class TemplateClaim(Schema):
    """A claim of a source, as a range of the ratio that a study measures."""

    claim: str = Field(alias="says")
    source: str
    published: str = Field(description="The source's own figures; may be empty.")
    device_kinds: list[str] = Field(alias="devices", description="Empty: all kinds of device.")
    metric: Metric = Field(alias="ratio.metric")
    claimed_low: float | None = Field(alias="ratio.above")
    claimed_high: float | None = Field(alias="ratio.below")


class Template(Schema):
    """A study template; `connections` and `minutes` are those on the host."""

    name: str
    title: str
    repeats: str = Field(description="The published figure that it repeats; may be empty.")
    candidates: list[str] = Field(description="Without copies, the baseline first.")
    baseline: str
    warehouses: int
    connections: list[int]
    warmup_s: int
    measure_s: int
    blocks: int
    minutes: float = Field(
        description="Estimate for all blocks on one device, without loading the dataset."
    )
    races: bool
    confirms: bool
    durability: Durability = Field(description="The least safe class of its own candidates.")
    needs_log_device: bool
    searches: bool
    budget_minutes: int | None
    claims: list[TemplateClaim]


def template_values(template: Any, **on_host: Any) -> Any:
    """Return a template with figures of a host, to be read by `Template`."""
    return {name: getattr(template, name, None) for name in Template.model_fields} | on_host


class EmulationProfile(Schema):
    """A value of `emulate`; null is no limit. The memory limit comes with the request."""

    name: str
    title: str
    kind: str | None = Field(None, description="Null: the kind of the real device.")
    scaled: bool = Field(description="Whether limits are scaled to a probe of the real device.")
    read_iops: int | None = Field(None, description="Rated limit.")
    write_iops: int | None = None
    read_mb_s: int | None = None
    write_mb_s: int | None = None
    source: str = Field(description="Source of the figures.")

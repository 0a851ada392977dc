"""Devices and their probes. Times are in microseconds, 1 MB is 10^6 bytes."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from ninja import Field, ModelSchema, Schema

from advisor.api.schemas.common import DeviceReference, NamedDevice
from benchmarks.emulation.profile import EmulationProfile
from benchmarks.models import Device, JobState, Probe
from benchmarks.probe.result import ProbeResult
from benchmarks.storage.identity import DeviceIdentity
from tuning.catalogue.knob import Durability
from tuning.hosts.known import KnownDevice


class ProbeSummary(NamedDevice, ModelSchema):
    """Progress and main figures of a probe."""

    id: int
    state: JobState

    class Meta:
        model = Probe
        fields: ClassVar = [
            *("reason_code", "reason", "seconds", "fraction", "step"),
            *("queued_at", "started_at", "finished_at", "random_read_iops", "random_write_iops"),
            *("read_mb_s", "write_mb_s", "commit_p50_us", "commit_p99_us"),
            *("io_capacity_low", "io_capacity_high"),
        ]


class ProbeDetail(ProbeSummary):
    """A probe with its full result."""

    result: ProbeResult | None = Field(alias="found", description="Null unless it succeeded.")


class DeviceAnswer(Schema):
    """The recommendation of the newest finished study for a workload and durability class."""

    study_id: int
    config: str = Field(alias="candidate.name", description="The candidate's name.")
    is_baseline: bool = Field(alias="candidate.is_baseline")
    data: str = Field(alias="workload.title", description="The size of the data in words.")
    connections: int = Field(alias="workload.connections")
    durability: Durability
    kind: str = Field(description="Kind of the verdict; empty: unknown.")
    ratio_to_baseline: float
    low: float | None = Field(description="Lower end of the interval of the ratio.")
    high: float | None
    confidence: float | None = Field(description="Of the interval, 0 to 1.")
    confirmation: str = Field(description="confirmed, withdrawn or unfinished; empty: none.")
    verdict: str


class DeviceRow(DeviceReference, ModelSchema):
    host: str = Field(alias="host.name")
    kind_correction: str = Field(description="The kind set by a user; empty: none.")
    retired_at: datetime | None = Field(description="When another device took its place.")

    class Meta:
        model = Device
        fields: ClassVar = [
            *("discovered_kind", "model", "block_device", "log_block_device"),
            *("file_system", "scheduler"),
        ]


class DeviceSummary(Schema):
    """A device and its newest probes."""

    device: DeviceRow
    last_probe: ProbeSummary | None = Field(alias="probe", description="Newest success.")
    active_probe: ProbeSummary | None = Field(alias="active", description="Queued or running.")


class DeviceDetail(DeviceSummary):
    """The summary, the identity of its directories, and its recommendations."""

    identity: DeviceIdentity | None = Field(description="Null if never inspected.")
    log_identity: DeviceIdentity | None = Field(description="Of a separate log directory.")
    emulation_profile: EmulationProfile | None = Field(alias="device.profile")
    recommendations: list[DeviceAnswer] = Field(alias="answers")

    @staticmethod
    def resolve_identity(known: KnownDevice) -> Any:
        return known.device.found

    @staticmethod
    def resolve_log_identity(known: KnownDevice) -> Any:
        return known.device.found_for_logs

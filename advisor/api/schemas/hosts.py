"""Hosts, their golden datasets and their inspections."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ninja import Field, Schema

from benchmarks.inventory.host import HostInventory
from benchmarks.models import Inspection, JobState
from tuning.hosts.commands import waiting_text
from tuning.hosts.known import HostProblem, KnownHost
from tuning.studies.current_jobs import HostState


class Closed(Schema):
    """Since when a host takes no work; `by` and `reason` may be empty."""

    since: datetime
    by: str
    reason: str


class HostJob(Schema):
    """The present job of a host; it does one thing at a time."""

    what: str = Field(description="The candidate and its block, the probe, or the load.")
    step: str = Field(description="Its current step; may be empty.")
    since: datetime | None
    study_id: int | None = Field(alias="study")
    device_id: int | None = Field(alias="device", description="Null: several, or not known.")


class HostQueue(Schema):
    """Ids of what waits for the host, in the order in which it gets its turn."""

    studies: list[int]
    probes: list[int]
    paused: list[int] = Field(description="Studies that wait to be resumed.")


class Host(Schema):
    """A host with what it does and what is wrong."""

    id: int = Field(alias="host.pk")
    name: str = Field(alias="host.name")
    state: HostState
    worker_seen_at: datetime | None = Field(alias="host.worker_seen_at")
    drained: Closed | None = Field(description="Null: it takes work.")
    retired: Closed | None = Field(description="Null: it is in use.")
    job: HostJob | None = Field(description="Null: nothing runs right now.")
    queue: HostQueue
    problems: list[HostProblem]

    @staticmethod
    def resolve_drained(known: KnownHost) -> dict[str, Any] | None:
        host = known.host
        closed = {"since": host.drained_at, "by": host.drained_by, "reason": host.drain_reason}
        return closed if host.is_drained else None

    @staticmethod
    def resolve_retired(known: KnownHost) -> dict[str, Any] | None:
        host = known.host
        closed = {"since": host.retired_at, "by": host.retired_by, "reason": host.retire_reason}
        return closed if host.is_retired else None

    @staticmethod
    def resolve_queue(known: KnownHost) -> dict[str, list[int]]:
        return {
            "studies": [study.pk for study in known.studies],
            "probes": [probe.pk for probe in known.probes],
            "paused": [study.pk for study in known.paused],
        }


class HostDetail(Host):
    """A host and what it has; its first server and directory are the default ones."""

    inspected_at: datetime | None = Field(alias="host.inspected_at")
    inventory: HostInventory | None = Field(description="Null: never inspected.")


class Dataset(Schema):
    """A golden dataset: loaded once, copied for every run."""

    name: str = Field(alias="dataset.key")
    device: str = Field(description="The directory that it is on.")
    server_version: str = Field(alias="dataset.server_version")
    server_digest: str = Field(alias="dataset.server_digest")
    title: str = Field(
        alias="dataset.title", description="Its size; empty: a data directory to be copied."
    )
    bytes: int = Field(alias="dataset.bytes", description="On the disk.")
    used_at: datetime = Field(alias="dataset.used_at")
    needed_by: int | None = Field(description="A study that is not over and needs it.")

    @staticmethod
    def resolve_device(kept: Any) -> str:
        return str(kept.device)


class InspectionAnswer(Schema):
    """A host's look at itself, at one server or at one device, or a job on its datasets."""

    id: int
    host: str = Field(alias="host.name")
    subject: Inspection.Subject
    path: str = Field(
        description="Of datasets: the name of the one to delete; empty: unused ones."
    )
    log_dir: str
    state: JobState
    waiting: str = Field(description="What it waits for; empty once it is finished.")
    reason_code: str = Field(description="Stable code of the failure; else empty.")
    reason: str
    reason_field: str = Field(description="The field that the reason is about.")
    answer: dict[str, Any] | None = Field(
        description="The server, the device or the deleted datasets; null until it succeeded."
    )

    @staticmethod
    def resolve_waiting(row: Inspection) -> str:
        return waiting_text(row)

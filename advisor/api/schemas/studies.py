"""Studies, groups of studies over several hosts, and gates."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from ninja import Field, ModelSchema, Schema

from advisor.api.schemas.common import DeviceReference, NamedDevice, Server, WorkloadOut
from tuning.catalogue.knob import Durability
from tuning.creation.search import PlannedSearch
from tuning.gate_facts import verdict_of
from tuning.models import EventKind, Recommendation, Study, StudyState
from tuning.results.document import EarlierStudies, Gate
from tuning.strategy.search.space import Dimension
from tuning.studies.progress import StudyProgress, study_progress


class Pause(Schema):
    since: datetime
    by: str = Field(description="Empty if unknown.")
    reason: str = Field(description="Empty if none was given.")


class StudyRow(ModelSchema):
    """A study without its results."""

    id: int
    state: StudyState
    paused: Pause | None = Field(description="Null if not paused.")
    host: str = Field(alias="host.name")
    group_id: int | None = Field(description="The study over several hosts that it is part of.")
    server: Server
    devices: list[DeviceReference]
    workloads: list[WorkloadOut]
    durability: Durability
    searches: bool = Field(description="Whether it makes configs of its own.")

    class Meta:
        model = Study
        fields: ClassVar = [
            *("name", "tags", "archived_at", "template", "reason_code", "reason", "blocks"),
            *("seed", "races"),
            *("confirms", "ablates", "budget_minutes", "memory_bytes", "revision"),
            *("conclusions", "concluded_at", "created_at", "started_at"),
            "finished_at",
        ]

    @staticmethod
    def resolve_paused(study: Study) -> dict[str, Any] | None:
        pause = {"since": study.paused_at, "by": study.paused_by, "reason": study.pause_reason}
        return pause if study.is_paused else None

    @staticmethod
    def resolve_searches(study: Study) -> bool:
        return study.search is not None


class StudyDetail(StudyRow):
    """A study with its progress; its results are its document."""

    progress: StudyProgress

    @staticmethod
    def resolve_progress(study: Study) -> StudyProgress:
        return study_progress(study)


class Event(Schema):
    """Something that happened in a study."""

    kind: EventKind
    text: str
    at: datetime


class GroupRow(Schema):
    """A study over several hosts: one study on each."""

    id: int
    name: str
    created_at: datetime
    studies: list[StudyRow]


class GroupDetail(GroupRow):
    """A study over several hosts with its progress on each."""

    studies: list[StudyDetail]  # type: ignore[assignment]  # a narrower kind of row


class GateRow(Schema):
    id: int
    name: str
    state: StudyState
    verdict: str = Field(description="pass, fail, undecided; running; error: ended without one.")
    host: str = Field(alias="host.name")
    created_at: datetime
    finished_at: datetime | None

    @staticmethod
    def resolve_verdict(study: Study) -> str:
        return verdict_of(study)


class GateDetail(GateRow):
    """A gate with its figures; `result` is null for one that ended without a verdict."""

    reason: str = Field(alias="facts.reason")
    candidate: str = Field(alias="facts.candidate", description="Config and server.")
    baseline: str = Field(alias="facts.baseline")
    measured: str = Field(alias="facts.place", description="Host, device, workload.")
    binary_log: str
    result: Gate | None = Field(alias="facts.result")
    progress: StudyProgress

    @staticmethod
    def resolve_progress(study: Study) -> StudyProgress:
        return study_progress(study)


class RecommendationRow(NamedDevice, ModelSchema):
    """A recommendation without its evidence, which is in its study's document."""

    id: int
    study_id: int
    study: str = Field(alias="study.name")
    host: str = Field(alias="device.host.name")
    server: Server = Field(alias="study.server")
    workload: WorkloadOut
    config: str = Field(alias="candidate.name", description="The candidate's name.")
    is_baseline: bool = Field(alias="candidate.is_baseline")
    durability: Durability

    class Meta:
        model = Recommendation
        fields: ClassVar = [
            *("kind", "verdict", "ratio_to_baseline", "low", "high", "objective"),
            "confidence",
            *("objective_ratio", "objective_low", "objective_high", "noise_floor"),
            *("confirmation", "created_at"),
        ]


class SearchSpace(Schema):
    """The variables that a search would change, and the earlier studies it would begin with."""

    dimensions: list[Dimension] = Field(alias="space.dimensions")
    pinned: dict[str, str] = Field(alias="space.pinned")
    warm_start: EarlierStudies | None
    scale_model: str | None = Field(description="The scale model that sizes of memory are for.")

    @staticmethod
    def resolve_scale_model(found: PlannedSearch) -> str | None:
        return found.model.title if found.model else None

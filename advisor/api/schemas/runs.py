"""Runs."""

from __future__ import annotations

from typing import Any, ClassVar

from ninja import Field, ModelSchema

from advisor.api.schemas.common import NamedDevice, Server, WorkloadOut
from benchmarks.models import Run, RunState
from benchmarks.telemetry.disturbance import Disturbance
from benchmarks.telemetry.usage import USAGE_FIGURES, Usage
from benchmarks.telemetry.write_debt import WriteDebt
from tuning.models import Slot


class RunSummary(NamedDevice, ModelSchema):
    """A run without what is bulky; figures are null where none was measured."""

    id: int = Field(alias="pk")
    study_id: int | None = Field(description="Null: of none, or a newer run took its place.")
    candidate: str | None = Field(description="Its config's name in that study.")
    config: str = Field(alias="config.hash", description="The `hash` of its config.")
    host: str = Field(alias="host.name")
    server: Server
    workload: WorkloadOut
    state: RunState
    retry_of: int | None = Field(
        alias="retry_of_id", description="The run in whose place it was measured."
    )
    disturbances: list[Disturbance] = Field(description="Why the run is void.")

    class Meta:
        model = Run
        fields: ClassVar = [
            *(
                "reason",
                "queued_at",
                "started_at",
                "finished_at",
                "throughput",
                "throughput_at_most",
            ),
            *("p95_ms", "p99_ms", "max_ms", "server_path_length", "host_path_length"),
            "bytes_written_per_transaction",
        ]

    @staticmethod
    def resolve_study_id(run: Run) -> int | None:
        slot = _slot(run)
        return slot.study_id if slot else None

    @staticmethod
    def resolve_candidate(run: Run) -> str | None:
        slot = _slot(run)
        return slot.candidate.name if slot else None


class RunDetail(RunSummary):
    """All that is stored of a run but its series and its log."""

    write_debt: WriteDebt | None = Field(alias="owes")
    usage: Usage | None = Field(description="What the host did on average.")
    conditions: Any = Field(description="Other load on the host during the run.")
    load_side: dict[str, Any] | None = Field(description="The load host's CPU and clock.")
    fingerprint: dict[str, str | None]
    variables: dict[str, str] = Field(description="As the server reported them after its start.")
    step_seconds: dict[str, float]
    knobs: dict[str, str] = Field(alias="config.knobs")
    samples: int = Field(description="Seconds in its series; 0 if it was deleted for its age.")

    class Meta(RunSummary.Meta):
        fields: ClassVar = [
            *RunSummary.Meta.fields,
            *("seed", "completed", "failed", "retried", "measured_seconds", "cpu_hz"),
            *("redo_mb_s", "trend_pct", "still_warming", "driver_version", "code_commit"),
            "comparability_key",
        ]

    @staticmethod
    def resolve_usage(run: Run) -> Any:
        measured = {name: getattr(run, name) for name in USAGE_FIGURES}
        return None if measured["cpu_user_pct"] is None else measured

    @staticmethod
    def resolve_samples(run: Run) -> int:
        return run.samples.count()


def _slot(run: Run) -> Slot | None:
    return getattr(run, "slot", None)

"""Runs in responses, whatever study they are of."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from advisor.api.serializers.common import NamedDeviceSerializer, TimeField, computed, page_of
from advisor.api.serializers.results import DisturbanceSerializer
from advisor.api.serializers.studies import ServerSerializer, WorkloadSerializer
from advisor.api.serializers.write_debt import WriteDebtSerializer
from benchmarks.drivers.redact import redact
from benchmarks.models import SERIES_COLUMNS, Run, RunState
from benchmarks.telemetry.usage import USAGE_FIGURES

_NUMBER: dict[str, Any] = {"allow_null": True}


class UsageSerializer(serializers.Serializer[Any]):
    """What the host did on average: shares in % of all its CPUs, rates per second."""

    def get_fields(self) -> dict[str, serializers.Field]:
        return {name: serializers.FloatField(**_NUMBER) for name in USAGE_FIGURES}


class RunSummaryFieldsSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField(source="pk")
    study_id = computed(serializers.IntegerField, lambda run: _of_slot(run, "study_id"))(
        allow_null=True, help_text="Null: of none, or a newer run took its place."
    )
    candidate = computed(serializers.CharField, lambda run: _candidate(run))(
        allow_null=True, help_text="Its config's name in that study."
    )
    config = serializers.CharField(source="config.hash", help_text="The `hash` of its config.")
    host = serializers.CharField(source="host.name")
    device = serializers.CharField(
        source="device.data_dir", help_text="The device's data directory."
    )
    device_id = serializers.IntegerField()
    server = ServerSerializer()
    workload = WorkloadSerializer()
    state = serializers.CharField(help_text=f"One of {', '.join(RunState.values)}.")
    reason = serializers.CharField(help_text="Why it failed, in one line; else empty.")
    retry_of = serializers.IntegerField(
        source="retry_of_id", allow_null=True, help_text="The run in whose place it was measured."
    )
    queued_at = TimeField()
    started_at = TimeField(allow_null=True)
    finished_at = TimeField(allow_null=True)
    tpmP = serializers.FloatField(**_NUMBER)
    tpmP_at_most = serializers.FloatField(
        **_NUMBER, help_text="Upper bound of a run that was cut short."
    )
    p95_ms = serializers.FloatField(**_NUMBER)
    p99_ms = serializers.FloatField(**_NUMBER)
    max_ms = serializers.FloatField(**_NUMBER)
    server_path_length = serializers.FloatField(**_NUMBER)
    host_path_length = serializers.FloatField(**_NUMBER)
    bytes_written_per_new_order = serializers.FloatField(**_NUMBER)
    disturbances = DisturbanceSerializer(many=True, help_text="Why the run is void.")


class RunSummarySerializer(RunSummaryFieldsSerializer, NamedDeviceSerializer):
    """A run without what is bulky."""


RunPageSerializer = page_of("Run", RunSummarySerializer, "runs")


class RunDetailSerializer(RunSummarySerializer):
    """All that is stored of a run but its series and its log."""

    seed = serializers.IntegerField()
    new_orders = serializers.IntegerField(**_NUMBER)
    failed = serializers.IntegerField(**_NUMBER, help_text="Transactions that failed.")
    retried = serializers.IntegerField(**_NUMBER, help_text="Transactions that were retried.")
    measured_seconds = serializers.FloatField(**_NUMBER)
    cpu_hz = serializers.FloatField(**_NUMBER)
    redo_mb_s = serializers.FloatField(**_NUMBER)
    trend_pct = serializers.FloatField(
        **_NUMBER, help_text="Change of throughput during the measurement, in percent."
    )
    still_warming = serializers.BooleanField()
    write_debt = WriteDebtSerializer(source="owes", allow_null=True)
    usage = UsageSerializer(source="*")
    conditions = serializers.JSONField(help_text="Other load on the host during the run.")
    driver_version = serializers.CharField()
    load_sides = serializers.ListField(
        child=serializers.DictField(),
        help_text="Each load host's CPU, connections, clock and way to the server; empty: driven "
        "beside the server.",
    )
    code_commit = serializers.CharField(help_text="Of the advisor that measured it.")
    comparability_key = serializers.CharField(
        help_text="Only runs with the same one are ranked together."
    )
    fingerprint = serializers.DictField(child=serializers.CharField(allow_null=True))
    variables = serializers.DictField(
        child=serializers.CharField(), help_text="As the server reported them after its start."
    )
    step_seconds = serializers.DictField(child=serializers.FloatField())
    knobs = serializers.DictField(source="config.knobs", child=serializers.CharField())
    samples = computed(serializers.IntegerField, lambda run: run.samples.count())(
        help_text="Seconds in its series; 0 if it was deleted for its age."
    )


class SeriesSerializer(serializers.Serializer[Any]):
    """Columns of equal length; seconds before 0 are warm-up, null where nothing was counted."""

    run_id = serializers.IntegerField()

    def get_fields(self) -> dict[str, serializers.Field]:
        columns: dict[str, serializers.Field] = {
            name: serializers.ListField(child=serializers.FloatField(**_NUMBER))
            for name in SERIES_COLUMNS
        }
        return {**super().get_fields(), **columns}


def series_of(run: Run) -> dict[str, Any]:
    """The document of `SeriesSerializer`."""
    rows = list(run.samples.values_list(*SERIES_COLUMNS))
    columns = zip(*rows, strict=True) if rows else ((),) * len(SERIES_COLUMNS)
    return {"run_id": run.pk, **dict(zip(SERIES_COLUMNS, map(list, columns), strict=True))}


def log_of(run: Run) -> str:
    """The end of what its server and driver wrote, without passwords."""
    return redact(run.log_tail)


def _of_slot(run: Run, name: str) -> Any:
    slot = getattr(run, "slot", None)
    return getattr(slot, name) if slot is not None else None


def _candidate(run: Run) -> str | None:
    candidate = _of_slot(run, "candidate")
    return candidate.name if candidate is not None else None

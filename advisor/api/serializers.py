"""What the API takes (checked) and answers (documented; built in `advisor.api.documents`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rest_framework import serializers

from advisor.pages.forms import LARGEST_CONFIG_BYTES, MOST_CONFIGS
from benchmarks.models import RunState
from tuning.configs.candidates import LONGEST_NAME
from tuning.models import StudyState
from tuning.services.requests import StudyRequest


class ConfigTextSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=LONGEST_NAME)
    text = serializers.CharField(
        max_length=LARGEST_CONFIG_BYTES,
        trim_whitespace=False,
        help_text="The contents of a my.cnf; only tuning variables of [mysqld] are taken.",
    )


class StudyRequestSerializer(serializers.Serializer[Any]):
    """Asks for a study. Every field may be left out: the template's or the host's value holds."""

    template = serializers.CharField(max_length=64, default="quick")
    name = serializers.CharField(max_length=200, default="", allow_blank=True)
    device = serializers.CharField(
        max_length=1024, required=False, allow_null=True, help_text="A directory on the device."
    )
    server = serializers.CharField(
        max_length=1024, required=False, allow_null=True, help_text="Path of a mysqld."
    )
    driver = serializers.ChoiceField(choices=["auto", "tpcc-mysql", "sysbench"], default="auto")
    configs = ConfigTextSerializer(many=True, required=False, max_length=MOST_CONFIGS)
    warehouses = serializers.IntegerField(min_value=1, required=False, allow_null=True)
    connections = serializers.ListField(
        child=serializers.IntegerField(min_value=1),
        min_length=1,
        required=False,
        allow_null=True,
    )
    warmup_s = serializers.IntegerField(min_value=0, required=False, allow_null=True)
    measure_s = serializers.IntegerField(min_value=1, required=False, allow_null=True)
    blocks = serializers.IntegerField(min_value=1, required=False, allow_null=True)
    seed = serializers.IntegerField(min_value=0, max_value=2**62, required=False, allow_null=True)

    def to_internal_value(self, data: Any) -> Any:
        # A mistyped key would otherwise be a study with other sizes than were asked for.
        unknown = set(data) - set(self.fields) if isinstance(data, dict) else set()
        if unknown:
            raise serializers.ValidationError(
                {name: ["There is no such field."] for name in sorted(unknown)}
            )
        return super().to_internal_value(data)

    def study_request(self) -> StudyRequest:
        values = dict(self.validated_data)
        for name in ("device", "server"):
            values[name] = Path(values[name]) if values.get(name) else None
        values["configs"] = [
            (config["name"], config["text"].encode()) for config in values.get("configs") or []
        ]
        return StudyRequest(**values)


class ServerSerializer(serializers.Serializer[Any]):
    flavour = serializers.CharField()
    version = serializers.CharField()
    path = serializers.CharField()


class DeviceSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    kind = serializers.CharField()
    data_dir = serializers.CharField()


class WorkloadSerializer(serializers.Serializer[Any]):
    driver = serializers.CharField()
    warehouses = serializers.IntegerField()
    connections = serializers.IntegerField()
    warmup_s = serializers.IntegerField()
    measure_s = serializers.IntegerField()


class StudySerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    name = serializers.CharField()
    template = serializers.CharField()
    state = serializers.ChoiceField(choices=StudyState.values)
    reason_code = serializers.CharField(help_text="Why it failed, for programs; else empty.")
    reason = serializers.CharField(help_text="Why it failed, for people; else empty.")
    host = serializers.CharField()
    server = ServerSerializer()
    devices = DeviceSerializer(many=True)
    workloads = WorkloadSerializer(many=True)
    blocks = serializers.IntegerField()
    seed = serializers.IntegerField()
    durability = serializers.CharField()
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)


class StudyPageSerializer(serializers.Serializer[Any]):
    count = serializers.IntegerField(help_text="Of all studies, on all pages.")
    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = StudySerializer(many=True)


class ProgressSerializer(serializers.Serializer[Any]):
    fraction = serializers.FloatField(help_text="0 to 1.")
    text = serializers.CharField()
    candidate = serializers.CharField(help_text="What is being measured; empty between runs.")
    block = serializers.IntegerField()
    blocks = serializers.IntegerField()
    step = serializers.CharField()
    runs_done = serializers.IntegerField()
    runs_total = serializers.IntegerField()
    eta_s = serializers.FloatField(allow_null=True, help_text="Seconds left; null: not known.")


class StudyStateSerializer(StudySerializer):
    progress = ProgressSerializer()


class RankingRowSerializer(serializers.Serializer[Any]):
    rank = serializers.IntegerField(allow_null=True, help_text="Null: no run ended well.")
    config = serializers.CharField(help_text="The candidate's name.")
    outcome = serializers.CharField(
        help_text=f"One of {', '.join(RunState.values)}; empty: not run yet."
    )
    tpmP = serializers.FloatField(
        allow_null=True, help_text="Median over the blocks; New-Orders per minute, not tpmC."
    )
    ratio_to_baseline = serializers.FloatField(
        allow_null=True, help_text="Of tpmP, within blocks; 1.1 is 10 % more."
    )
    p95_ms = serializers.FloatField(allow_null=True)
    p99_ms = serializers.FloatField(allow_null=True)
    max_ms = serializers.FloatField(allow_null=True)
    server_path_length = serializers.FloatField(
        allow_null=True, help_text="CPU cycles of mysqld per New-Order."
    )
    host_path_length = serializers.FloatField(
        allow_null=True, help_text="CPU cycles of the whole host per New-Order."
    )
    runs = serializers.IntegerField(help_text="Runs that ended well.")
    connections = serializers.IntegerField()
    device = serializers.CharField(help_text="The device's data directory.")


class ErrorDetailSerializer(serializers.Serializer[Any]):
    code = serializers.CharField(help_text="A stable word for programs.")
    message = serializers.CharField(help_text="One line for people.")
    details = serializers.JSONField(required=False, help_text="Fields or lines, where there are.")


class ErrorSerializer(serializers.Serializer[Any]):
    error = ErrorDetailSerializer()

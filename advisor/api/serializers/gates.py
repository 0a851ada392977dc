"""Gates in requests and responses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rest_framework import serializers

from advisor.api.serializers.common import (
    CLASSES,
    HOST_NAME,
    OPTIONAL,
    StrictSerializer,
    TimeField,
    computed,
    page_of,
)
from advisor.api.serializers.device_requests import DeviceRequestSerializer, device_request
from advisor.api.serializers.load_hosts import LoadHostsField
from advisor.api.serializers.requests import MAX_VALUE, ConfigTextSerializer
from advisor.api.serializers.studies import ProgressSerializer
from benchmarks.errors import about
from benchmarks.inventory.device_lookup import DeviceRequest
from benchmarks.models import BinaryLog
from tuning.catalogue.knob import Durability
from tuning.export.gate_files import ERROR, RUNNING
from tuning.models import StudyState
from tuning.results.gate_facts import verdict_of
from tuning.statistics.data import Metric
from tuning.statistics.gate import (
    CONFIDENCES,
    DEFAULT_CONFIDENCE,
    DEFAULT_LIMITS,
    DEFAULT_PAIRS,
    MAX_LOSS,
    GatePlan,
    Limit,
    Verdict,
)
from tuning.statistics.looks import FIRST_LOOK, MAX_LOOKS
from tuning.studies.gate_request import MAX_GATE_NAME, GateRequest, GateSide
from tuning.studies.request import MAX_MINUTES

MAX_STORED = 200
_VERDICTS = [*(verdict.value for verdict in Verdict)]
_LOSS: dict[str, Any] = {**OPTIONAL, "min_value": 0.01, "max_value": MAX_LOSS * 100}


class GateSideSerializer(StrictSerializer):
    """One side of a gate: a config, a server, or both."""

    config = ConfigTextSerializer(**OPTIONAL)
    stored = serializers.CharField(
        max_length=MAX_STORED,
        **OPTIONAL,
        help_text="Instead of `config`: `default`, the hash of a stored config (8 characters or "
        "more), `study:ID`, or the name of a study, for what that recommends.",
    )
    knobs = serializers.DictField(
        child=serializers.CharField(max_length=MAX_VALUE),
        required=False,
        help_text="What is changed of the config, by name, such as "
        '`{"innodb_io_capacity": "4000"}`.',
    )
    server = serializers.CharField(
        max_length=1024,
        **OPTIONAL,
        help_text="Path of the server program, one that the host has. Null: the baseline's, and "
        "for the baseline the host's first.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs.get("config") and attrs.get("stored"):
            raise serializers.ValidationError({"stored": ["Use either config or stored."]})
        return attrs


class GateLimitsSerializer(StrictSerializer):
    """By how many percent each metric may be worse; those that are left out do not matter."""

    tpmP = serializers.FloatField(**_LOSS, help_text="By how much it may be lower.")
    p95_ms = serializers.FloatField(**_LOSS, help_text="By how much it may be higher.")
    server_path_length = serializers.FloatField(**_LOSS, help_text="As p95_ms.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not any(loss is not None for loss in attrs.values()):
            raise serializers.ValidationError("Name at least one limit.")
        return attrs


class GateRequestSerializer(StrictSerializer):
    """A request for a gate."""

    name = serializers.CharField(
        max_length=MAX_GATE_NAME, help_text="What its history goes by, such as nightly."
    )
    candidate = GateSideSerializer(
        help_text="Without a config it has the baseline's, with `knobs` or a server of its own."
    )
    baseline = GateSideSerializer(**OPTIONAL, help_text="Without a config: the server's defaults.")
    limits = GateLimitsSerializer(
        **OPTIONAL,
        help_text="Default: "
        + ", ".join(f"{one.metric.value} {one.loss * 100:g}" for one in DEFAULT_LIMITS)
        + ".",
    )
    confidence = serializers.FloatField(
        default=DEFAULT_CONFIDENCE * 100,
        min_value=CONFIDENCES[0] * 100,
        max_value=CONFIDENCES[1] * 100,
        help_text="In percent.",
    )
    max_pairs = serializers.IntegerField(
        default=DEFAULT_PAIRS, min_value=FIRST_LOOK, max_value=MAX_LOOKS
    )
    budget_minutes = serializers.IntegerField(min_value=1, max_value=MAX_MINUTES, **OPTIONAL)
    host = serializers.CharField(**HOST_NAME, help_text="Null: as for a study.")
    device = DeviceRequestSerializer(**OPTIONAL)
    driver = serializers.ChoiceField(choices=["auto", "tpcc-mysql", "sysbench"], default="auto")
    load_host = LoadHostsField(
        help_text="The host that runs the driver, or a list of several that share the connections."
    )
    warehouses = serializers.IntegerField(min_value=1, **OPTIONAL)
    connections = serializers.IntegerField(min_value=1, **OPTIONAL)
    warmup_s = serializers.IntegerField(min_value=0, **OPTIONAL)
    measure_s = serializers.IntegerField(min_value=1, **OPTIONAL)
    seed = serializers.IntegerField(min_value=0, max_value=2**62, **OPTIONAL)
    durability = serializers.ChoiceField(
        choices=CLASSES,
        default=Durability.D0.value,
        help_text="The least safe class that either config may have.",
    )
    binary_log = serializers.ChoiceField(
        choices=BinaryLog.values,
        default=BinaryLog.DEFAULT.value,
        help_text="Of both sides. on: also synced at every commit and with rows, unless a config "
        "says otherwise. default: each server does what it does by default.",
    )

    def gate_request(self) -> GateRequest:
        """The request. Raises DeviceUnusable for a device that is gone."""
        values = dict(self.validated_data)
        limits = values.pop("limits", None) or {}
        plan = GatePlan(
            tuple(
                Limit(Metric(name), loss / 100)
                for name, loss in limits.items()
                if loss is not None
            )
            or DEFAULT_LIMITS,
            round(values.pop("confidence") / 100, 6),
            values.pop("max_pairs"),
        )
        device = values.pop("device", None)
        with about("device"):
            found = DeviceRequest() if device is None else device_request(device)
        return GateRequest(
            **values
            | {
                "candidate": _side(values["candidate"]),
                "baseline": _side(values.get("baseline") or {}),
                "durability": Durability(values["durability"]),
                "binary_log": BinaryLog(values["binary_log"]),
            },
            plan=plan,
            device=found,
        )


def _side(given: dict[str, Any]) -> GateSide:
    config, server = given.get("config"), given.get("server")
    return GateSide(
        file=None if config is None else (config["name"], config["text"].encode()),
        stored=given.get("stored") or "",
        server=Path(server) if server else None,
        knobs=given.get("knobs") or {},
    )


class GateLimitResultSerializer(serializers.Serializer[Any]):
    metric = serializers.ChoiceField(choices=[metric.value for metric in Metric])
    limit = serializers.CharField(help_text="In words.")
    allowed_percent = serializers.FloatField()
    verdict = serializers.ChoiceField(choices=_VERDICTS)
    change_percent = serializers.FloatField(
        allow_null=True, help_text="Of the candidate against the baseline; null: not known yet."
    )
    low_percent = serializers.FloatField(allow_null=True)
    high_percent = serializers.FloatField(allow_null=True)
    candidate = serializers.FloatField(
        allow_null=True, help_text="Geometric mean of the candidate's figures, in their unit."
    )
    baseline = serializers.FloatField(allow_null=True)
    pairs = serializers.IntegerField()
    pairs_to_decide = serializers.IntegerField(
        allow_null=True,
        help_text="Of one that is undecided: in all, if the difference is what it looks like. "
        "Null: decided, not known, or too many.",
    )
    minutes_to_decide = serializers.FloatField(allow_null=True)


class GateDurabilitySerializer(serializers.Serializer[Any]):
    candidate = serializers.ChoiceField(choices=CLASSES)
    baseline = serializers.ChoiceField(choices=CLASSES)


class GateDifferenceSerializer(serializers.Serializer[Any]):
    """A setting that both sides run with different values."""

    name = serializers.CharField(help_text="Of the variable; `redo log` is the size of all of it.")
    candidate = serializers.CharField(
        allow_null=True, help_text="The effective value; null: its server has no such setting."
    )
    baseline = serializers.CharField(allow_null=True)
    is_durability = serializers.BooleanField(
        help_text="Has a part in what a crash may cost; these come first."
    )
    is_default = serializers.BooleanField(help_text="Neither config sets it.")


class GateResultSerializer(serializers.Serializer[Any]):
    """The figures of a gate, so far or in the end."""

    verdict = serializers.ChoiceField(choices=_VERDICTS)
    reason = serializers.CharField()
    pairs = serializers.IntegerField(help_text="Those that were compared.")
    max_pairs = serializers.IntegerField()
    confidence = serializers.FloatField()
    seconds = serializers.FloatField()
    limits = GateLimitResultSerializer(many=True)
    durability = GateDurabilitySerializer(
        allow_null=True,
        help_text="The classes of what both ran with; null before a pair was compared.",
    )
    differences = GateDifferenceSerializer(
        many=True, help_text="The effective settings that differ."
    )


class GateSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    name = serializers.CharField()
    state = serializers.ChoiceField(choices=StudyState.values)
    verdict = computed(serializers.CharField, verdict_of)(
        help_text=f"pass, fail or undecided; {RUNNING} before that, {ERROR} for one that ended "
        "without a verdict."
    )
    host = serializers.CharField(source="host.name")
    created_at = TimeField()
    finished_at = TimeField(allow_null=True)


GatePageSerializer = page_of("Gate", GateSerializer, "gates")


class GateStateSerializer(GateSerializer):
    """A gate with its figures; the instance is a study with `facts`."""

    reason = serializers.CharField(source="facts.reason")
    candidate = serializers.CharField(source="facts.candidate", help_text="Config and server.")
    baseline = serializers.CharField(source="facts.baseline")
    measured = serializers.CharField(source="facts.place", help_text="Host, device, workload.")
    binary_log = serializers.ChoiceField(
        choices=BinaryLog.values, help_text="What was asked for of both sides."
    )
    result = GateResultSerializer(
        source="facts.result_or_none",
        allow_null=True,
        help_text="Null for one that ended without a verdict.",
    )
    progress = ProgressSerializer()

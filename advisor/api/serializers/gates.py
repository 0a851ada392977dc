"""Gates in requests and responses."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from advisor.api.serializers.common import (
    CLASSES,
    TimeField,
    computed,
    page_of,
)
from advisor.api.serializers.studies import ProgressSerializer
from benchmarks.models import BinaryLog
from tuning.export.gate_files import ERROR, RUNNING
from tuning.models import StudyState
from tuning.results.gate_facts import verdict_of
from tuning.statistics.data import Metric
from tuning.statistics.gate import (
    Verdict,
)

_VERDICTS = [*(verdict.value for verdict in Verdict)]


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

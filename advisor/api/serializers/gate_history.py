"""The history of a gate's name in responses."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from advisor.api.serializers.common import TimeField, computed
from advisor.api.serializers.shown import shown
from tuning.results.gate_history import GateHistory
from tuning.statistics.data import Metric
from tuning.statistics.gate import Verdict

_METRICS = [metric.value for metric in Metric]


class GateFiguresSerializer(serializers.Serializer[Any]):
    """Geometric means of a gate's pairs in the metric's unit; null: no pair had a figure."""

    metric = serializers.ChoiceField(choices=_METRICS)
    candidate = serializers.FloatField(allow_null=True)
    baseline = serializers.FloatField(allow_null=True)
    change_percent = serializers.FloatField(allow_null=True)


class GatePointSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField(source="pk")
    created_at = TimeField()
    verdict = serializers.ChoiceField(choices=[one.value for one in Verdict])
    candidate = serializers.CharField(help_text="Name of its config.")
    figures = GateFiguresSerializer(many=True, help_text="One for each metric with a limit.")


class GateChangeSerializer(serializers.Serializer[Any]):
    """Since a gate the candidates have another level, although each gate may have passed."""

    metric = serializers.ChoiceField(choices=_METRICS)
    since_gate_id = serializers.IntegerField(source="since.pk")
    since = TimeField(source="since.created_at")
    ratio = serializers.FloatField(
        source="level.ratio", help_text="Of the level since to the one before."
    )
    low = serializers.FloatField(source="level.interval.low", allow_null=True, help_text="95 %.")
    high = serializers.FloatField(source="level.interval.high", allow_null=True)
    gates_since = serializers.IntegerField(
        source="level.points", help_text="With that level: until the next change."
    )
    gates_before = serializers.IntegerField(source="before")
    is_better = computed(
        serializers.BooleanField,
        lambda one: (one.level.ratio > 1) == one.metric.more_is_better,
    )()
    is_of_the_host = serializers.BooleanField(
        help_text="The baseline, the same config throughout, changed alike."
    )


class GateHistorySerializer(serializers.Serializer[Any]):
    """Gates of one name on one host, device, workload and binary log that have a verdict."""

    name = serializers.CharField()
    gates = GatePointSerializer(many=True, help_text="Oldest first; the newest 200.")
    changes = GateChangeSerializer(many=True, help_text="Oldest first.")


def gate_history_document(name: str, history: GateHistory) -> dict[str, Any]:
    """As `GateHistorySerializer` describes it."""
    gates = [
        vars(point)
        | {
            "figures": [
                {"metric": metric.value, **vars(found)}
                for metric, found in zip(history.metrics, point.figures, strict=True)
                if found is not None
            ]
        }
        for point in history.points
    ]
    changes = sorted(history.changes, key=lambda one: one.since.created_at)
    return shown(GateHistorySerializer, {"name": name, "gates": gates, "changes": changes})

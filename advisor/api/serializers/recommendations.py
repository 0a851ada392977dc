"""Recommendations in answers."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from advisor.api.serializers.common import CLASSES, FORMAT_NAMES, NamedDeviceSerializer
from tuning.statistics.verdict import VerdictKind


class LossSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    value = serializers.CharField()
    durability = serializers.ChoiceField(choices=CLASSES)
    loses = serializers.CharField(help_text="What a crash may cost with it.")


class RecommendationSerializer(NamedDeviceSerializer):
    config = serializers.CharField(help_text="The candidate's name.")
    device = serializers.CharField(help_text="The device's data directory.")
    ratio_to_baseline = serializers.FloatField()
    verdict = serializers.CharField()
    my_cnf = serializers.CharField(
        allow_null=True, help_text="Null where `acknowledge` is needed first."
    )
    device_id = serializers.IntegerField()
    durability = serializers.ChoiceField(choices=CLASSES, help_text="Of the board it won.")
    acknowledge = serializers.ChoiceField(
        choices=CLASSES, help_text="The class an export has to acknowledge; D0: nothing."
    )
    losses = LossSerializer(many=True)
    formats = serializers.ListField(
        child=serializers.ChoiceField(choices=FORMAT_NAMES), help_text="To export it in."
    )
    connections = serializers.IntegerField(help_text="Of the board it won.")
    kind = serializers.CharField(help_text=f"One of {', '.join(VerdictKind)}; empty: not known.")
    interval_low = serializers.FloatField(allow_null=True, help_text="Of the ratio, 95 %.")
    interval_high = serializers.FloatField(allow_null=True)
    selected_ratio = serializers.FloatField(
        allow_null=True, help_text="What the blocks had found, before the fresh pairs."
    )
    noise_floor = serializers.FloatField(allow_null=True)
    confirmation = serializers.CharField(
        help_text="confirmed, withdrawn or unfinished; empty: there was none."
    )

"""A search in answers: its space, what it looks for, what it has looked at."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from advisor.api.serializers.common import computed
from tuning.studies.search_texts import OBJECTIVES


class DimensionSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    kind = serializers.ChoiceField(choices=["number", "choice"])
    low = serializers.FloatField(help_text="Of a number, as the server takes it: bytes as bytes.")
    high = serializers.FloatField()
    is_log = serializers.BooleanField(help_text="Values are apart by ratio, not by difference.")
    special = serializers.ListField(
        child=serializers.CharField(), help_text="Values of a number that are not on its scale."
    )
    choices = serializers.ListField(child=serializers.CharField())
    default = serializers.CharField(help_text="Of the server by itself; empty: not known.")
    source = serializers.CharField(help_text="Why this range.")


class SpaceSerializer(serializers.Serializer[Any]):
    dimensions = DimensionSerializer(many=True, help_text="A knob each, the one to move first.")
    pinned = serializers.DictField(
        child=serializers.CharField(), help_text="What every config of the search sets besides."
    )


class SearchSerializer(serializers.Serializer[Any]):
    objective = computed(
        serializers.ChoiceField,
        lambda stored: next(
            n for n, metric in OBJECTIVES.items() if metric == stored["objective"]
        ),
    )(choices=list(OBJECTIVES))
    keep = serializers.DictField(
        child=serializers.FloatField(),
        help_text="By metric the least of `tpmP`, the most of `p95_ms` (ms) and of "
        "`server_path_length` (cycles per New-Order).",
    )
    space = SpaceSerializer()


class SearchedSerializer(serializers.Serializer[Any]):
    tried = serializers.IntegerField(help_text="Configs that were looked at.")
    rounds = serializers.IntegerField()
    best = serializers.CharField(help_text="With the highest figure so far; empty: none yet.")
    ratio = serializers.FloatField(
        allow_null=True, help_text="Of its tpmP to the baseline's; likely too high."
    )

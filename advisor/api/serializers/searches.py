"""Searches in responses: space, objective, progress."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from advisor.api.serializers.common import computed
from tuning.studies.search_texts import OBJECTIVES


class DimensionSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    kind = serializers.ChoiceField(choices=["number", "choice"])
    low = serializers.FloatField(
        help_text="Lowest value of a number, in the server's unit: bytes as bytes."
    )
    high = serializers.FloatField()
    is_log = serializers.BooleanField(
        help_text="Whether the values are spaced by ratio instead of difference."
    )
    special = serializers.ListField(
        child=serializers.CharField(), help_text="Special values outside of the range."
    )
    choices = serializers.ListField(child=serializers.CharField())
    default = serializers.CharField(help_text="The server's default; empty if unknown.")
    source = serializers.CharField(help_text="Reason for the range.")


class SpaceSerializer(serializers.Serializer[Any]):
    dimensions = DimensionSerializer(
        many=True, help_text="One per knob, the most promising first."
    )
    pinned = serializers.DictField(
        child=serializers.CharField(), help_text="Values that every config of the search sets."
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
        help_text="Limits by metric: minimum of `tpmP`, maximum of `p95_ms` (ms) and of "
        "`server_path_length` (cycles per New-Order).",
    )
    space = SpaceSerializer()


class SearchedSerializer(serializers.Serializer[Any]):
    tried = serializers.IntegerField(help_text="Configs measured so far.")
    rounds = serializers.IntegerField()
    best = serializers.CharField(help_text="The best config so far; empty if none.")
    ratio = serializers.FloatField(
        allow_null=True,
        help_text="Its objective divided by the baseline's; probably overstated.",
    )

"""Chosen configs side by side, differences and proposals in responses."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from advisor.api.serializers.common import NamedDeviceSerializer
from advisor.api.serializers.comparisons import SpreadSerializer
from advisor.api.serializers.configs import NoteSerializer
from advisor.api.serializers.studies import ServerSerializer, WorkloadSerializer


class RatioSerializer(serializers.Serializer[Any]):
    value = serializers.FloatField(help_text="Of the medians.")
    low = serializers.FloatField(help_text="The smallest of any two runs.")
    high = serializers.FloatField(help_text="The largest of any two runs.")
    is_clear = serializers.BooleanField(help_text="Whether the runs of both do not overlap.")


class ConfigFiguresSerializer(serializers.Serializer[Any]):
    config = serializers.CharField(source="config.hash")
    tpmP = SpreadSerializer(source="figures.tpmP")
    p95_ms = SpreadSerializer(source="figures.p95_ms", allow_null=True)
    server_path_length = SpreadSerializer(source="figures.server_path_length", allow_null=True)
    ratio = RatioSerializer(
        allow_null=True, help_text="Of tpmP to the first config; null: it is that, or lacks here."
    )


class MeasuredPlaceSerializer(NamedDeviceSerializer):
    host = serializers.CharField(source="host.name")
    device_id = serializers.IntegerField(source="device.pk")
    server = ServerSerializer()
    workload = WorkloadSerializer()
    configs = ConfigFiguresSerializer(many=True)


class ConfigComparisonSerializer(serializers.Serializer[Any]):
    """Chosen configs; within one place only figures that may be compared."""

    configs = serializers.ListField(child=serializers.CharField(), help_text="As asked for.")
    differences = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField(allow_null=True)),
        help_text="By variable the value in each config; null: the server's default.",
    )
    places = MeasuredPlaceSerializer(many=True, source="setups")


class ProposalSerializer(serializers.Serializer[Any]):
    """What a set of rules advises here."""

    name = serializers.CharField()
    source = serializers.CharField()
    knobs = serializers.DictField(child=serializers.CharField())
    notes = NoteSerializer(many=True, help_text="Why each line is there.")
    left_out = serializers.CharField(help_text="Why it is not possible here; else empty.")


class DiffSerializer(serializers.Serializer[Any]):
    differences = serializers.DictField(
        child=serializers.ListField(
            child=serializers.CharField(allow_null=True), min_length=2, max_length=2
        ),
        help_text="By variable: [left, right]; null: the server's default.",
    )

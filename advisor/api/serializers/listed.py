"""Servers, configs, recommendations and published figures in responses."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from advisor.api.serializers.common import NamedDeviceSerializer, TimeField, page_of
from advisor.api.serializers.recommendations import OF_ITS_EVIDENCE, AdviceSerializer
from advisor.api.serializers.studies import ServerSerializer, WorkloadSerializer


class ServerRowSerializer(ServerSerializer):
    """A server program that was measured on a host, or is there."""

    id = serializers.IntegerField(source="pk")
    host = serializers.CharField(source="host.name")
    digest = serializers.CharField(help_text="SHA-256 of the program.")


ServerPageSerializer = page_of("Server", ServerRowSerializer, "servers")


class ConfigUseSerializer(serializers.Serializer[Any]):
    """The config as a candidate of a study."""

    study_id = serializers.IntegerField()
    study = serializers.CharField(source="study.name")
    candidate = serializers.CharField(source="name")
    is_baseline = serializers.BooleanField()
    durability = serializers.CharField()


class StoredConfigSerializer(serializers.Serializer[Any]):
    """A set of values of variables; identical ones are one."""

    hash = serializers.CharField()
    knobs = serializers.DictField(child=serializers.CharField())
    runs = serializers.IntegerField(help_text="Of it, also those that failed.")
    candidates = ConfigUseSerializer(many=True, help_text="At most 100, the newest first.")


class ListedRecommendationSerializer(AdviceSerializer, NamedDeviceSerializer):
    """A recommendation without the evidence that its study's has."""

    id = serializers.IntegerField(source="pk")
    study_id = serializers.IntegerField()
    study = serializers.CharField(source="study.name")
    host = serializers.CharField(source="device.host.name")
    server = ServerSerializer(source="study.server")
    workload = WorkloadSerializer()
    created_at = TimeField()

    def get_fields(self) -> dict[str, serializers.Field]:
        fields: dict[str, serializers.Field] = super().get_fields()
        return {name: field for name, field in fields.items() if name not in OF_ITS_EVIDENCE}


RecommendationPageSerializer = page_of(
    "Recommendation", ListedRecommendationSerializer, "recommendations"
)


class PublishedColumnSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    title = serializers.CharField()
    unit = serializers.CharField(help_text="Empty for text, or where rows name it.")


class PublishedTableSerializer(serializers.Serializer[Any]):
    """Figures of others, as their sources print them."""

    name = serializers.CharField()
    title = serializers.CharField()
    setup = serializers.CharField(help_text="What was measured; empty: the rows say it.")
    place = serializers.CharField(help_text="Where in the source.")
    sources = serializers.ListField(child=serializers.CharField())
    columns = PublishedColumnSerializer(many=True)
    rows = serializers.ListField(
        child=serializers.DictField(
            child=serializers.JSONField(help_text="Text, a number or null.")
        ),
        help_text="By column; null: the source has none.",
    )


class VersionSerializer(serializers.Serializer[Any]):
    version = serializers.CharField()
    commit = serializers.CharField(help_text="Empty where git does not know it.")
    api = serializers.IntegerField(help_text="Version of this API.")

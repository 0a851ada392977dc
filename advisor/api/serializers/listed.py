"""Servers, configs, recommendations and published figures in responses."""

from __future__ import annotations

from rest_framework import serializers

from advisor.api.serializers.common import NamedDeviceSerializer, TimeField, page_of
from advisor.api.serializers.recommendations import OF_ITS_EVIDENCE, AdviceSerializer
from advisor.api.serializers.studies import ServerSerializer, WorkloadSerializer


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

"""Golden datasets in responses, and requests about them."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from advisor.api.serializers.common import StrictSerializer, TimeField

# Characters of the name of a dataset: its folder's.
MAX_DATASET_NAME = 255


class DatasetSerializer(serializers.Serializer[Any]):
    """A golden dataset: loaded once, cloned for every run."""

    name = serializers.CharField(source="dataset.key")
    device = serializers.CharField(help_text="The directory that it is on.")
    server_version = serializers.CharField(source="dataset.server_version")
    server_digest = serializers.CharField(source="dataset.server_digest")
    warehouses = serializers.IntegerField(
        source="dataset.warehouses",
        help_text="0: an empty data directory, which trial starts and loads copy.",
    )
    bytes = serializers.IntegerField(source="dataset.bytes", help_text="On the disk.")
    used_at = TimeField(source="dataset.used_at", help_text="When a job last asked for it.")
    needed_by = serializers.IntegerField(
        allow_null=True, help_text="A study that is not over and needs it; null: none."
    )


class DeleteDatasetRequestSerializer(StrictSerializer):
    """A request to delete a golden dataset."""

    name = serializers.CharField(max_length=MAX_DATASET_NAME)

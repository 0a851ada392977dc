"""Hosts in responses, and requests about them."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from advisor.api.serializers.common import StrictSerializer, TimeField, below
from benchmarks.models import Host
from tuning.results.known_hosts import HostState
from tuning.studies.pause_columns import MAX_PAUSE_REASON

HOST_STATES = [state.value for state in HostState]


class DrainSerializer(serializers.Serializer[Any]):
    since = TimeField(source="drained_at")
    by = serializers.CharField(source="drained_by", help_text="Empty if unknown.")
    reason = serializers.CharField(source="drain_reason", help_text="Empty if none was given.")

    def get_attribute(self, instance: Any) -> Host | None:
        host: Host = instance.host
        return host if host.is_drained else None


class HostJobSerializer(serializers.Serializer[Any]):
    """What a host does now; it does one thing at a time."""

    what = serializers.CharField(help_text="The candidate and its block, the probe, or the load.")
    step = serializers.CharField(help_text="Its current step; may be empty.")
    since = TimeField(allow_null=True)
    study_id = serializers.IntegerField(source="study", allow_null=True, help_text="Null: none.")
    device_id = serializers.IntegerField(
        source="device", allow_null=True, help_text="Null: several, as when datasets are loaded."
    )


class Ids(serializers.ListField):
    """The ids of rows."""

    child = serializers.IntegerField()

    def to_representation(self, data: Any) -> list[int]:
        return [row.pk for row in data]


class HostQueueSerializer(serializers.Serializer[Any]):
    """What waits for the host, in the order in which it gets its turn."""

    studies = Ids(help_text="Ids of studies.")
    probes = Ids(help_text="Ids of probes.")
    paused = Ids(help_text="Ids of studies that wait to be resumed.")


class HostProblemSerializer(serializers.Serializer[Any]):
    code = serializers.CharField(help_text="A stable word for programs.")
    text = serializers.CharField()
    study_id = serializers.IntegerField(source="study", allow_null=True)


class HostSerializer(serializers.Serializer[Any]):
    """A host with what it does and what is wrong."""

    id = serializers.IntegerField(source="pk")
    name = serializers.CharField()
    state = serializers.ChoiceField(choices=HOST_STATES)
    worker_seen_at = TimeField(allow_null=True, help_text="When its worker was last seen.")
    drained = DrainSerializer(allow_null=True, help_text="Null: it takes work.")
    job = HostJobSerializer(allow_null=True, help_text="Null: nothing runs right now.")
    queue = HostQueueSerializer(source="*")
    problems = HostProblemSerializer(many=True)

    def get_fields(self) -> dict[str, serializers.Field]:
        # The instance is a KnownHost.
        fields: dict[str, serializers.Field] = super().get_fields()
        below("host", fields, ("id", "name", "worker_seen_at"))
        return fields


class HostPageSerializer(serializers.Serializer[Any]):
    count = serializers.IntegerField(help_text="Number of hosts on all pages.")
    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = HostSerializer(many=True)


class DrainRequestSerializer(StrictSerializer):
    """A request to drain a host."""

    reason = serializers.CharField(
        max_length=MAX_PAUSE_REASON, required=False, default="", allow_blank=True
    )

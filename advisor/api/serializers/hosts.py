"""Hosts in responses, and requests about them."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from advisor.api.serializers.common import StrictSerializer, TimeField, below, computed, page_of
from advisor.api.serializers.identities import IdentitySerializer
from benchmarks.models import Host, Inspection, JobState
from tuning.results.host_jobs import HostState
from tuning.studies.inspecting import waiting_text
from tuning.studies.pause_columns import MAX_PAUSE_REASON

HOST_STATES = [state.value for state in HostState]
INSPECTION_STATES = JobState.values
INSPECTION_SUBJECTS = Inspection.Subject.values


class DrainSerializer(serializers.Serializer[Any]):
    since = TimeField(source="drained_at")
    by = serializers.CharField(source="drained_by", help_text="Empty if unknown.")
    reason = serializers.CharField(source="drain_reason", help_text="Empty if none was given.")

    def get_attribute(self, instance: Any) -> Host | None:
        host: Host = instance.host
        return host if host.is_drained else None


class RetirementSerializer(serializers.Serializer[Any]):
    since = TimeField(source="retired_at")
    by = serializers.CharField(source="retired_by", help_text="Empty if unknown.")
    reason = serializers.CharField(source="retire_reason", help_text="Empty if none was given.")

    def get_attribute(self, instance: Any) -> Host | None:
        host: Host = instance.host
        return host if host.is_retired else None


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
    retired = RetirementSerializer(allow_null=True, help_text="Null: it is in use.")
    job = HostJobSerializer(allow_null=True, help_text="Null: nothing runs right now.")
    queue = HostQueueSerializer(source="*")
    problems = HostProblemSerializer(many=True)

    def get_fields(self) -> dict[str, serializers.Field]:
        # The instance is a KnownHost.
        fields: dict[str, serializers.Field] = super().get_fields()
        below("host", fields, ("id", "name", "worker_seen_at"))
        return fields


class FoundServerSerializer(serializers.Serializer[Any]):
    flavour = serializers.CharField()
    version = serializers.CharField(source="version_text")
    path = serializers.CharField()
    digest = serializers.CharField(help_text="SHA-256 of the program.")


class FoundDriverSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    version = serializers.CharField()


class FoundDirectorySerializer(serializers.Serializer[Any]):
    path = serializers.CharField()
    identity = IdentitySerializer()
    direct_io = serializers.BooleanField(allow_null=True, help_text="Null: could not be tried.")
    datasets = serializers.ListField(child=serializers.CharField(), help_text="Loaded there.")
    throttle_problem = serializers.CharField(
        help_text="Why no slower device can be emulated; empty if one can."
    )


class RefusedSerializer(serializers.Serializer[Any]):
    path = serializers.CharField()
    code = serializers.CharField()
    reason = serializers.CharField()


class InventorySerializer(serializers.Serializer[Any]):
    """What a host has. The first server and directory are those of a request that names none."""

    servers = FoundServerSerializer(many=True)
    drivers = FoundDriverSerializer(many=True)
    directories = FoundDirectorySerializer(many=True)
    refused_servers = RefusedSerializer(many=True)
    refused_directories = RefusedSerializer(many=True)
    memory_bytes = serializers.IntegerField()
    memory_budget_bytes = serializers.IntegerField(help_text="What servers may use.")
    logical_cpus = serializers.IntegerField(help_text="What servers may use.")
    host_cpus = serializers.IntegerField()
    cpu_hz = serializers.FloatField(allow_null=True)
    open_files = serializers.IntegerField()
    memory_limit_problem = serializers.CharField(
        help_text="Why memory cannot be limited; empty if it can."
    )
    code_version = serializers.CharField(help_text="Of the worker that looked.")


class HostDetailSerializer(HostSerializer):
    """A host and what it has."""

    inspected_at = TimeField(allow_null=True, source="host.inspected_at")
    inventory = InventorySerializer(allow_null=True, help_text="Null: never inspected.")


HostPageSerializer = page_of("Host", HostSerializer, "hosts")


class InspectionRequestSerializer(StrictSerializer):
    """What a host is to look at: all that it has, or one server program, or one device.

    An administrator may name any path; what is found can be used from then on.
    """

    server = serializers.CharField(
        max_length=1024, required=False, help_text="Path of a mysqld or mariadbd."
    )
    path = serializers.CharField(
        max_length=1024, required=False, help_text="A directory on the device."
    )
    log_dir = serializers.CharField(
        max_length=1024, required=False, help_text="A directory for redo logs, with `path`."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "server" in attrs and len(attrs) > 1:
            raise serializers.ValidationError({"server": ["A server allows no other field."]})
        return attrs


class InspectionSerializer(serializers.Serializer[Any]):
    """A host's look at itself, at one server or at one device."""

    id = serializers.IntegerField()
    host = serializers.CharField(source="host.name")
    subject = serializers.ChoiceField(choices=INSPECTION_SUBJECTS)
    path = serializers.CharField(
        help_text="Empty: all that the host has. Of datasets: the name of the one to be deleted, "
        "empty: unused ones."
    )
    log_dir = serializers.CharField()
    state = serializers.ChoiceField(choices=INSPECTION_STATES)
    waiting = computed(serializers.CharField, waiting_text)(
        help_text="What it waits for; empty once it is finished."
    )
    reason_code = serializers.CharField(help_text="Stable code of the failure; else empty.")
    reason = serializers.CharField(help_text="Reason of the failure in words; else empty.")
    reason_field = serializers.CharField(help_text="The field that it is about.")
    answer = serializers.DictField(
        allow_null=True,
        help_text="The server (`path`, `flavour`, `version`) or the device (`data`, `log`, "
        "`emulation`), or the `deleted` datasets; null until it succeeded.",
    )


class DrainRequestSerializer(StrictSerializer):
    """A request to drain a host."""

    reason = serializers.CharField(
        max_length=MAX_PAUSE_REASON, required=False, default="", allow_blank=True
    )


class RetireRequestSerializer(DrainRequestSerializer):
    """A request to retire a host."""

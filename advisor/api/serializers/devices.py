"""Devices and emulation profiles in responses."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from advisor.api.serializers.common import (
    CLASSES,
    KINDS,
    EmulatedSerializer,
    TimeField,
    below,
    computed,
    page_of,
)
from advisor.api.serializers.identities import IdentitySerializer
from advisor.api.serializers.probes import ProbeSummarySerializer
from tuning.statistics.verdict import VerdictKind


class DeviceIdsSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    kind = serializers.ChoiceField(choices=KINDS)
    data_dir = serializers.CharField()
    name = serializers.CharField(source="*", help_text="Name as shown on the pages.")
    log_dir = serializers.CharField(help_text="Redo log directory; empty: with the data.")


class DeviceReferenceSerializer(DeviceIdsSerializer, EmulatedSerializer):
    """The fields that identify a device, also among those of one directory."""


class DeviceSummarySerializer(DeviceReferenceSerializer):
    """A device and its newest probes."""

    host = serializers.CharField(source="host.name")
    discovered_kind = serializers.CharField(
        help_text="The detected kind; empty if never inspected."
    )
    kind_correction = computed(
        serializers.CharField, lambda device: device.kind_correction or None
    )(allow_null=True, help_text="The kind set by a user; null: none.")
    model = serializers.CharField(help_text="Empty if unknown.")
    block_device = serializers.CharField(
        help_text="Empty if there is none or it cannot be detected."
    )
    log_block_device = serializers.CharField()
    file_system = serializers.CharField()
    scheduler = serializers.CharField()
    retired_at = TimeField(
        allow_null=True, help_text="When another device was found in its place; null if in use."
    )
    last_probe = ProbeSummarySerializer(
        source="probe",
        allow_null=True,
        help_text="The newest successful one, without its result.",
    )
    active_probe = ProbeSummarySerializer(
        source="active", allow_null=True, help_text="The queued or running one."
    )

    def get_fields(self) -> dict[str, serializers.Field]:
        # The instance is a KnownDevice.
        fields: dict[str, serializers.Field] = super().get_fields()
        below("device", fields, fields.keys() - {"last_probe", "active_probe", "recommendations"})
        return fields


class EmulationSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    kind = serializers.CharField(help_text="The kind of device that it emulates.")
    read_iops = serializers.IntegerField(allow_null=True, help_text="Null: no limit.")
    write_iops = serializers.IntegerField(allow_null=True)
    read_mb_s = serializers.IntegerField(allow_null=True)
    write_mb_s = serializers.IntegerField(allow_null=True)
    memory_bytes = serializers.IntegerField(
        allow_null=True, help_text="Memory limit of mysqld, including its page cache."
    )
    scale = serializers.FloatField(
        allow_null=True,
        help_text="Of a scale model, how many times larger the real server is; else null.",
    )
    note = serializers.CharField(help_text="Where the limits come from.")


class DeviceAnswerSerializer(serializers.Serializer[Any]):
    """The recommendation of the newest finished study for a workload and durability class."""

    study_id = serializers.IntegerField()
    config = serializers.CharField(source="candidate.name", help_text="The candidate's name.")
    is_baseline = serializers.BooleanField(source="candidate.is_baseline")
    warehouses = serializers.IntegerField(source="workload.warehouses")
    connections = serializers.IntegerField(source="workload.connections")
    durability = serializers.ChoiceField(choices=CLASSES)
    kind = serializers.CharField(help_text=f"One of {', '.join(VerdictKind)}; empty: unknown.")
    ratio_to_baseline = serializers.FloatField()
    interval_low = serializers.FloatField(source="low", allow_null=True)
    interval_high = serializers.FloatField(source="high", allow_null=True)
    confirmation = serializers.CharField(
        help_text="confirmed, withdrawn or unfinished; empty: none."
    )
    verdict = serializers.CharField()


class DeviceSerializer(DeviceSummarySerializer):
    """The summary, the identity of its directories, and its recommendations."""

    identity = IdentitySerializer(
        source="found",
        allow_null=True,
        help_text="Of the data directory; null if never inspected.",
    )
    log_identity = IdentitySerializer(
        source="found_for_logs",
        allow_null=True,
        help_text="Of the redo log directory, if it is separate.",
    )
    emulation_profile = EmulationSerializer(
        source="profile", allow_null=True, help_text="Null if not emulated."
    )
    recommendations = DeviceAnswerSerializer(source="answers", many=True)


DevicePageSerializer = page_of("Device", DeviceSummarySerializer, "devices")

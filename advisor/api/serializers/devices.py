"""Devices and emulation profiles in answers."""

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
)
from advisor.api.serializers.identities import IdentitySerializer
from advisor.api.serializers.probes import ProbeSummarySerializer
from tuning.statistics.verdict import VerdictKind


class DeviceIdsSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    kind = serializers.ChoiceField(choices=KINDS)
    data_dir = serializers.CharField()
    name = serializers.CharField(source="*", help_text="In words, as on the pages.")
    log_dir = serializers.CharField(help_text="For redo logs; empty: they are with the data.")


class DeviceReferenceSerializer(DeviceIdsSerializer, EmulatedSerializer):
    """What tells a device from every other, also from those on the same directory."""


class DeviceSummarySerializer(DeviceReferenceSerializer):
    """A device and its newest probes."""

    host = serializers.CharField(source="host.name")
    discovered_kind = serializers.CharField(help_text="What was found; empty: never looked at.")
    kind_correction = computed(
        serializers.CharField, lambda device: device.kind_correction or None
    )(allow_null=True, help_text="Your word; null: none.")
    model = serializers.CharField(help_text="Empty: unknown.")
    block_device = serializers.CharField(help_text="Empty: there is none, or it cannot be seen.")
    log_block_device = serializers.CharField()
    file_system = serializers.CharField()
    scheduler = serializers.CharField()
    retired_at = TimeField(
        allow_null=True, help_text="When another device was found in its place; null: in use."
    )
    last_probe = ProbeSummarySerializer(
        source="probe",
        allow_null=True,
        help_text="The newest that ended well, without its result.",
    )
    active_probe = ProbeSummarySerializer(
        source="active", allow_null=True, help_text="The one under way."
    )

    def get_fields(self) -> dict[str, serializers.Field]:
        # The instance is a KnownDevice.
        fields: dict[str, serializers.Field] = super().get_fields()
        below("device", fields, fields.keys() - {"last_probe", "active_probe", "recommendations"})
        return fields


class EmulationSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    kind = serializers.CharField(help_text="The kind of device that it stands for.")
    read_iops = serializers.IntegerField(allow_null=True, help_text="Null: not limited.")
    write_iops = serializers.IntegerField(allow_null=True)
    read_mb_s = serializers.IntegerField(allow_null=True)
    write_mb_s = serializers.IntegerField(allow_null=True)
    memory_bytes = serializers.IntegerField(
        allow_null=True, help_text="Of all memory of mysqld, its page cache included."
    )
    note = serializers.CharField(help_text="Where the limits come from.")


class DeviceAnswerSerializer(serializers.Serializer[Any]):
    """What the newest finished study recommends there for a workload and durability class."""

    study_id = serializers.IntegerField()
    config = serializers.CharField(source="candidate.name", help_text="The candidate's name.")
    is_baseline = serializers.BooleanField(source="candidate.is_baseline")
    warehouses = serializers.IntegerField(source="workload.warehouses")
    connections = serializers.IntegerField(source="workload.connections")
    durability = serializers.ChoiceField(choices=CLASSES)
    kind = serializers.CharField(help_text=f"One of {', '.join(VerdictKind)}; empty: not known.")
    ratio_to_baseline = serializers.FloatField()
    interval_low = serializers.FloatField(source="low", allow_null=True)
    interval_high = serializers.FloatField(source="high", allow_null=True)
    confirmation = serializers.CharField(
        help_text="confirmed, withdrawn or unfinished; empty: there was none."
    )
    verdict = serializers.CharField()


class DeviceSerializer(DeviceSummarySerializer):
    """The summary, what was found behind the directories, and what was best on it so far."""

    identity = IdentitySerializer(
        source="found",
        allow_null=True,
        help_text="Behind the data's directory; null: never looked at.",
    )
    log_identity = IdentitySerializer(
        source="found_for_logs",
        allow_null=True,
        help_text="Behind that of the redo logs, where they have their own.",
    )
    emulation_profile = EmulationSerializer(
        source="profile", allow_null=True, help_text="Null: as it is."
    )
    recommendations = DeviceAnswerSerializer(source="answers", many=True)


class DevicePageSerializer(serializers.Serializer[Any]):
    count = serializers.IntegerField(help_text="Of all devices, on all pages.")
    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = DeviceSummarySerializer(many=True)


class EmulationProfileSerializer(serializers.Serializer[Any]):
    """What `emulate` may name. Null is not limited; a memory limit comes with the request."""

    name = serializers.CharField()
    title = serializers.CharField()
    kind = serializers.CharField(allow_null=True, help_text="Null: that of the real device.")
    scaled = serializers.BooleanField(
        help_text="The limits shrink to what a probe of the real device found."
    )
    read_iops = serializers.IntegerField(allow_null=True, help_text="As rated.")
    write_iops = serializers.IntegerField(allow_null=True)
    read_mb_s = serializers.IntegerField(allow_null=True)
    write_mb_s = serializers.IntegerField(allow_null=True)
    source = serializers.CharField(help_text="Whose figures they are.")

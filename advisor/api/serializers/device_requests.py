"""What the API takes about devices and probes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rest_framework import serializers

from advisor.api.serializers.common import KINDS, OPTIONAL, StrictSerializer
from advisor.ids import MAX_ID
from advisor.wording.words import KIND_OF_EMULATED
from benchmarks.emulation.shipped import shipped_profiles
from benchmarks.errors import about
from benchmarks.inventory.devices import NATIVE, DeviceRequest, throttles
from benchmarks.models import Device
from benchmarks.probe.run import MAX_S, MIN_S, USUAL_S
from benchmarks.storage.kinds import DeviceKind
from tuning.studies.devices import MAX_MEMORY_MB, MB, MIN_MEMORY_MB, request_for


class DeviceRequestSerializer(StrictSerializer):
    """A device by what it is made of. Without `path` it is the host's usual one."""

    path = serializers.CharField(
        max_length=1024, **OPTIONAL, help_text="A directory on the device."
    )
    log_dir = serializers.CharField(
        max_length=1024, **OPTIONAL, help_text="A directory on another device, for the redo logs."
    )
    emulate = serializers.ChoiceField(
        choices=[NATIVE, *shipped_profiles()],
        **OPTIONAL,
        help_text="A profile's name: its limits are set around mysqld. Null: as it is.",
    )
    memory_mb = serializers.IntegerField(
        min_value=MIN_MEMORY_MB,
        max_value=MAX_MEMORY_MB,
        **OPTIONAL,
        help_text="Limits all memory of mysqld, its page cache included; 1 MB is 10^6 bytes. "
        "Null: of an emulated device what the server and half of the data take, else no limit.",
    )
    kind = serializers.ChoiceField(
        choices=KINDS,
        **OPTIONAL,
        help_text="What the device is, where it cannot be seen. Null: as it is found. Not with a "
        "profile that stands for a kind.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs.get("kind") and throttles(attrs.get("emulate")):
            raise serializers.ValidationError({"kind": [KIND_OF_EMULATED]})
        return attrs

    def device_request(self) -> DeviceRequest:
        return device_request(self.validated_data)


class StudyDeviceSerializer(DeviceRequestSerializer):
    """A device of a study: what it is made of, or the `id` of one that is kept, by itself."""

    id = serializers.IntegerField(
        min_value=1,
        max_value=MAX_ID,
        required=False,
        help_text="Of a device of this host, as GET devices/ lists it; goes by itself.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "id" not in attrs:
            return super().validate(attrs)
        if len(attrs) > 1:
            raise serializers.ValidationError({"id": ["An id goes by itself."]})
        device = Device.objects.select_related("host").filter(pk=attrs["id"]).first()
        if device is None:
            raise serializers.ValidationError({"id": ["There is no such device."]})
        return {"device": device}


class KindRequestSerializer(StrictSerializer):
    kind = serializers.ChoiceField(
        choices=KINDS, allow_null=True, help_text="Your word for what it is; null takes it back."
    )

    def device_kind(self) -> DeviceKind | None:
        value = self.validated_data["kind"]
        return DeviceKind(value) if value else None


class ProbeRequestSerializer(StrictSerializer):
    seconds = serializers.FloatField(
        min_value=MIN_S,
        max_value=MAX_S,
        default=USUAL_S,
        help_text="Longer is steadier.",
    )


def device_request(values: dict[str, Any]) -> DeviceRequest:
    """What checked fields stand for. Raises DeviceUnusable for a kept device that is gone."""
    if device := values.get("device"):
        with about("id"):
            return request_for(device)
    path, log_dir, kind = values.get("path"), values.get("log_dir"), values.get("kind")
    memory_mb: int | None = values.get("memory_mb")
    return DeviceRequest(
        path=Path(path) if path else None,
        log_dir=Path(log_dir) if log_dir else None,
        emulate=values.get("emulate") or "",
        memory_bytes=None if memory_mb is None else memory_mb * MB,
        kind=DeviceKind(kind) if kind else None,
    )

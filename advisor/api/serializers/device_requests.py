"""Requests about devices and probes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rest_framework import serializers

from advisor.api.serializers.common import HOST_NAME, KINDS, OPTIONAL, StrictSerializer
from advisor.ids import MAX_ID
from advisor.wording.words import KIND_OF_EMULATED
from benchmarks.emulation.shipped import shipped_profiles
from benchmarks.errors import about
from benchmarks.inventory.device_lookup import NATIVE, DeviceRequest, throttles
from benchmarks.models import Device
from benchmarks.probe.run import MAX_S, MIN_S, USUAL_S
from benchmarks.storage.kinds import DeviceKind
from tuning.studies.named_devices import MAX_MEMORY_MB, MB, MIN_MEMORY_MB, request_for


class DeviceRequestSerializer(StrictSerializer):
    """A device by its properties. Without `path` it is the host's default device."""

    host = serializers.CharField(
        **HOST_NAME, help_text="Name of the host that it is on. If omitted, that of the request."
    )
    path = serializers.CharField(
        max_length=1024, **OPTIONAL, help_text="A directory on the device."
    )
    log_dir = serializers.CharField(
        max_length=1024, **OPTIONAL, help_text="A directory on another device, for the redo logs."
    )
    emulate = serializers.ChoiceField(
        choices=[NATIVE, *shipped_profiles()],
        **OPTIONAL,
        help_text="Name of an emulation profile; it limits mysqld. Null: no emulation.",
    )
    memory_mb = serializers.IntegerField(
        min_value=MIN_MEMORY_MB,
        max_value=MAX_MEMORY_MB,
        **OPTIONAL,
        help_text="Memory limit of mysqld, including its page cache; 1 MB is 10^6 bytes. "
        "Null: for an emulated device enough for the server and half of the data, else no limit.",
    )
    kind = serializers.ChoiceField(
        choices=KINDS,
        **OPTIONAL,
        help_text="Kind of the device, if it cannot be detected. Null: as detected. Not allowed "
        "with a profile that emulates a kind.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs.get("kind") and throttles(attrs.get("emulate")):
            raise serializers.ValidationError({"kind": [KIND_OF_EMULATED]})
        return attrs

    def device_request(self) -> DeviceRequest:
        return device_request(self.validated_data)


class StudyDeviceSerializer(DeviceRequestSerializer):
    """A device of a study: its properties, or only the `id` of a registered one."""

    id = serializers.IntegerField(
        min_value=1,
        max_value=MAX_ID,
        required=False,
        help_text="Id of a device, as listed by GET devices/. Allows no other field.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "id" not in attrs:
            return super().validate(attrs)
        if len(attrs) > 1:
            raise serializers.ValidationError({"id": ["An id allows no other field."]})
        device = Device.objects.select_related("host").filter(pk=attrs["id"]).first()
        if device is None:
            raise serializers.ValidationError({"id": ["There is no such device."]})
        return {"device": device}


class KindRequestSerializer(StrictSerializer):
    kind = serializers.ChoiceField(
        choices=KINDS, allow_null=True, help_text="The kind to set; null removes the setting."
    )

    def device_kind(self) -> DeviceKind | None:
        value = self.validated_data["kind"]
        return DeviceKind(value) if value else None


class ProbeRequestSerializer(StrictSerializer):
    seconds = serializers.FloatField(
        min_value=MIN_S,
        max_value=MAX_S,
        default=USUAL_S,
        help_text="Duration. A longer probe gives steadier figures.",
    )


def device_request(values: dict[str, Any]) -> DeviceRequest:
    """The request of validated fields. Raises DeviceUnusable for a device that is gone."""
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
        host=values.get("host", ""),
    )

"""The storage behind a directory, in responses."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from advisor.api.serializers.common import KINDS
from benchmarks.storage.kinds import Transport


class MemberSerializer(serializers.Serializer[Any]):
    """One disk of an array or of a volume over several."""

    name = serializers.CharField(
        help_text="The block device that the array uses; may be a partition."
    )
    disk = serializers.CharField()
    kind = serializers.ChoiceField(choices=KINDS)
    transport = serializers.ChoiceField(choices=list(Transport))
    model = serializers.CharField()
    rotational = serializers.BooleanField(allow_null=True)
    total_bytes = serializers.IntegerField()
    state = serializers.CharField(
        help_text="State of an md member as the kernel reports it; else empty."
    )


class IdentitySerializer(serializers.Serializer[Any]):
    path = serializers.CharField()
    kind = serializers.ChoiceField(choices=KINDS)
    block_device = serializers.CharField(allow_null=True)
    model = serializers.CharField()
    scheduler = serializers.CharField()
    file_system = serializers.CharField()
    mount_options = serializers.CharField()
    total_bytes = serializers.IntegerField()
    free_bytes = serializers.IntegerField(help_text="At the last inspection.")
    discovered_kind = serializers.ChoiceField(
        choices=KINDS, allow_null=True, help_text="Only if `kind` was set by a user."
    )
    transport = serializers.ChoiceField(choices=list(Transport))
    rotational = serializers.BooleanField(allow_null=True)
    write_cache = serializers.CharField()
    raid_level = serializers.CharField(help_text="Empty if not an array.")
    raid_disks = serializers.IntegerField()
    members = MemberSerializer(many=True)
    layers = serializers.ListField(
        child=serializers.CharField(),
        help_text="Layers between file system and disk, from the top.",
    )
    notes = serializers.ListField(child=serializers.CharField())

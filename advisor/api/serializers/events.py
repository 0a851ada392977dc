"""Events of a study in responses."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from advisor.api.serializers.common import TimeField
from tuning.models import EventKind


class EventSerializer(serializers.Serializer[Any]):
    """Something that happened in a study."""

    at = TimeField()
    kind = serializers.ChoiceField(choices=EventKind.values)
    text = serializers.CharField()
    run_id = serializers.IntegerField(allow_null=True)
    candidate = serializers.CharField(help_text="Empty: it is about none.")
    is_trouble = serializers.BooleanField(help_text="Somebody may want to look into it.")

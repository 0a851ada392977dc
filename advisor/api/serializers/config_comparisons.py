"""Chosen configs side by side, differences and proposals in responses."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from advisor.api.serializers.configs import NoteSerializer


class ProposalSerializer(serializers.Serializer[Any]):
    """What a set of rules advises here."""

    name = serializers.CharField()
    source = serializers.CharField()
    knobs = serializers.DictField(child=serializers.CharField())
    notes = NoteSerializer(many=True, help_text="Why each line is there.")
    left_out = serializers.CharField(help_text="Why it is not possible here; else empty.")


class DiffSerializer(serializers.Serializer[Any]):
    differences = serializers.DictField(
        child=serializers.ListField(
            child=serializers.CharField(allow_null=True), min_length=2, max_length=2
        ),
        help_text="By variable: [left, right]; null: the server's default.",
    )

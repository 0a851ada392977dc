"""Crash recovery in responses: servers that were killed under load and started again."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from benchmarks.models import JobState
from tuning.results.boards import Board


class KillSerializer(serializers.Serializer[Any]):
    seconds = serializers.FloatField(help_text="From the start until it took connections again.")
    checkpoint_age_bytes = serializers.IntegerField(
        allow_null=True, help_text="Redo log that it had to apply."
    )
    history_length = serializers.IntegerField(
        allow_null=True, help_text="Undo logs that were not purged."
    )
    redo_capacity_bytes = serializers.IntegerField(allow_null=True)


class RecoverySerializer(serializers.Serializer[Any]):
    """The crash test of one candidate."""

    config = serializers.CharField(help_text="The candidate's name.")
    state = serializers.ChoiceField(source="test.state", choices=JobState.values)
    reason = serializers.CharField(source="test.reason", help_text="Why it has no figures.")
    load_s = serializers.IntegerField(
        source="test.load_s", help_text="Seconds of load before each kill."
    )
    kills = KillSerializer(source="test.kills", many=True)


def recoveries_of(board: Board) -> list[dict[str, Any]]:
    """One per candidate whose crash test on that board has ended."""
    return [{"config": name, "test": test} for name, test in board.crash_tests.items()]

"""Write debt in responses: what runs had still to write when they began and ended."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from advisor.api.serializers.common import computed


class DebtReadingSerializer(serializers.Serializer[Any]):
    """The debt at one moment; null where the server does not say."""

    checkpoint_age_bytes = serializers.IntegerField(allow_null=True)
    dirty_bytes = serializers.IntegerField(allow_null=True)
    history_length = serializers.IntegerField(
        allow_null=True, help_text="Undo logs that are not purged yet."
    )


class WriteDebtSerializer(serializers.Serializer[Any]):
    """At both ends of the measured interval."""

    start = DebtReadingSerializer()
    end = DebtReadingSerializer()
    put_off = computed(
        serializers.DictField, lambda debt: {k.value: v for k, v in debt.put_off.items()}
    )(
        child=serializers.FloatField(),
        help_text="By kind (redo, pages, purge) the share of the run's writes left for later.",
    )
    fills = serializers.FloatField(
        allow_null=True, help_text="How often the interval filled the redo log."
    )
    redo_capacity_bytes = serializers.IntegerField(allow_null=True)
    missing = serializers.DictField(
        child=serializers.CharField(), help_text="Why a figure is null."
    )


class DebtorSerializer(serializers.Serializer[Any]):
    """A candidate with runs that put their flushing off."""

    config = serializers.CharField(source="candidate.name", help_text="The candidate's name.")
    marked = serializers.IntegerField(help_text="Runs with growing write debt.")
    runs = serializers.IntegerField(help_text="Successful runs in blocks and pairs.")
    put_off = serializers.FloatField(
        help_text="Median share of the writes that the marked runs left for later."
    )
    seconds_to_settle = serializers.FloatField(
        allow_null=True, help_text="Measured seconds after which its redo log is filled twice."
    )
    is_settled = serializers.BooleanField(
        help_text="Whether its longest runs were long enough for the debt to stop growing."
    )

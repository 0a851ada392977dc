"""The history of a device's baseline in responses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rest_framework import serializers

from advisor.api.serializers.common import QuerySerializer, TimeField, computed
from advisor.api.serializers.studies import WorkloadSerializer
from advisor.wording.history import history_sentence
from tuning.comparison.baseline_history import BaselineHistory, Line, Trend
from tuning.statistics.data import Metric


class HistoryQuery(QuerySerializer):
    line = serializers.CharField(
        required=False,
        default="",
        help_text="A `token` of `lines`; by default the first, which has most studies.",
    )


class HistoryLineSerializer(serializers.Serializer[Any]):
    """A baseline with one load on servers of one flavour."""

    token = serializers.CharField()
    name = serializers.CharField(help_text="What the newest study calls the baseline.")
    flavour = serializers.CharField()
    workload = WorkloadSerializer()
    studies = serializers.IntegerField(help_text="Gates count too.")
    last = TimeField(help_text="When its newest run ended.")


class HistoryFigureSerializer(serializers.Serializer[Any]):
    """Of the runs of the baseline in one study: times in ms, path length in cycles."""

    mean = serializers.FloatField(help_text="Geometric.")
    low = serializers.FloatField(allow_null=True, help_text="95 %; null with a single run.")
    high = serializers.FloatField(allow_null=True)
    runs = serializers.IntegerField()


class HistoryPointSerializer(serializers.Serializer[Any]):
    study_id = serializers.IntegerField(source="study")
    name = serializers.CharField()
    is_gate = serializers.BooleanField()
    at = TimeField(help_text="When its last run of the baseline ended.")
    tpmP = HistoryFigureSerializer(source="figures.tpmP")
    p95_ms = HistoryFigureSerializer(source="figures.p95_ms", allow_null=True)
    server_path_length = HistoryFigureSerializer(
        source="figures.server_path_length", allow_null=True
    )


class HistoryShiftSerializer(serializers.Serializer[Any]):
    """Since a study a figure has another level."""

    metric = serializers.ChoiceField(choices=[metric.value for metric in Metric])
    since_study_id = serializers.IntegerField(source="since.study")
    since = TimeField(source="since.at")
    ratio = serializers.FloatField(
        source="level.ratio", help_text="Of the mean level since to the one before."
    )
    low = serializers.FloatField(source="level.interval.low", allow_null=True, help_text="95 %.")
    high = serializers.FloatField(source="level.interval.high", allow_null=True)
    studies_since = serializers.IntegerField(source="level.points")
    studies_before = serializers.IntegerField(source="before")


class HistoryDifferenceSerializer(serializers.Serializer[Any]):
    fact = serializers.CharField()
    then = serializers.CharField()
    now = serializers.CharField()


class HistorySeriesSerializer(serializers.Serializer[Any]):
    """Studies whose baselines may be compared, oldest first."""

    server = serializers.CharField()
    differs = HistoryDifferenceSerializer(
        many=True, help_text="From the series that began before it."
    )
    points = HistoryPointSerializer(many=True)
    changes = computed(
        serializers.ListSerializer,
        lambda one: [shift for metric in Metric for shift in one.shifts(metric)],
    )(child=HistoryShiftSerializer())


class BaselineHistorySerializer(serializers.Serializer[Any]):
    """Whether the host is getting slower, by one baseline and load; nothing is compared across
    series.
    """

    lines = HistoryLineSerializer(many=True, help_text="All that can be chosen.")
    line = HistoryLineSerializer(allow_null=True, help_text="The one shown; null: there is none.")
    trend = serializers.ChoiceField(
        choices=[trend.value for trend in Trend],
        allow_null=True,
        help_text="Of the newest series: by the last change of tpmP; `other` if only another "
        "figure changed.",
    )
    sentence = serializers.CharField(help_text="The same for people; empty without a line.")
    series = HistorySeriesSerializer(many=True)


def history_document(lines: Sequence[Line], history: BaselineHistory | None) -> dict[str, Any]:
    """What BaselineHistorySerializer shows."""
    if history is None:
        return {"lines": lines, "line": None, "trend": None, "sentence": "", "series": []}
    return {
        "lines": lines,
        "line": history.line,
        "trend": history.trend,
        "sentence": history_sentence(history),
        "series": history.series,
    }

"""Searches in responses: space, objective, progress."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from advisor.api.serializers.common import below, computed
from tuning.requests.search import OBJECTIVES
from tuning.results.knob_importance import knob_importance
from tuning.results.searched import search_result
from tuning.results.study_result import StudyResult
from tuning.statistics.data import Metric
from tuning.studies.earlier_studies import (
    MissedBefore,
    WarmStart,
    stored_missed_before,
    warm_start,
)
from tuning.studies.searching import SearchHere


class DimensionSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    kind = serializers.ChoiceField(choices=["number", "choice"])
    low = serializers.FloatField(
        help_text="Lowest value of a number, in the server's unit: bytes as bytes."
    )
    high = serializers.FloatField()
    is_log = serializers.BooleanField(
        help_text="Whether the values are spaced by ratio instead of difference."
    )
    special = serializers.ListField(
        child=serializers.CharField(), help_text="Special values outside of the range."
    )
    choices = serializers.ListField(child=serializers.CharField())
    default = serializers.CharField(help_text="The server's default; empty if unknown.")
    source = serializers.CharField(help_text="Reason for the range.")


class SpaceSerializer(serializers.Serializer[Any]):
    dimensions = DimensionSerializer(
        many=True, help_text="One per variable, the most promising first."
    )
    pinned = serializers.DictField(
        child=serializers.CharField(), help_text="Values that every config of the search sets."
    )


class WarmStartSerializer(serializers.Serializer[Any]):
    """Earlier studies whose best configs are measured first."""

    studies = serializers.ListField(
        child=serializers.IntegerField(), help_text="Earlier studies on the same kind of device."
    )
    configs = serializers.IntegerField(help_text="Different configs of them.")
    runs = serializers.IntegerField(help_text="Runs of these configs.")


class StoredWarmStartSerializer(WarmStartSerializer):
    """That of a search as it is stored."""

    def get_attribute(self, instance: dict[str, Any]) -> WarmStart | None:
        return warm_start(instance)


_WARM_START = {
    "allow_null": True,
    "help_text": "Earlier studies whose best configs are measured first. Null: none.",
}


class MissedBeforeSerializer(serializers.Serializer[Any]):
    """Limits that the baseline itself missed in an earlier study; of a search as it is stored."""

    study = serializers.IntegerField(help_text="The earlier study.")
    limits = serializers.ListField(
        child=serializers.CharField(), help_text="As `p95 <= 50 ms: 61.2 ms in 8 runs`."
    )

    def get_attribute(self, instance: SearchHere | dict[str, Any]) -> MissedBefore | None:
        if isinstance(instance, SearchHere):
            found = instance.missed_before
        else:
            found = stored_missed_before(instance)
        return found if found.limits else None


_MISSED_BEFORE = {
    "allow_null": True,
    "help_text": "Limits that the baseline missed in an earlier study in the same situation. "
    "Null: none that is known.",
}


class SearchHereSerializer(SpaceSerializer):
    """A space, and the earlier studies that a search of it would begin with."""

    warm_start = WarmStartSerializer(**_WARM_START)
    missed_before = MissedBeforeSerializer(**_MISSED_BEFORE)
    scale_model = serializers.CharField(
        source="model.title",
        allow_null=True,
        help_text="Whose sizes those of memory are, as `scale model 1:200`; null: of this host.",
    )

    def get_fields(self) -> dict[str, serializers.Field]:
        fields: dict[str, serializers.Field] = super().get_fields()
        below("space", fields, SpaceSerializer().fields)
        return fields


class SearchSerializer(serializers.Serializer[Any]):
    objective = computed(
        serializers.ChoiceField,
        lambda stored: next(
            n for n, metric in OBJECTIVES.items() if metric == stored["objective"]
        ),
    )(choices=list(OBJECTIVES))
    keep = serializers.DictField(
        child=serializers.FloatField(),
        help_text="Limits by metric: minimum of `tpmP`, maximum of `p95_ms` (ms), of "
        "`server_path_length` (cycles per New-Order) and of `recovery_s` (seconds).",
    )
    space = SpaceSerializer()
    warm_start = StoredWarmStartSerializer(**_WARM_START)
    missed_before = MissedBeforeSerializer(**_MISSED_BEFORE)


class SearchedSerializer(serializers.Serializer[Any]):
    tried = serializers.IntegerField(help_text="Configs measured so far.")
    rounds = serializers.IntegerField()
    best = serializers.CharField(help_text="The best config so far; empty if none.")
    ratio = serializers.FloatField(
        allow_null=True,
        help_text="Its objective divided by the baseline's; probably overstated.",
    )
    missed = serializers.ListField(
        child=serializers.CharField(),
        help_text="Limits that the baseline itself misses, as `p95 <= 50 ms: 61.2 ms in 8 runs`.",
    )


class KnobEffectSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    runs = serializers.IntegerField(help_text="Runs with another than its most frequent value.")
    values = serializers.IntegerField(help_text="Different values seen.")
    share = serializers.FloatField(
        allow_null=True,
        help_text="Of the variation that the model explains, by this variable alone; null: too "
        "few runs to tell, and the fields below say nothing.",
    )
    worst = serializers.CharField(help_text="Its worst-looking value.")
    best = serializers.CharField(help_text="Its best-looking value.")
    ratio = serializers.FloatField(help_text="Objective at `best` divided by that at `worst`.")
    interval_low = serializers.FloatField(source="low", help_text="95 % interval of `ratio`.")
    interval_high = serializers.FloatField(source="high")


class ImportanceSerializer(serializers.Serializer[Any]):
    runs = serializers.IntegerField(help_text="Short runs that the model has learned from.")
    configs = serializers.IntegerField(help_text="Different configs among them.")
    together = serializers.FloatField(
        help_text="Share of the variation that only combinations of variables make."
    )
    knobs = KnobEffectSerializer(
        many=True, help_text="The most important first; empty: too few configs to tell."
    )


def _ratio(metric: Metric, help_text: str) -> serializers.Field:
    field = computed(serializers.FloatField, lambda one: one.ratios.get(metric))
    return field(allow_null=True, help_text=help_text)


class TriedSerializer(serializers.Serializer[Any]):
    config = serializers.CharField(source="candidate.name")
    runs = computed(serializers.IntegerField, lambda one: len(one.looks))(
        help_text="Short runs of it."
    )
    raced = serializers.BooleanField(source="is_finalist")
    tpmP_ratio = _ratio(Metric.TPMP, "tpmP divided by the baseline's in the same round.")
    p95_ratio = _ratio(Metric.P95, "The same of the p95 response time.")
    path_length_ratio = _ratio(Metric.SERVER_PATH_LENGTH, "The same of the server path length.")


class SearchResultSerializer(serializers.Serializer[Any]):
    """What the short runs of a search say; none of it is confirmed."""

    tried = TriedSerializer(many=True, help_text="Configs measured, the best first.")
    front_p95 = serializers.ListField(
        child=serializers.CharField(),
        help_text="Pareto front of throughput and p95 among them, by single short runs.",
    )
    front_path_length = serializers.ListField(
        child=serializers.CharField(), help_text="The same with the server path length."
    )
    importance = ImportanceSerializer()


def search_result_of(result: StudyResult) -> dict[str, Any] | None:
    """What `SearchResultSerializer` takes; None for a study that does not search."""
    found, learned = search_result(result), knob_importance(result)
    if found is None or learned is None:
        return None

    def front(cost: Metric) -> list[str]:
        return [one.candidate.name for one in found.front(cost)]

    return {
        "tried": found.tried,
        "front_p95": front(Metric.P95),
        "front_path_length": front(Metric.SERVER_PATH_LENGTH),
        "importance": learned,
    }

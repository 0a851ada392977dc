"""Recommendations in responses."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from advisor.api.serializers.common import (
    CLASSES,
    FORMAT_NAMES,
    FiniteField,
    NamedDeviceSerializer,
    below,
    computed,
)
from advisor.api.serializers.configs import COSTS_HELP, CostSerializer
from advisor.api.serializers.shown import shown
from tuning.catalogue.knob import Durability
from tuning.export.formats import ExportRequest
from tuning.export.lines import lines_of
from tuning.export.safety import losing_lines
from tuning.models import Recommendation
from tuning.results.study_result import StudyResult
from tuning.statistics.data import Metric
from tuning.statistics.removal import RemovalState
from tuning.statistics.verdict import VerdictKind


class LossSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    value = serializers.CharField()
    durability = serializers.ChoiceField(choices=CLASSES)
    loses = serializers.CharField(help_text="What may be lost in a crash.")


class SizedSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    in_model = serializers.CharField(help_text="As measured.")
    value = serializers.CharField(help_text="On the real server, as in the files.")


class LinesEffectSerializer(serializers.Serializer[Any]):
    """What some lines of a winner contribute, measured without them; most often it is one line."""

    lines = serializers.DictField(child=serializers.CharField(), help_text="Names and values.")
    state = serializers.ChoiceField(
        choices=list(RemovalState),
        help_text="`no_effect` and `same` are left out, if that was verified.",
    )
    ratio = FiniteField(help_text="Ratio of the study's metric: with them to without them.")
    interval_low = FiniteField(source="interval.low", help_text="95 % interval of `ratio`.")
    interval_high = FiniteField(source="interval.high")
    text = serializers.CharField(help_text="The figures, or why there are none, in words.")


class AdviceSerializer(serializers.Serializer[Any]):
    config = serializers.CharField(source="candidate.name", help_text="The candidate's name.")
    device = serializers.CharField(
        source="device.data_dir", help_text="The device's data directory."
    )
    ratio_to_baseline = serializers.FloatField(help_text="Of tpmP, whatever the objective.")
    verdict = serializers.CharField()
    my_cnf = serializers.CharField(
        allow_null=True, help_text="Null if `acknowledge` is required first."
    )
    device_id = serializers.IntegerField()
    durability = serializers.ChoiceField(choices=CLASSES, help_text="Of the board that it won.")
    acknowledge = serializers.ChoiceField(
        choices=CLASSES, help_text="The class that an export must acknowledge; D0: none."
    )
    losses = LossSerializer(many=True)
    costs = CostSerializer(many=True, help_text=COSTS_HELP)
    proportion = serializers.CharField(
        help_text="How much memory and data were measured, in words; empty: unknown."
    )
    sized = SizedSerializer(
        many=True, help_text="Values of a scale model that are others on the real server."
    )
    whole = serializers.CharField(
        source="whole.name",
        allow_null=True,
        help_text="The winner with all its lines, if lines of it were left out.",
    )
    line_effects = LinesEffectSerializer(
        many=True, help_text="Of the winner's lines; empty if it was not taken apart."
    )
    formats = computed(serializers.ListField, lambda _: FORMAT_NAMES)(
        child=serializers.ChoiceField(choices=FORMAT_NAMES), help_text="Formats for an export."
    )
    connections = serializers.IntegerField(
        source="workload.connections", help_text="Of the board that it won."
    )
    kind = serializers.CharField(help_text=f"One of {', '.join(VerdictKind)}; empty: unknown.")
    interval_low = serializers.FloatField(
        source="low", allow_null=True, help_text="95 % interval of the ratio."
    )
    interval_high = serializers.FloatField(source="high", allow_null=True)
    selected_ratio = serializers.FloatField(
        allow_null=True, help_text="The ratio of the blocks, before the fresh pairs."
    )
    objective = serializers.CharField(help_text=f"What decided: {', '.join(Metric)}.")
    objective_ratio = serializers.FloatField(
        allow_null=True,
        help_text="Objective divided by the baseline's; null if that is tpmP or the baseline is "
        "kept.",
    )
    objective_interval_low = serializers.FloatField(
        source="objective_low", allow_null=True, help_text="95 % interval of `objective_ratio`."
    )
    objective_interval_high = serializers.FloatField(source="objective_high", allow_null=True)
    noise_floor = serializers.FloatField(allow_null=True)
    confirmation = serializers.CharField(
        help_text="confirmed, withdrawn or unfinished; empty: none."
    )


OF_ITS_EVIDENCE = frozenset(
    {"my_cnf", "acknowledge", "losses", "costs", "line_effects", "formats", "proportion", "sized"}
)


class RecommendationSerializer(AdviceSerializer, NamedDeviceSerializer):
    """A recommendation; no file text before its durability class is acknowledged."""

    def get_fields(self) -> dict[str, serializers.Field]:
        fields: dict[str, serializers.Field] = super().get_fields()
        below("recommendation", fields, fields.keys() - OF_ITS_EVIDENCE)
        return fields


def recommendation_of(result: StudyResult, recommendation: Recommendation) -> dict[str, Any]:
    """One of the study's recommendations."""
    evidence = result.evidence(recommendation)
    losses = losing_lines(evidence)
    needed = max((line.durability for line in losses), default=Durability.D0)
    lines = lines_of(evidence)
    parts = {
        "recommendation": recommendation,
        "my_cnf": result.export(recommendation, ExportRequest()).text
        if needed is Durability.D0
        else None,
        "acknowledge": needed,
        "losses": losses,
        "line_effects": evidence.apart,
        "costs": [cost for line in lines for cost in line.costs],
        "proportion": evidence.proportion,
        "sized": [line for line in lines if line.in_model],
    }
    return shown(RecommendationSerializer, parts)

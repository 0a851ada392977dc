"""Configs in answers: what became of their lines, and how they were checked."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from advisor.api.serializers.common import CLASSES, COSTS, computed
from advisor.wording.checks import summary_of
from tuning.configs.effective.costs import KnobCost, costs_of
from tuning.configs.gate.stages import Stage
from tuning.configs.notes import Action
from tuning.models import Candidate
from tuning.results.evidence import traits_of

COSTS_HELP = "What it gives up for speed other than durability."


class ProblemSerializer(serializers.Serializer[Any]):
    line = serializers.IntegerField(allow_null=True)
    option = serializers.CharField(source="name")
    reason = serializers.CharField()


class NoteSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    action = serializers.ChoiceField(choices=list(Action))
    detail = serializers.CharField()


class LineSerializer(serializers.Serializer[Any]):
    line = serializers.IntegerField(help_text="Counted from 1.")
    name = serializers.CharField()
    given = serializers.CharField(allow_null=True, help_text="Null: an option without a value.")
    action = serializers.ChoiceField(choices=list(Action))
    became = serializers.ListField(
        child=serializers.ListField(child=serializers.CharField(), min_length=2, max_length=2),
        help_text="What the line sets: pairs of name and value.",
    )
    detail = serializers.CharField(help_text="Why, for people.")


class DifferenceSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    requested = serializers.CharField()
    effective = serializers.CharField(allow_null=True, help_text="Null: the server shows none.")


class StageSerializer(serializers.Serializer[Any]):
    stage = serializers.ChoiceField(choices=list(Stage))
    reached = serializers.BooleanField(help_text="False: an earlier stage kept it from it.")
    passed = serializers.BooleanField()
    seconds = serializers.FloatField(allow_null=True, help_text="Of the trial start.")
    problems = ProblemSerializer(many=True)
    differences = DifferenceSerializer(many=True)
    log_tail = serializers.CharField()

    def to_representation(self, instance: dict[str, Any]) -> dict[str, Any]:
        # Rows that were stored before this was told apart lack it.
        return super().to_representation({"reached": True} | instance)


class CostSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    value = serializers.CharField()
    kind = serializers.ChoiceField(choices=COSTS)
    loses = serializers.CharField(help_text="What it gives up for speed, for people.")


class CandidateCosts(serializers.ListSerializer[Any]):
    """The costs of a candidate's knobs on the server of its study."""

    def get_attribute(self, instance: Candidate) -> list[KnobCost]:
        return costs_of(instance.config.knobs, traits_of(instance.study.server))


class CandidateSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    is_baseline = serializers.BooleanField()
    durability = serializers.ChoiceField(choices=CLASSES)
    source = serializers.CharField()
    knobs = serializers.DictField(source="config.knobs", child=serializers.CharField())
    costs = CandidateCosts(child=CostSerializer(), help_text=COSTS_HELP)
    notes = NoteSerializer(many=True)
    lines = LineSerializer(many=True, help_text="Of a file of yours; empty for a preset.")
    checks = StageSerializer(many=True, help_text="Empty until they were made.")
    refusal = serializers.CharField(help_text="Why the server does not take it; else empty.")
    merged_into = serializers.CharField(
        source="merged_into.name",
        allow_null=True,
        help_text="The candidate that was measured for both.",
    )


class CheckedConfigSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(source="report.source")
    target = serializers.CharField()
    is_fine = computed(serializers.BooleanField, lambda checked: not checked.report.problems)(
        help_text="Whether a study would take it."
    )
    summary = computed(serializers.CharField, summary_of)(help_text="One sentence for people.")
    durability = serializers.ChoiceField(choices=CLASSES, help_text="Of what it comes to.")
    costs = CostSerializer(many=True, help_text=COSTS_HELP)
    lines = LineSerializer(source="report.lines", many=True)
    problems = ProblemSerializer(source="report.problems", many=True)
    notes = NoteSerializer(source="report.notes", many=True)
    knobs = serializers.DictField(source="report.knobs", child=serializers.CharField())
    my_cnf = computed(serializers.CharField, lambda checked: checked.cnf or None)(
        allow_null=True,
        help_text="What it comes to, below D0 with a warning at its top; null when it is refused.",
    )

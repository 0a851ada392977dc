"""Configs in responses: the result of each line, and their checks."""

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

COSTS_HELP = "Its costs other than durability."


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
    given = serializers.CharField(allow_null=True, help_text="Null for an option without a value.")
    action = serializers.ChoiceField(choices=list(Action))
    became = serializers.ListField(
        child=serializers.ListField(child=serializers.CharField(), min_length=2, max_length=2),
        help_text="The variables that the line sets: pairs of name and value.",
    )
    detail = serializers.CharField(help_text="The reason, in words.")


class DifferenceSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    requested = serializers.CharField()
    effective = serializers.CharField(
        allow_null=True, help_text="Null if the server does not report it."
    )


class StageSerializer(serializers.Serializer[Any]):
    stage = serializers.ChoiceField(choices=list(Stage))
    reached = serializers.BooleanField(help_text="False if an earlier stage refused the config.")
    passed = serializers.BooleanField()
    seconds = serializers.FloatField(allow_null=True, help_text="Duration of the trial start.")
    problems = ProblemSerializer(many=True)
    differences = DifferenceSerializer(many=True)
    log_tail = serializers.CharField()

    def to_representation(self, instance: dict[str, Any]) -> dict[str, Any]:
        # Old rows do not have this key.
        return super().to_representation({"reached": True} | instance)


class CostSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    value = serializers.CharField()
    kind = serializers.ChoiceField(choices=COSTS)
    loses = serializers.CharField(help_text="The cost in words.")


class CandidateCosts(serializers.ListSerializer[Any]):
    """The costs of a candidate's variables on the server of its study."""

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
    lines = LineSerializer(many=True, help_text="Only for your own files; empty for a preset.")
    checks = StageSerializer(many=True, help_text="Empty before the first check.")
    refusal = serializers.CharField(help_text="Why the server refused it; otherwise empty.")
    taken_from = serializers.CharField(
        source="taken_from.name",
        allow_null=True,
        help_text="The winner that this is, without some of its lines.",
    )
    without = serializers.ListField(
        child=serializers.CharField(), help_text="The lines of `taken_from` that it lacks."
    )
    merged_into = serializers.CharField(
        source="merged_into.name",
        allow_null=True,
        help_text="The candidate with the same effective values, which is measured for both.",
    )


class CheckedConfigSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(source="report.source")
    target = serializers.CharField()
    is_fine = computed(serializers.BooleanField, lambda checked: not checked.report.problems)(
        help_text="Whether a study would accept it."
    )
    summary = computed(serializers.CharField, summary_of)(help_text="The result in one sentence.")
    durability = serializers.ChoiceField(
        choices=CLASSES, help_text="Class of the resulting config."
    )
    costs = CostSerializer(many=True, help_text=COSTS_HELP)
    lines = LineSerializer(source="report.lines", many=True)
    problems = ProblemSerializer(source="report.problems", many=True)
    notes = NoteSerializer(source="report.notes", many=True)
    knobs = serializers.DictField(source="report.knobs", child=serializers.CharField())
    my_cnf = computed(serializers.CharField, lambda checked: checked.cnf or None)(
        allow_null=True,
        help_text="The resulting file, below D0 with a warning at its top; null if refused.",
    )

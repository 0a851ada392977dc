"""Study templates and their claims in responses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rest_framework import serializers

from advisor.api.serializers.common import CLASSES, below, computed
from tuning.statistics.data import Metric
from tuning.studies.template_time import template_seconds
from tuning.study_templates.loader import StudyTemplate


class ClaimSerializer(serializers.Serializer[Any]):
    """A claim of a source, as a range of the ratio that a study measures."""

    claim = serializers.CharField(source="says", help_text="The claim in one sentence.")
    source = serializers.CharField()
    published = serializers.CharField(help_text="The source's own figures; may be empty.")
    device_kinds = serializers.ListField(
        source="devices",
        child=serializers.CharField(),
        help_text="Kinds of device that it is about; empty: all.",
    )
    metric = serializers.ChoiceField(source="statement.metric", choices=list(Metric))
    claimed_low = computed(serializers.FloatField, lambda claim: claim.statement.claimed[0])(
        allow_null=True, help_text="The claim holds for ratios above; null: no lower bound."
    )
    claimed_high = computed(serializers.FloatField, lambda claim: claim.statement.claimed[1])(
        allow_null=True, help_text="The claim holds for ratios below; null: no upper bound."
    )


@dataclass(frozen=True)
class TemplateOnHost:
    """A template, and the CPUs that a server may use on the host that it is shown for."""

    template: StudyTemplate
    cpus: int


class TemplateSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    title = serializers.CharField()
    repeats = serializers.CharField(
        help_text="The published figure that it repeats; may be empty."
    )
    candidates = serializers.ListField(
        child=serializers.CharField(),
        help_text="Its candidates without copies, the baseline first.",
    )
    baseline = serializers.CharField()
    warehouses = serializers.IntegerField()
    connections = computed(
        serializers.ListField, lambda one: one.template.connections_on(one.cpus)
    )(
        child=serializers.IntegerField(),
        help_text="On the host; some templates scale them with its CPUs.",
    )
    warmup_s = serializers.IntegerField()
    measure_s = serializers.IntegerField()
    blocks = serializers.IntegerField()
    minutes = computed(
        serializers.FloatField,
        lambda one: round(template_seconds(one.template, one.cpus) / 60, 1),
    )(help_text="Estimate for all blocks on one device, without loading the dataset.")
    races = serializers.BooleanField()
    confirms = serializers.BooleanField()
    durability = serializers.ChoiceField(
        choices=CLASSES, help_text="The least safe class of its own candidates."
    )
    needs_log_device = serializers.BooleanField(
        help_text="Whether the device must have a separate redo log directory."
    )
    searches = serializers.BooleanField(
        help_text="Whether it searches for better configs, starting with its candidates."
    )
    budget_minutes = serializers.IntegerField(
        allow_null=True, help_text="Default budget; null if it has none."
    )
    claims = ClaimSerializer(many=True)

    def get_fields(self) -> dict[str, serializers.Field]:
        # The instance is a TemplateOnHost.
        fields: dict[str, serializers.Field] = super().get_fields()
        below("template", fields, fields.keys() - {"connections", "minutes"})
        return fields

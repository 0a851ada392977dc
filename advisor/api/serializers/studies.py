"""A study in answers: what it is and how far."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from advisor.api.serializers.common import COSTS, TimeField, computed
from advisor.api.serializers.configs import CandidateSerializer
from advisor.api.serializers.devices import DeviceReferenceSerializer
from tuning.models import Study, StudyState
from tuning.studies.progress import StudyProgress, study_progress


class ServerSerializer(serializers.Serializer[Any]):
    flavour = serializers.CharField()
    version = serializers.CharField()
    path = serializers.CharField()


class WorkloadSerializer(serializers.Serializer[Any]):
    driver = serializers.CharField()
    warehouses = serializers.IntegerField()
    connections = serializers.IntegerField()
    warmup_s = serializers.IntegerField()
    measure_s = serializers.IntegerField()


class PauseSerializer(serializers.Serializer[Any]):
    since = TimeField(source="paused_at")
    by = serializers.CharField(source="paused_by", help_text="Empty: not known.")
    reason = serializers.CharField(source="pause_reason", help_text="Empty: none was given.")

    def get_attribute(self, instance: Study) -> Study | None:
        return instance if instance.is_paused else None


class StudySerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    name = serializers.CharField()
    template = serializers.CharField()
    state = serializers.ChoiceField(choices=StudyState.values)
    paused = PauseSerializer(
        allow_null=True,
        help_text="Null: it is not. What was under way when it was paused ends first.",
    )
    reason_code = serializers.CharField(help_text="Why it failed, for programs; else empty.")
    reason = serializers.CharField(help_text="Why it failed, for people; else empty.")
    host = serializers.CharField(source="host.name")
    server = ServerSerializer()
    devices = DeviceReferenceSerializer(many=True)
    workloads = WorkloadSerializer(many=True)
    blocks = serializers.IntegerField()
    seed = serializers.IntegerField()
    durability = serializers.CharField()
    races = serializers.BooleanField(help_text="Drops candidates that are measurably behind.")
    confirms = serializers.BooleanField(help_text="Measures the winner afresh, in pairs.")
    budget_minutes = serializers.IntegerField(allow_null=True)
    allow = serializers.ListField(
        source="allowed_costs",
        child=serializers.ChoiceField(choices=COSTS),
        help_text="Kinds of cost, beside durability, that its proposals may have.",
    )
    keeps_duplicates = serializers.BooleanField()
    conclusions = serializers.IntegerField(help_text="1, and one more with every extension.")
    created_at = TimeField()
    started_at = TimeField(allow_null=True)
    finished_at = TimeField(allow_null=True)


class StudyPageSerializer(serializers.Serializer[Any]):
    count = serializers.IntegerField(help_text="Of all studies, on all pages.")
    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = StudySerializer(many=True)


class ProgressSerializer(serializers.Serializer[Any]):
    fraction = computed(serializers.FloatField, lambda progress: round(progress.fraction, 4))(
        help_text="0 to 1."
    )
    text = serializers.CharField()
    candidate = serializers.CharField(help_text="What is being measured; empty between runs.")
    block = serializers.IntegerField()
    blocks = serializers.IntegerField()
    step = serializers.CharField()
    runs_done = serializers.IntegerField()
    runs_total = serializers.IntegerField()
    eta_s = computed(
        serializers.FloatField,
        lambda progress: None if progress.eta_s is None else round(progress.eta_s, 1),
    )(allow_null=True, help_text="Seconds left; null: not known.")
    pair = serializers.IntegerField(help_text="Of the confirmation; 0 in the blocks.")
    pairs = serializers.IntegerField(help_text="Of the confirmation; 0 in the blocks.")
    device = serializers.CharField(
        help_text="The name of the one that is measured; empty where none is, or where there is "
        "but one, as it is."
    )

    def get_attribute(self, instance: Study) -> StudyProgress:
        return study_progress(instance)


class StudyStateSerializer(StudySerializer):
    progress = ProgressSerializer()
    candidates = CandidateSerializer(many=True)

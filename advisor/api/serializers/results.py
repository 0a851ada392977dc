"""What a study has found in answers: verdicts, trust and runs."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from advisor.api.serializers.common import CLASSES, NamedDeviceSerializer
from advisor.api.serializers.templates import FindingSerializer
from benchmarks.models import RunState
from tuning.models import SlotPurpose
from tuning.statistics.verdict import VerdictKind


class ConfirmationSerializer(serializers.Serializer[Any]):
    candidate = serializers.CharField()
    state = serializers.CharField(help_text="measuring, confirmed, withdrawn or unfinished.")
    pairs_done = serializers.IntegerField()
    pairs = serializers.IntegerField()
    ratio_to_baseline = serializers.FloatField(allow_null=True)
    interval_low = serializers.FloatField(allow_null=True)
    interval_high = serializers.FloatField(allow_null=True)
    sentence = serializers.CharField(help_text="Empty while it is measured.")


class DriftSerializer(serializers.Serializer[Any]):
    change = serializers.FloatField(help_text="Of the baseline's tpmP over the study; -0.1: -10 %")
    minutes = serializers.FloatField()
    p = serializers.FloatField(help_text="Chance of so clear a trend on a steady host.")
    is_named = serializers.BooleanField(help_text="Whether the verdict names it.")


class BoardSerializer(NamedDeviceSerializer):
    device = serializers.CharField(help_text="The device's data directory.")
    device_id = serializers.IntegerField()
    connections = serializers.IntegerField()
    durability = serializers.ChoiceField(choices=CLASSES)
    blocks = serializers.IntegerField(help_text="In which the baseline has a figure.")
    verdict_kind = serializers.ChoiceField(choices=list(VerdictKind))
    verdict = serializers.CharField()
    winner = serializers.CharField(allow_null=True)
    noise_floor = serializers.FloatField(
        allow_null=True, help_text="What two names of one config may differ by; 0.04 is 4 %."
    )
    run_noise = serializers.FloatField(
        allow_null=True, help_text="Standard deviation of one run, as a share of its figure."
    )
    same_config_ratio = serializers.FloatField(
        allow_null=True, help_text="The second baseline's tpmP to the first's (A/A)."
    )
    pareto = serializers.ListField(child=serializers.CharField())
    confirmations = ConfirmationSerializer(many=True)
    drift = DriftSerializer(allow_null=True)
    excluded_runs = serializers.IntegerField(help_text="Not comparable with the others.")


class TrustSerializer(serializers.Serializer[Any]):
    disturbed = serializers.IntegerField(help_text="Void runs, those measured again included.")
    without_figure = serializers.IntegerField(help_text="Of these, void for good.")
    still_warming = serializers.IntegerField()
    kinds = serializers.DictField(child=serializers.IntegerField())
    unwatched = serializers.ListField(child=serializers.CharField())


class ResultsSerializer(serializers.Serializer[Any]):
    boards = BoardSerializer(many=True)
    trust = TrustSerializer()
    findings = FindingSerializer(
        many=True, help_text="Of the template's claims, one for each place; empty without claims."
    )


class DisturbanceSerializer(serializers.Serializer[Any]):
    kind = serializers.CharField()
    value = serializers.FloatField()
    limit = serializers.FloatField()
    unit = serializers.CharField()
    text = serializers.CharField()


class RunSerializer(NamedDeviceSerializer):
    id = serializers.IntegerField()
    order = serializers.IntegerField(help_text="Its place in the study.")
    config = serializers.CharField(help_text="The candidate's name.")
    block = serializers.IntegerField()
    purpose = serializers.ChoiceField(choices=SlotPurpose.values)
    twin = serializers.IntegerField(help_text="1: the baseline's second run of its block.")
    device_id = serializers.IntegerField()
    connections = serializers.IntegerField()
    state = serializers.CharField(help_text=f"One of {', '.join(RunState.values)}.")
    reason = serializers.CharField()
    tpmP = serializers.FloatField(allow_null=True)
    tpmP_at_most = serializers.FloatField(
        allow_null=True, help_text="Bound of a run that was cut short."
    )
    p95_ms = serializers.FloatField(allow_null=True)
    server_path_length = serializers.FloatField(allow_null=True)
    started_at = serializers.DateTimeField(allow_null=True)
    still_warming = serializers.BooleanField()
    trend_pct = serializers.FloatField(
        allow_null=True, help_text="Change of throughput while it was measured."
    )
    disturbances = DisturbanceSerializer(many=True, help_text="Why it is void.")
    measured_again_as = serializers.IntegerField(
        allow_null=True, help_text="The run that took its place."
    )

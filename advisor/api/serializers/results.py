"""Results of a study in responses: verdicts, data quality and runs."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from advisor.api.serializers.common import (
    CLASSES,
    FiniteField,
    NamedDeviceSerializer,
    TimeField,
    below,
    computed,
)
from advisor.api.serializers.recoveries import RecoverySerializer, recoveries_of
from advisor.api.serializers.searches import SearchResultSerializer, search_result_of
from advisor.api.serializers.shown import shown
from advisor.api.serializers.write_debt import DebtorSerializer, WriteDebtSerializer
from benchmarks.models import RunState
from tuning.models import SlotPurpose
from tuning.results.study_result import StudyResult
from tuning.results.write_debt import debtors_of
from tuning.statistics.data import Metric
from tuning.statistics.verdict import VerdictKind
from tuning.study_templates.evaluation import FindingKind


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


class ConfirmationSerializer(serializers.Serializer[Any]):
    candidate = serializers.CharField(source="candidate.name")
    state = computed(
        serializers.CharField, lambda one: one.found.state.value if one.found else "measuring"
    )(help_text="measuring, confirmed, withdrawn or unfinished.")
    pairs_done = serializers.IntegerField(source="done")
    pairs = serializers.IntegerField(source="planned")
    ratio_to_baseline = serializers.FloatField(source="found.ratio", allow_null=True)
    interval_low = serializers.FloatField(source="found.interval.low", allow_null=True)
    interval_high = serializers.FloatField(source="found.interval.high", allow_null=True)
    sentence = computed(
        serializers.CharField, lambda one: one.found.sentence if one.found else ""
    )(help_text="Empty while it is being measured.")


class OfBoardSerializer(serializers.ListSerializer[Any]):
    """A list that is made of a board."""


class DriftSerializer(serializers.Serializer[Any]):
    change = serializers.FloatField(
        help_text="Change of the baseline's tpmP over the study; -0.1 is -10 %."
    )
    minutes = serializers.FloatField()
    p = serializers.FloatField(help_text="Probability of such a trend on a steady host.")
    is_named = serializers.BooleanField(help_text="Whether the verdict mentions it.")


class VerdictSerializer(serializers.Serializer[Any]):
    device = serializers.CharField(
        source="device.data_dir", help_text="The device's data directory."
    )
    device_id = serializers.IntegerField(source="device.pk")
    connections = serializers.IntegerField(source="workload.connections")
    durability = serializers.ChoiceField(choices=CLASSES)
    blocks = serializers.IntegerField(
        source="for_advice.analysis.blocks", help_text="Blocks in which the baseline has a result."
    )
    verdict_kind = serializers.ChoiceField(
        source="for_advice.verdict.kind", choices=list(VerdictKind)
    )
    verdict = serializers.CharField(source="for_advice.verdict.sentence")
    winner = serializers.CharField(source="for_advice.analysis.winner", allow_null=True)
    noise_floor = FiniteField(
        source="for_advice.analysis.floor",
        help_text="How much the same config, entered twice, can differ; 0.04 is 4 %.",
    )
    run_noise = FiniteField(
        source="for_advice.analysis.run_noise",
        help_text="Standard deviation of a single run, as a share of its result.",
    )
    same_config_ratio = FiniteField(
        source="for_advice.analysis.same",
        help_text="tpmP of the baseline's replicates divided by that of its first runs (A/A).",
    )
    pareto = serializers.ListField(child=serializers.CharField())
    confirmations = ConfirmationSerializer(source="fresh_pairs", many=True)
    drift = DriftSerializer(source="for_advice.drift", allow_null=True)
    excluded_runs = serializers.IntegerField(
        help_text="Runs that are not comparable with the others."
    )
    recovery = computed(OfBoardSerializer, recoveries_of)(
        child=RecoverySerializer(), help_text="Crash tests that have ended."
    )
    write_debt = computed(OfBoardSerializer, debtors_of)(
        child=DebtorSerializer(),
        help_text="Candidates with runs that put their flushing off until after the measurement.",
    )


class BoardSerializer(VerdictSerializer, NamedDeviceSerializer):
    """The verdict is by tpmP, among candidates without failed runs."""


class DataQualitySerializer(serializers.Serializer[Any]):
    disturbed = serializers.IntegerField(
        help_text="Void runs, including those that were replaced."
    )
    without_figure = serializers.IntegerField(help_text="Void runs that could not be replaced.")
    still_warming = serializers.IntegerField()
    kinds = serializers.DictField(child=serializers.IntegerField())
    unwatched = serializers.ListField(child=serializers.CharField())


class FindingSerializer(ClaimSerializer):
    """The current finding of a device and workload for a claim, also while a study runs."""

    finding = serializers.ChoiceField(source="finding.kind", choices=list(FindingKind))
    sentence = serializers.CharField(
        source="finding.sentence", help_text="The finding in one sentence, with the interval."
    )
    ratio = FiniteField(
        source="finding.ratio",
        help_text="Ratio of the metric: the claim's first config to its second.",
    )
    interval_low = FiniteField(
        source="finding.interval.low", help_text="95 % interval of `ratio`."
    )
    interval_high = FiniteField(source="finding.interval.high")
    device = serializers.CharField(
        source="device.data_dir", allow_null=True, help_text="The device's data directory."
    )
    device_id = serializers.IntegerField(source="device.pk", allow_null=True)
    device_name = serializers.CharField(
        source="device", allow_null=True, help_text="Name as shown on the pages."
    )
    device_kind = serializers.CharField(
        source="finding.device_kind",
        allow_null=True,
        help_text="Null, like the other device fields, if the claim is not about one device.",
    )
    emulated = computed(
        serializers.BooleanField,
        lambda row: row["device"] and bool(row["device"].emulation_label),
    )(allow_null=True, help_text="Measured under limits on mysqld.")
    emulation = serializers.CharField(
        source="device.emulation_label",
        allow_null=True,
        help_text="The limits in words; empty: none.",
    )
    connections = serializers.IntegerField(
        source="finding.connections",
        allow_null=True,
        help_text="Null also if the claim compares several numbers of connections.",
    )

    def get_fields(self) -> dict[str, serializers.Field]:
        fields: dict[str, serializers.Field] = super().get_fields()
        below("claim", fields, ClaimSerializer().fields)
        return fields


class ResultsSerializer(serializers.Serializer[Any]):
    boards = BoardSerializer(many=True)
    trust = DataQualitySerializer()
    findings = FindingSerializer(
        many=True,
        help_text="One per claim of the template, device and workload; empty without claims.",
    )
    search = SearchResultSerializer(allow_null=True, help_text="Null: it is no search.")


class DisturbanceSerializer(serializers.Serializer[Any]):
    kind = serializers.CharField()
    value = serializers.FloatField()
    limit = serializers.FloatField()
    unit = serializers.CharField()
    text = serializers.CharField()


class RunFactsSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField(source="run.pk")
    order = serializers.IntegerField(source="slot.order", help_text="Position in the study.")
    config = serializers.CharField(source="slot.candidate.name", help_text="The candidate's name.")
    block = serializers.IntegerField(source="slot.block")
    purpose = serializers.ChoiceField(source="slot.purpose", choices=SlotPurpose.values)
    twin = serializers.IntegerField(
        source="slot.replicate", help_text="1 for the baseline's replicate in its block, else 0."
    )
    device_id = serializers.IntegerField(source="slot.device_id")
    connections = serializers.IntegerField(source="slot.workload.connections")
    state = serializers.CharField(
        source="run.state", help_text=f"One of {', '.join(RunState.values)}."
    )
    reason = serializers.CharField(source="run.reason")
    tpmP = serializers.FloatField(source="run.tpmP", allow_null=True)
    tpmP_at_most = serializers.FloatField(
        source="run.tpmP_at_most",
        allow_null=True,
        help_text="Upper bound of a run that was cut short.",
    )
    p95_ms = serializers.FloatField(source="run.p95_ms", allow_null=True)
    server_path_length = serializers.FloatField(source="run.server_path_length", allow_null=True)
    started_at = TimeField(source="run.started_at", allow_null=True)
    still_warming = serializers.BooleanField(source="run.still_warming")
    trend_pct = serializers.FloatField(
        source="run.trend_pct",
        allow_null=True,
        help_text="Change of throughput during the measurement, in percent.",
    )
    debt_grew = serializers.BooleanField(
        source="run.debt_grew",
        help_text="Whether it put much of its flushing off until after the measurement.",
    )
    write_debt = WriteDebtSerializer(source="run.owes", allow_null=True)
    disturbances = DisturbanceSerializer(
        source="run.disturbed_by", many=True, help_text="Why the run is void."
    )
    measured_again_as = serializers.IntegerField(
        source="again.pk", allow_null=True, help_text="The run that replaced it."
    )


class RunSerializer(RunFactsSerializer, NamedDeviceSerializer):
    """One run of a study."""

    def get_fields(self) -> dict[str, serializers.Field]:
        fields: dict[str, serializers.Field] = super().get_fields()
        below("slot", fields, NamedDeviceSerializer().fields)
        return fields


def results_of(result: StudyResult) -> dict[str, Any]:
    """Every board's verdict with its evidence, the data quality, and the findings for the claims
    of the template's source.
    """
    findings = [
        {"claim": one.claim, "finding": one, "device": result.devices.get(one.device_id or 0)}
        for one in result.findings
    ]
    parts = {
        "boards": result.boards,
        "trust": result.data_quality,
        "findings": findings,
        "search": search_result_of(result),
    }
    return shown(ResultsSerializer, parts)

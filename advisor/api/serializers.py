"""What the API takes (checked) and answers (documented; built in `advisor.api.documents`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rest_framework import serializers

from advisor.ids import MOST_ID
from advisor.pages.config_texts import MOST_CONFIGS
from benchmarks.models import RunState
from tuning.catalogue.knob import Durability
from tuning.configs.candidates import LONGEST_NAME
from tuning.configs.cnf import MOST_CONFIG_BYTES
from tuning.configs.notes import Action
from tuning.configs.stages import Stage
from tuning.configs.target import ServerTraits, parse_traits
from tuning.export import FORMATS, ExportRequest
from tuning.models import SlotPurpose, StudyState
from tuning.services.requests import LARGEST, MOST_MINUTES, StudyRequest
from tuning.statistics.verdict import VerdictKind

CLASSES = [one.value for one in Durability]
FORMAT_NAMES = list(FORMATS)
ORIGIN_HELP = (
    'What the files were written for: "" takes them as they are, "older" is an older version '
    'that is not known, else a server such as "mysql 5.7".'
)
TARGET_HELP = 'A server such as "mysql 8.4" or "mariadb 10.11.8".'


class StrictSerializer(serializers.Serializer[Any]):
    """Refuses fields it does not know: a mistyped key would be an answer to something else."""

    def to_internal_value(self, data: Any) -> Any:
        unknown = set(data) - set(self.fields) if isinstance(data, dict) else set()
        if unknown:
            raise serializers.ValidationError(
                {name: ["There is no such field."] for name in sorted(unknown)}
            )
        return super().to_internal_value(data)


class TargetField(serializers.CharField):
    """A server's flavour and version, as `ServerTraits`."""

    def to_internal_value(self, data: Any) -> Any:
        try:
            return parse_traits(super().to_internal_value(data))
        except ValueError as error:
            raise serializers.ValidationError(str(error)) from None


class ConfigTextSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=LONGEST_NAME)
    text = serializers.CharField(
        max_length=MOST_CONFIG_BYTES,
        trim_whitespace=False,
        help_text="The contents of a my.cnf; only tuning variables of [mysqld] are taken.",
    )


class StudyRequestSerializer(StrictSerializer):
    """Asks for a study. Every field may be left out: the template's or the host's value holds."""

    template = serializers.CharField(max_length=64, default="quick")
    name = serializers.CharField(max_length=200, default="", allow_blank=True)
    device = serializers.CharField(
        max_length=1024, required=False, allow_null=True, help_text="A directory on the device."
    )
    server = serializers.CharField(
        max_length=1024, required=False, allow_null=True, help_text="Path of a mysqld."
    )
    driver = serializers.ChoiceField(choices=["auto", "tpcc-mysql", "sysbench"], default="auto")
    configs = ConfigTextSerializer(many=True, required=False, max_length=MOST_CONFIGS)
    warehouses = serializers.IntegerField(min_value=1, required=False, allow_null=True)
    connections = serializers.ListField(
        child=serializers.IntegerField(min_value=1),
        min_length=1,
        required=False,
        allow_null=True,
    )
    warmup_s = serializers.IntegerField(min_value=0, required=False, allow_null=True)
    measure_s = serializers.IntegerField(min_value=1, required=False, allow_null=True)
    blocks = serializers.IntegerField(min_value=1, required=False, allow_null=True)
    seed = serializers.IntegerField(min_value=0, max_value=2**62, required=False, allow_null=True)

    durability = serializers.ChoiceField(
        choices=CLASSES,
        default=Durability.D0.value,
        help_text="The least safe class that candidates may have.",
    )
    translate_from = serializers.CharField(
        max_length=64, default="", allow_blank=True, help_text=ORIGIN_HELP
    )
    keeps_duplicates = serializers.BooleanField(
        default=False, help_text="Measures configs with the same effective values apart."
    )
    races = serializers.BooleanField(
        required=False,
        allow_null=True,
        default=None,
        help_text="Drops candidates that are measurably behind. Null: as the template has it.",
    )
    confirms = serializers.BooleanField(
        required=False,
        allow_null=True,
        default=None,
        help_text="Measures the winner afresh in pairs. Null: as the template has it.",
    )
    budget_minutes = serializers.IntegerField(
        min_value=1,
        max_value=MOST_MINUTES,
        required=False,
        allow_null=True,
        help_text="Ends the blocks by time in place of their number.",
    )

    def study_request(self) -> StudyRequest:
        values = dict(self.validated_data)
        values["durability"] = Durability(values["durability"])
        for name in ("device", "server"):
            values[name] = Path(values[name]) if values.get(name) else None
        values["configs"] = [
            (config["name"], config["text"].encode()) for config in values.get("configs") or []
        ]
        return StudyRequest(**values)


class ServerSerializer(serializers.Serializer[Any]):
    flavour = serializers.CharField()
    version = serializers.CharField()
    path = serializers.CharField()


class DeviceSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    kind = serializers.CharField()
    data_dir = serializers.CharField()


class WorkloadSerializer(serializers.Serializer[Any]):
    driver = serializers.CharField()
    warehouses = serializers.IntegerField()
    connections = serializers.IntegerField()
    warmup_s = serializers.IntegerField()
    measure_s = serializers.IntegerField()


class StudySerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    name = serializers.CharField()
    template = serializers.CharField()
    state = serializers.ChoiceField(choices=StudyState.values)
    reason_code = serializers.CharField(help_text="Why it failed, for programs; else empty.")
    reason = serializers.CharField(help_text="Why it failed, for people; else empty.")
    host = serializers.CharField()
    server = ServerSerializer()
    devices = DeviceSerializer(many=True)
    workloads = WorkloadSerializer(many=True)
    blocks = serializers.IntegerField()
    seed = serializers.IntegerField()
    durability = serializers.CharField()
    races = serializers.BooleanField(help_text="Drops candidates that are measurably behind.")
    confirms = serializers.BooleanField(help_text="Measures the winner afresh, in pairs.")
    budget_minutes = serializers.IntegerField(allow_null=True)
    keeps_duplicates = serializers.BooleanField()
    conclusions = serializers.IntegerField(help_text="1, and one more with every extension.")
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)


class StudyPageSerializer(serializers.Serializer[Any]):
    count = serializers.IntegerField(help_text="Of all studies, on all pages.")
    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = StudySerializer(many=True)


class ProgressSerializer(serializers.Serializer[Any]):
    fraction = serializers.FloatField(help_text="0 to 1.")
    text = serializers.CharField()
    candidate = serializers.CharField(help_text="What is being measured; empty between runs.")
    block = serializers.IntegerField()
    blocks = serializers.IntegerField()
    step = serializers.CharField()
    runs_done = serializers.IntegerField()
    runs_total = serializers.IntegerField()
    eta_s = serializers.FloatField(allow_null=True, help_text="Seconds left; null: not known.")
    pair = serializers.IntegerField(help_text="Of the confirmation; 0 in the blocks.")
    pairs = serializers.IntegerField(help_text="Of the confirmation; 0 in the blocks.")


class ProblemSerializer(serializers.Serializer[Any]):
    line = serializers.IntegerField(allow_null=True)
    option = serializers.CharField()
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


class CandidateSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    is_baseline = serializers.BooleanField()
    durability = serializers.ChoiceField(choices=CLASSES)
    source = serializers.CharField()
    knobs = serializers.DictField(child=serializers.CharField())
    notes = NoteSerializer(many=True)
    lines = LineSerializer(many=True, help_text="Of a file of yours; empty for a preset.")
    checks = StageSerializer(many=True, help_text="Empty until they were made.")
    refusal = serializers.CharField(help_text="Why the server does not take it; else empty.")
    merged_into = serializers.CharField(
        allow_null=True, help_text="The candidate that was measured for both."
    )


class StudyStateSerializer(StudySerializer):
    progress = ProgressSerializer()
    candidates = CandidateSerializer(many=True)


class MetricRankSerializer(serializers.Serializer[Any]):
    """A candidate in the ranking by one metric; for times and path lengths less is better."""

    rank = serializers.IntegerField(allow_null=True)
    ratio_to_baseline = serializers.FloatField(allow_null=True)
    interval_low = serializers.FloatField(allow_null=True)
    interval_high = serializers.FloatField(allow_null=True)
    tied_with = serializers.ListField(child=serializers.CharField())
    better = serializers.BooleanField()
    worse = serializers.BooleanField()


class MetricRanksSerializer(serializers.Serializer[Any]):
    tpmP = MetricRankSerializer()
    p95_ms = MetricRankSerializer()
    server_path_length = MetricRankSerializer()


class RankingRowSerializer(serializers.Serializer[Any]):
    rank = serializers.IntegerField(allow_null=True, help_text="Null: no run ended well.")
    config = serializers.CharField(help_text="The candidate's name.")
    outcome = serializers.CharField(
        help_text=f"One of {', '.join(RunState.values)}; empty: not run yet."
    )
    tpmP = serializers.FloatField(
        allow_null=True, help_text="Median over the blocks; New-Orders per minute, not tpmC."
    )
    ratio_to_baseline = serializers.FloatField(
        allow_null=True, help_text="Of tpmP, within blocks; 1.1 is 10 % more."
    )
    p95_ms = serializers.FloatField(allow_null=True)
    p99_ms = serializers.FloatField(allow_null=True)
    max_ms = serializers.FloatField(allow_null=True)
    server_path_length = serializers.FloatField(
        allow_null=True, help_text="CPU cycles of mysqld per New-Order."
    )
    host_path_length = serializers.FloatField(
        allow_null=True, help_text="CPU cycles of the whole host per New-Order."
    )
    runs = serializers.IntegerField(help_text="Runs that ended well.")
    connections = serializers.IntegerField()
    device = serializers.CharField(help_text="The device's data directory.")
    durability = serializers.ChoiceField(
        choices=CLASSES, help_text="Of the board; the baseline is on every one."
    )
    interval_low = serializers.FloatField(
        allow_null=True, help_text="Of `ratio_to_baseline`: 95 %, for all rows of a board at once."
    )
    interval_high = serializers.FloatField(allow_null=True, help_text="Null also: no upper end.")
    tied_with = serializers.ListField(
        child=serializers.CharField(), help_text="Who shares its rank: they cannot be told apart."
    )
    better = serializers.BooleanField(help_text="Measurably better than the baseline.")
    worse = serializers.BooleanField(help_text="Measurably worse than the baseline.")
    at_most = serializers.FloatField(
        allow_null=True, help_text="Bound of the ratio of a candidate that was cut short."
    )
    cut_short = serializers.IntegerField(help_text="Runs that were ended as hopeless.")
    failures = serializers.IntegerField()
    left_after_block = serializers.IntegerField(
        allow_null=True, help_text="When it left the race; null: it did not."
    )
    left_reason = serializers.CharField(help_text="Why it left the race; else empty.")
    on_pareto_front = serializers.BooleanField(
        help_text="No candidate beats it in all three rankings."
    )
    by = MetricRanksSerializer(help_text="Its place in each of the three rankings.")
    device_id = serializers.IntegerField()


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


class BoardSerializer(serializers.Serializer[Any]):
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


class DisturbanceSerializer(serializers.Serializer[Any]):
    kind = serializers.CharField()
    value = serializers.FloatField()
    limit = serializers.FloatField()
    unit = serializers.CharField()
    text = serializers.CharField()


class RunSerializer(serializers.Serializer[Any]):
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


class ExtendRequestSerializer(StrictSerializer):
    """Asks for more blocks of a study that has ended."""

    blocks = serializers.IntegerField(min_value=1, max_value=LARGEST["blocks"])


class CheckRequestSerializer(StrictSerializer):
    """A my.cnf to be checked. Nothing is stored, and no server is started."""

    text = serializers.CharField(max_length=MOST_CONFIG_BYTES, trim_whitespace=False)
    name = serializers.CharField(max_length=LONGEST_NAME, default="my.cnf")
    target = TargetField(
        required=False,
        allow_null=True,
        help_text=f"{TARGET_HELP} Left out: the server of this host, under this host's rules.",
    )
    translate_from = serializers.CharField(
        max_length=64, default="", allow_blank=True, help_text=ORIGIN_HELP
    )
    durability = serializers.ChoiceField(choices=CLASSES, default=Durability.D0.value)
    connections = serializers.IntegerField(
        min_value=1, max_value=LARGEST["connections"], required=False, allow_null=True
    )


class CheckedConfigSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    target = serializers.CharField()
    is_fine = serializers.BooleanField(help_text="Whether a study would take it.")
    summary = serializers.CharField(help_text="One sentence for people.")
    durability = serializers.ChoiceField(choices=CLASSES, help_text="Of what it comes to.")
    lines = LineSerializer(many=True)
    problems = ProblemSerializer(many=True)
    notes = NoteSerializer(many=True)
    knobs = serializers.DictField(child=serializers.CharField())
    my_cnf = serializers.CharField(
        allow_null=True,
        help_text="What it comes to, below D0 with a warning at its top; null when it is refused.",
    )


class LossSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    value = serializers.CharField()
    durability = serializers.ChoiceField(choices=CLASSES)
    loses = serializers.CharField(help_text="What a crash may cost with it.")


class RecommendationSerializer(serializers.Serializer[Any]):
    config = serializers.CharField(help_text="The candidate's name.")
    device = serializers.CharField(help_text="The device's data directory.")
    ratio_to_baseline = serializers.FloatField()
    verdict = serializers.CharField()
    my_cnf = serializers.CharField(
        allow_null=True, help_text="Null where `acknowledge` is needed first."
    )
    device_id = serializers.IntegerField()
    durability = serializers.ChoiceField(choices=CLASSES, help_text="Of the board it won.")
    acknowledge = serializers.ChoiceField(
        choices=CLASSES, help_text="The class an export has to acknowledge; D0: nothing."
    )
    losses = LossSerializer(many=True)
    formats = serializers.ListField(
        child=serializers.ChoiceField(choices=FORMAT_NAMES), help_text="To export it in."
    )
    connections = serializers.IntegerField(help_text="Of the board it won.")
    kind = serializers.CharField(help_text=f"One of {', '.join(VerdictKind)}; empty: not known.")
    interval_low = serializers.FloatField(allow_null=True, help_text="Of the ratio, 95 %.")
    interval_high = serializers.FloatField(allow_null=True)
    selected_ratio = serializers.FloatField(
        allow_null=True, help_text="What the blocks had found, before the fresh pairs."
    )
    noise_floor = serializers.FloatField(allow_null=True)
    confirmation = serializers.CharField(
        help_text="confirmed, withdrawn or unfinished; empty: there was none."
    )


class ExportRequestSerializer(StrictSerializer):
    """Asks for a recommendation as a file."""

    format = serializers.ChoiceField(choices=FORMAT_NAMES, default="cnf")
    target = TargetField(required=False, allow_null=True, help_text=TARGET_HELP)
    acknowledge = serializers.ChoiceField(
        choices=CLASSES,
        default=Durability.D0.value,
        help_text="The least safe durability class that you accept.",
    )
    current = serializers.CharField(
        max_length=MOST_CONFIG_BYTES,
        required=False,
        allow_null=True,
        trim_whitespace=False,
        help_text="Your my.cnf as it is now: needed for `diff`, used by the ways back.",
    )
    device = serializers.IntegerField(
        min_value=1,
        max_value=MOST_ID,
        required=False,
        allow_null=True,
        help_text="Needed when there are several devices.",
    )
    connections = serializers.IntegerField(
        min_value=1,
        max_value=LARGEST["connections"],
        required=False,
        allow_null=True,
        help_text="Needed when there are several workloads.",
    )
    durability = serializers.ChoiceField(
        choices=CLASSES, required=False, allow_null=True, help_text="Of the board that it won."
    )

    def export_request(self) -> ExportRequest:
        values = self.validated_data
        target: ServerTraits | None = values.get("target")
        current: str | None = values.get("current")
        return ExportRequest(
            format=values["format"],
            target=target,
            acknowledged=Durability(values["acknowledge"]),
            current=None if current is None else current.encode(),
        )


class ErrorDetailSerializer(serializers.Serializer[Any]):
    code = serializers.CharField(help_text="A stable word for programs.")
    message = serializers.CharField(help_text="One line for people.")
    details = serializers.JSONField(required=False, help_text="Fields or lines, where there are.")


class ErrorSerializer(serializers.Serializer[Any]):
    error = ErrorDetailSerializer()

"""Studies in responses, with their progress."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from advisor.api.serializers.common import TimeField, computed, page_of
from advisor.api.serializers.configs import CandidateSerializer
from advisor.api.serializers.devices import DeviceReferenceSerializer
from advisor.api.serializers.searches import SearchedSerializer, SearchSerializer
from tuning.models import Study, StudyState
from tuning.scale_model.model import ScaleModel
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
    load_host = computed(serializers.CharField, lambda row: row.load_hosts_text or None)(
        allow_null=True,
        help_text="Where the driver runs, several with commas between; null: beside the server.",
    )
    load_hosts = computed(
        serializers.ListField, lambda row: [host.name for host in row.load_hosts_in_order]
    )(child=serializers.CharField(), help_text="Their names; empty: beside the server.")


class PauseSerializer(serializers.Serializer[Any]):
    since = TimeField(source="paused_at")
    by = serializers.CharField(source="paused_by", help_text="Empty if unknown.")
    reason = serializers.CharField(source="pause_reason", help_text="Empty if none was given.")

    def get_attribute(self, instance: Study) -> Study | None:
        return instance if instance.is_paused else None


class ScaleModelSerializer(serializers.Serializer[Any]):
    """What a study is a scale model of."""

    text = serializers.CharField(source="sentence")
    scale = serializers.FloatField(help_text="How many times larger the real server is.")
    data_bytes = serializers.IntegerField(help_text="Data of the real server.")
    memory_bytes = serializers.IntegerField(help_text="Memory of the real server.")
    model_data_bytes = serializers.IntegerField()
    model_memory_bytes = serializers.IntegerField(help_text="Without `own_bytes`.")
    own_bytes = serializers.IntegerField(help_text="What a server needs whatever its size.")
    limits_memory = serializers.BooleanField(
        help_text="False: only the buffer pool is scaled, and all configs use O_DIRECT."
    )

    def get_attribute(self, instance: Study) -> ScaleModel | None:
        return ScaleModel.from_json(instance.scale_model)


class StudySerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    name = serializers.CharField()
    template = serializers.CharField()
    state = serializers.ChoiceField(choices=StudyState.values)
    paused = PauseSerializer(
        allow_null=True,
        help_text="Null if not paused. A run that was active at the pause is finished first.",
    )
    reason_code = serializers.CharField(help_text="Stable code of the failure; else empty.")
    reason = serializers.CharField(help_text="Reason of the failure in words; else empty.")
    host = serializers.CharField(source="host.name")
    group_id = serializers.IntegerField(
        allow_null=True, help_text="The study over several hosts that it is part of; null: none."
    )
    server = ServerSerializer()
    devices = DeviceReferenceSerializer(many=True)
    workloads = WorkloadSerializer(many=True)
    blocks = serializers.IntegerField()
    seed = serializers.IntegerField()
    durability = serializers.CharField()
    races = serializers.BooleanField(help_text="Drops candidates that are measurably behind.")
    confirms = serializers.BooleanField(help_text="Measures the winner again, in pairs.")
    recovery = serializers.BooleanField(
        source="crash_tests", help_text="Times the crash recovery of baseline and winner."
    )
    takes_apart = serializers.BooleanField(
        help_text="Measures a confirmed winner without some of its lines."
    )
    budget_minutes = serializers.IntegerField(allow_null=True)
    scale_model = ScaleModelSerializer(
        allow_null=True, help_text="Null: it is no scale model of another server."
    )
    memory_bytes = serializers.IntegerField(
        allow_null=True, help_text="Memory of the host for a server when it was created."
    )
    search = SearchSerializer(allow_null=True, help_text="Null: it makes no configs of its own.")
    conclusions = serializers.IntegerField(help_text="1 plus the number of extensions.")
    concluded_at = TimeField(
        allow_null=True, help_text="When a user asked to conclude it early; null: never."
    )
    created_at = TimeField()
    started_at = TimeField(allow_null=True)
    finished_at = TimeField(allow_null=True)


StudyPageSerializer = page_of("Study", StudySerializer, "studies")


class ProgressSerializer(serializers.Serializer[Any]):
    fraction = computed(serializers.FloatField, lambda progress: round(progress.fraction, 4))(
        help_text="0 to 1."
    )
    text = serializers.CharField()
    candidate = serializers.CharField(
        help_text="The candidate being measured; empty between runs."
    )
    block = serializers.IntegerField()
    blocks = serializers.IntegerField()
    step = serializers.CharField()
    runs_done = serializers.IntegerField()
    runs_total = serializers.IntegerField()
    eta_s = computed(
        serializers.FloatField,
        lambda progress: None if progress.eta_s is None else round(progress.eta_s, 1),
    )(allow_null=True, help_text="Seconds left; null if unknown.")
    pair = serializers.IntegerField(help_text="Of the confirmation; 0 during the blocks.")
    pairs = serializers.IntegerField(help_text="Of the confirmation; 0 during the blocks.")
    device = serializers.CharField(
        help_text="Name of the device being measured; empty if none is, or if the study has a "
        "single device that is not emulated."
    )
    searched = SearchedSerializer(allow_null=True, help_text="Null: it is no search.")

    def get_attribute(self, instance: Study) -> StudyProgress:
        return study_progress(instance, with_leader=False)


class GroupedStudySerializer(StudySerializer):
    """A study of a group with its progress."""

    progress = ProgressSerializer()


class StudyGroupSerializer(serializers.Serializer[Any]):
    """A study over several hosts: one study on each."""

    id = serializers.IntegerField()
    name = serializers.CharField()
    created_at = TimeField()
    studies = StudySerializer(many=True)


class StudyGroupStateSerializer(StudyGroupSerializer):
    """A study over several hosts with its progress on each."""

    studies = GroupedStudySerializer(many=True)


StudyGroupPageSerializer = page_of("StudyGroup", StudyGroupSerializer, "groups")


class StudyStateSerializer(StudySerializer):
    request = serializers.JSONField(
        help_text="The request that asks for the same study, as POST studies/ takes it."
    )
    progress = ProgressSerializer()
    candidates = CandidateSerializer(many=True)

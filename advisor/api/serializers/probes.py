"""Probes in responses. Times are in microseconds, 1 MB is 10^6 bytes."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from advisor.api.serializers.common import NamedDeviceSerializer, TimeField, computed, page_of
from advisor.api.serializers.identities import IdentitySerializer
from benchmarks.models import JobState, Probe
from benchmarks.probe.jobs import Pattern, Purpose


class ProbeProgressSerializer(serializers.Serializer[Any]):
    fraction = computed(serializers.FloatField, lambda probe: round(probe.fraction, 4))(
        help_text="0 to 1."
    )
    step = serializers.CharField(help_text="What is being measured.")


class ProbeFiguresSerializer(serializers.Serializer[Any]):
    random_read_iops = serializers.FloatField(
        allow_null=True, help_text="16 KB requests, maximum over all queue depths."
    )
    random_write_iops = serializers.FloatField(allow_null=True)
    read_mb_s = serializers.FloatField(allow_null=True, help_text="Sequential.")
    write_mb_s = serializers.FloatField(allow_null=True)
    commit_p50_us = serializers.FloatField(
        allow_null=True, help_text="Time of one fsync after a 4 KB write."
    )
    commit_p99_us = serializers.FloatField(allow_null=True)


class IoCapacitySerializer(serializers.Serializer[Any]):
    low = serializers.IntegerField(source="io_capacity_low")
    high = serializers.IntegerField(source="io_capacity_high")

    def get_attribute(self, instance: Probe) -> Probe | None:
        return None if instance.io_capacity_low is None else instance


class ProbeIdsSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    device_id = serializers.IntegerField()


class ProbeSummarySerializer(ProbeIdsSerializer, NamedDeviceSerializer):
    """Progress and main figures of a probe."""

    state = serializers.ChoiceField(choices=JobState.values)
    reason_code = serializers.CharField(help_text="Stable code of the failure; else empty.")
    reason = serializers.CharField(help_text="Reason of the failure in words; else empty.")
    seconds = serializers.FloatField(help_text="Requested duration.")
    progress = ProbeProgressSerializer(source="*")
    queued_at = TimeField()
    started_at = TimeField(allow_null=True)
    finished_at = TimeField(allow_null=True)
    summary = ProbeFiguresSerializer(source="*")
    innodb_io_capacity = IoCapacitySerializer(
        allow_null=True, help_text="The range to test, not a recommendation."
    )


ProbePageSerializer = page_of("Probe", ProbeSummarySerializer, "probes of the device")


class JobSerializer(serializers.Serializer[Any]):
    purpose = serializers.ChoiceField(choices=list(Purpose))
    pattern = serializers.ChoiceField(choices=list(Pattern))
    block_bytes = serializers.IntegerField()
    queue_depth = serializers.IntegerField()
    direct = serializers.BooleanField(help_text="O_DIRECT; otherwise through the page cache.")
    sync = serializers.CharField(help_text="fsync or fdatasync; empty: none.")
    sync_every = serializers.IntegerField(help_text="Number of writes between two syncs.")
    rate_iops = serializers.IntegerField(allow_null=True, help_text="Null: unlimited.")
    seconds = serializers.FloatField()


class LatencySerializer(serializers.Serializer[Any]):
    mean = serializers.FloatField()
    p50 = serializers.FloatField()
    p95 = serializers.FloatField()
    p99 = serializers.FloatField()
    max = serializers.FloatField()


class LatencySplitSerializer(serializers.Serializer[Any]):
    user_us = serializers.FloatField(help_text="Time in fio itself.")
    kernel_us = serializers.FloatField()
    queue_us = serializers.FloatField(
        allow_null=True,
        help_text="Time in the block layer; null if it is included in `device_us`.",
    )
    device_us = serializers.FloatField()
    source = serializers.CharField(help_text="One of counters, tracepoints.")


class JobResultSerializer(serializers.Serializer[Any]):
    job = JobSerializer()
    engine = serializers.CharField()
    seconds = serializers.FloatField(help_text="Measured seconds.")
    requests = serializers.IntegerField()
    iops = serializers.FloatField()
    mb_s = serializers.FloatField()
    latency = LatencySerializer()
    submission = LatencySerializer(allow_null=True, help_text="fio's slat.")
    completion = LatencySerializer(help_text="fio's clat.")
    flush = LatencySerializer(allow_null=True, help_text="Latency of one fsync or fdatasync.")
    user_cpu_pct = serializers.FloatField(help_text="Percent of one CPU.")
    system_cpu_pct = serializers.FloatField()
    split = LatencySplitSerializer(allow_null=True)
    split_missing = serializers.CharField(help_text="Why there is no split; else empty.")


class ProbeResultSerializer(serializers.Serializer[Any]):
    date = TimeField()
    seconds = serializers.FloatField()
    fio_version = serializers.CharField()
    engine = serializers.CharField()
    device = IdentitySerializer(help_text="The device at the time of the probe.")
    file_bytes = serializers.IntegerField()
    direct_missing = serializers.CharField(help_text="Why I/O was not direct; empty if it was.")
    tracing_missing = serializers.CharField(
        help_text="Why tracepoints were not used; empty if they were."
    )
    jobs = JobResultSerializer(many=True)
    notes = serializers.ListField(child=serializers.CharField())
    emulated = serializers.CharField(help_text="The limits in words; empty: none.")


class ProbeSerializer(ProbeSummarySerializer):
    """A probe with its full result."""

    result = ProbeResultSerializer(
        source="found", allow_null=True, help_text="Null unless it succeeded."
    )

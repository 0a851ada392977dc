"""Rows that are jobs (`benchmarks.jobs`), and the two kinds that look at a host or a device."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models

from benchmarks.models.hosts import Device, Host
from benchmarks.probe.result import ProbeResult


class JobRow(models.Model):
    """A row that is a job: one process claims it and sends heartbeats.

    claimed_by: the process that does it and may store its ending. stop_request: why it should end
    early.
    """

    claimed_by = models.CharField(max_length=255)
    heartbeat_at = models.DateTimeField(null=True)
    stop_request = models.CharField(max_length=32)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True


class JobState(models.TextChoices):
    """State of a probe, crash test, inspection or load: `queued`, `running`, then how it ended.

    A failed one has its outcome as `reason_code`.
    """

    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    OK = "ok", "OK"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"
    LOST = "lost", "Lost"


ACTIVE_JOB_STATES = (JobState.QUEUED, JobState.RUNNING)


class QueuedJob(JobRow):
    """A job that waits for its turn on a host and ends in one of the `JobState`s."""

    state = models.CharField(max_length=16, choices=JobState, default=JobState.QUEUED)
    step = models.CharField(max_length=64)
    queued_at = models.DateTimeField(auto_now_add=True)
    reason_code = models.CharField(max_length=64)
    reason = models.TextField()
    log_tail = models.TextField()

    class Meta:
        abstract = True

    @property
    def is_finished(self) -> bool:
        return self.state not in ACTIVE_JOB_STATES


class Inspection(QueuedJob):
    """A host's look at itself, or at one server or device that was typed in.

    Its findings become part of the host's inventory. One about datasets deletes the dataset called
    `path`, or without a `path` the datasets that the host's policy lets go.

    lists: an administrator named it, so what is found may be used from then on.
    reason_field: the field that the reason is about: server, path. answer: the server or the
        device as it was found.
    """

    class Subject(models.TextChoices):
        HOST = "host", "Host"
        SERVER = "server", "Server"
        DEVICE = "device", "Device"
        DATASETS = "datasets", "Datasets"

    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="inspections")
    subject = models.CharField(max_length=16, choices=Subject, default=Subject.HOST)
    path = models.CharField(max_length=1024)
    log_dir = models.CharField(max_length=1024)
    emulate = models.CharField(max_length=40)
    memory_bytes = models.BigIntegerField(null=True)
    lists = models.BooleanField(default=False)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    reason_field = models.CharField(max_length=64)
    answer = models.JSONField(null=True)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["host", "state"])]

    def __str__(self) -> str:
        return f"inspection {self.pk} ({self.get_state_display()})"


class Probe(QueuedJob):
    """One measurement of a device with fio.

    seconds: planned duration. fraction: progress, 0 to 1. commit_p50_us, commit_p99_us: time of a
        flush, in microseconds. io_capacity_low, io_capacity_high: bounds of the suggested
        innodb_io_capacity, in pages per second. result: all of it,
        `benchmarks.probe.result.ProbeResult`.
    """

    device = models.ForeignKey(Device, on_delete=models.PROTECT, related_name="probes")
    seconds = models.FloatField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    fraction = models.FloatField(default=0.0)

    random_read_iops = models.FloatField(null=True)
    random_write_iops = models.FloatField(null=True)
    read_mb_s = models.FloatField(null=True)
    write_mb_s = models.FloatField(null=True)
    commit_p50_us = models.FloatField(null=True)
    commit_p99_us = models.FloatField(null=True)
    io_capacity_low = models.PositiveIntegerField(null=True)
    io_capacity_high = models.PositiveIntegerField(null=True)
    code_commit = models.CharField(max_length=64)
    result = models.JSONField(null=True)

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["device"],
                condition=models.Q(state__in=("queued", "running")),
                name="one_unfinished_probe_per_device",
            )
        ]

    def __str__(self) -> str:
        return f"probe {self.pk} ({self.get_state_display()})"

    @property
    def found(self) -> ProbeResult | None:
        """Return all that it measured; None unless it succeeded."""
        return ProbeResult.from_json(self.result) if self.result else None

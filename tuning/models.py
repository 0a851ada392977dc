"""The question (Study), its candidates, the order they run in and the answer (Recommendation)."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models

from benchmarks.models import Config, Device, Host, Run, Server, Workload


class DurabilityClass(models.TextChoices):
    """What a crash may cost (`tuning.catalogue.knob.Durability`), as stored and shown."""

    D0 = "D0", "D0: loses nothing"
    D1 = "D1", "D1: may lose the last commits"
    D2 = "D2", "D2: may corrupt the database"


class StudyState(models.TextChoices):
    QUEUED = "queued", "Queued"
    PREPARING = "preparing", "Loading the dataset"
    RUNNING = "running", "Measuring"
    FINISHED = "finished", "Finished"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"


ACTIVE_STUDY_STATES = (StudyState.QUEUED, StudyState.PREPARING, StudyState.RUNNING)


class Study(models.Model):
    """Candidates x devices x workloads on one host with one server; ends in a ranking."""

    name = models.CharField(max_length=200)
    template = models.CharField(max_length=64)
    host = models.ForeignKey(Host, on_delete=models.PROTECT, related_name="studies")
    server = models.ForeignKey(Server, on_delete=models.PROTECT, related_name="studies")
    devices = models.ManyToManyField(Device, related_name="studies")
    workloads = models.ManyToManyField(Workload, related_name="studies")
    blocks = models.PositiveIntegerField()
    seed = models.BigIntegerField()
    durability = models.CharField(
        max_length=2,
        choices=DurabilityClass,
        default=DurabilityClass.D0,
        help_text="the least safe class that its candidates may have",
    )
    keeps_duplicates = models.BooleanField(
        default=False, help_text="measures identical configs apart, as A/A comparisons need"
    )

    state = models.CharField(max_length=16, choices=StudyState, default=StudyState.QUEUED)
    reason_code = models.CharField(max_length=64, blank=True)
    reason = models.TextField(blank=True)
    log_tail = models.TextField(blank=True)
    preparing_fraction = models.FloatField(default=0.0)
    preparing_text = models.CharField(max_length=200, blank=True)
    claimed_by = models.CharField(max_length=255, blank=True, help_text="who loads the dataset")
    prepare_attempts = models.PositiveSmallIntegerField(default=0)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    stop_request = models.CharField(max_length=32, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-id"]
        verbose_name_plural = "studies"

    def __str__(self) -> str:
        return self.name

    @property
    def is_finished(self) -> bool:
        return self.state not in ACTIVE_STUDY_STATES


class Candidate(models.Model):
    """One named config in a study."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="candidates")
    name = models.CharField(max_length=100)
    config = models.ForeignKey(Config, on_delete=models.PROTECT, related_name="candidates")
    is_baseline = models.BooleanField(default=False)
    position = models.PositiveIntegerField()
    source = models.TextField(blank=True, help_text="where its values come from")
    notes = models.JSONField(
        default=list, blank=True, help_text="what translation did: [{name, action, detail}]"
    )
    durability = models.CharField(
        max_length=2, choices=DurabilityClass, default=DurabilityClass.D0
    )
    lines = models.JSONField(
        default=list,
        blank=True,
        help_text="a file's import: [{line, name, given, action, became, detail}]",
    )
    checks = models.JSONField(
        default=list, blank=True, help_text="the gate's stages: tuning.services.gatekeeping"
    )
    refusal = models.TextField(
        blank=True, help_text="why the server does not take it; then it is not measured"
    )
    merged_into = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="twins",
        help_text="the candidate with the same effective values, which is measured for both",
    )

    class Meta:
        ordering: ClassVar = ["position"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["study", "name"], name="candidate_names_differ"),
            models.UniqueConstraint(
                fields=["study"], condition=models.Q(is_baseline=True), name="one_baseline"
            ),
        ]

    def __str__(self) -> str:
        return self.name


# What a run read back, as seen from its slot: some 20 KB per run that rankings and progress do
# not need, and these are read every second or so while a run is being measured on this host.
BULKY_OF_A_RUN = ("run__variables", "run__fingerprint", "run__step_seconds")


class Slot(models.Model):
    """A candidate's place in a block on one device with one workload; `run` is its newest run."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="slots")
    candidate = models.ForeignKey(Candidate, on_delete=models.CASCADE, related_name="slots")
    device = models.ForeignKey(Device, on_delete=models.PROTECT)
    workload = models.ForeignKey(Workload, on_delete=models.PROTECT)
    block = models.PositiveIntegerField(help_text="counted from 1")
    order = models.PositiveIntegerField(help_text="place in the whole study, from 1")
    run = models.OneToOneField(Run, on_delete=models.PROTECT, related_name="slot")

    class Meta:
        ordering: ClassVar = ["order"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["study", "order"], name="one_slot_per_place")
        ]

    def __str__(self) -> str:
        return f"{self.candidate.name}, block {self.block}"


class Recommendation(models.Model):
    """The config that won on one device among those of one durability class.

    Below D0 the baseline is the same as everywhere; so what durability costs can be read off.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="recommendations")
    device = models.ForeignKey(Device, on_delete=models.PROTECT)
    durability = models.CharField(
        max_length=2, choices=DurabilityClass, default=DurabilityClass.D0
    )
    candidate = models.ForeignKey(Candidate, on_delete=models.PROTECT)
    ratio_to_baseline = models.FloatField()
    verdict = models.TextField(help_text="one plain sentence")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["study", "device", "durability"],
                name="one_recommendation_per_device_and_durability",
            )
        ]
        ordering: ClassVar = ["device_id", "durability"]

    def __str__(self) -> str:
        return f"{self.candidate.name} for {self.device}"

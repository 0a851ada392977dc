"""The answers of a study: recommendations, a verdict, and the stored result document."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from benchmarks.models import Device, Workload
from tuning.models.runs import Candidate
from tuning.models.studies import DurabilityClass, Study


class Recommendation(models.Model):
    """The answer on one device with one workload among the configs of one durability class.

    `candidate` is the config that fresh pairs confirmed, else the baseline. Ratios are to
    the baseline's throughput, bounds those of its interval; with a confirmation all
    come from its fresh pairs alone. `objective_ratio` and its bounds say the same of another
    `objective` than throughput.
    With `whole` the candidate is that winner without the lines that contribute nothing, by fresh
    rounds of its own.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="recommendations")
    device = models.ForeignKey(Device, on_delete=models.PROTECT)
    workload = models.ForeignKey(Workload, on_delete=models.PROTECT)
    durability = models.CharField(
        max_length=2, choices=DurabilityClass, default=DurabilityClass.D0
    )
    candidate = models.ForeignKey(Candidate, on_delete=models.PROTECT)
    # The winner with all its lines, if the candidate is that without some.
    whole = models.ForeignKey(
        Candidate, null=True, on_delete=models.PROTECT, related_name="reduced_recommendations"
    )
    kind = models.CharField(
        max_length=32, default="", help_text="tuning.statistics.verdict.VerdictKind"
    )
    ratio_to_baseline = models.FloatField()
    low = models.FloatField(null=True)
    high = models.FloatField(null=True)
    confidence = models.FloatField(null=True, help_text="confidence of the intervals, 0 to 1")
    objective = models.CharField(
        max_length=24,
        default="throughput",
        help_text="the metric that decided: tuning.statistics.data.Metric",
    )
    objective_ratio = models.FloatField(
        null=True, help_text="null where the objective is throughput or the baseline is kept"
    )
    objective_low = models.FloatField(null=True)
    objective_high = models.FloatField(null=True)
    noise_floor = models.FloatField(null=True, help_text="as a share of the baseline")
    confirmation = models.CharField(
        max_length=16,
        help_text="tuning.statistics.confirmation.ConfirmationState; empty: there was none",
    )
    verdict = models.TextField(help_text="in plain sentences")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["study", "device", "workload", "durability"],
                name="one_recommendation_per_board",
            )
        ]
        ordering: ClassVar = ["device_id", "workload_id", "durability"]

    def __str__(self) -> str:
        return f"{self.candidate.name} for {self.device}"


class StoredDocument(models.Model):
    """The result document of a study at one revision; made again from the rows at any time."""

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="stored_document")
    revision = models.PositiveIntegerField()
    schema_version = models.PositiveSmallIntegerField()
    # JSON: tuning.results.document.StudyDocument.
    content = models.TextField()

    def __str__(self) -> str:
        return f"document of {self.study} at revision {self.revision}"


class GateVerdict(models.Model):
    """How a gate ended: `result` has its limits, intervals and pairs as they were then."""

    class Verdict(models.TextChoices):
        PASS = "pass", "Pass"
        FAIL = "fail", "Fail"
        UNDECIDED = "undecided", "Undecided"

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="gate_verdict")
    verdict = models.CharField(max_length=16, choices=Verdict)
    # In plain sentences.
    reason = models.TextField()
    # tuning.results.document.Gate.
    result = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.study.name}: {self.verdict}"

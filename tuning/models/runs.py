"""The candidates of a study, the order in which they run, and its events."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models.functions import Now

from benchmarks.models import Config, CrashTest, Device, Run, Server, Workload
from tuning.models.studies import DurabilityClass, Study


class Candidate(models.Model):
    """One named config in a study."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="candidates")
    name = models.CharField(max_length=100)
    config = models.ForeignKey(
        Config,
        on_delete=models.PROTECT,
        related_name="candidates",
        db_index=False,  # `names_of_configs` begins with it
    )
    # Server of a gate's candidate, if it is not the study's; else null.
    server = models.ForeignKey(
        Server, null=True, on_delete=models.PROTECT, related_name="candidates"
    )
    is_baseline = models.BooleanField(default=False)
    position = models.PositiveIntegerField()
    # Where its values come from.
    source = models.TextField()
    # Changes by translation: [{name, action, detail}].
    notes = models.JSONField(default=list)
    durability = models.CharField(
        max_length=2, choices=DurabilityClass, default=DurabilityClass.D0
    )
    # A user's file, one for each option: tuning.configs.line.LineResult.
    lines = models.JSONField(default=list)
    # The user's file, exactly; else empty.
    text = models.TextField()
    # Encoding of the user's file.
    encoding = models.CharField(max_length=16)
    # The gate's stages: tuning.configs.check.
    checks = models.JSONField(default=list)
    # Why it is refused; then it is not measured.
    refusal = models.TextField()
    # Digest of its effective values at the trial start; empty before that.
    signature = models.CharField(max_length=64)
    # Made by the study's search after its start.
    found_by_search = models.BooleanField(default=False)
    # The winner that this is, without some of its lines.
    taken_from = models.ForeignKey(
        "self", null=True, on_delete=models.CASCADE, related_name="variants"
    )
    # The lines of `taken_from` that it lacks.
    without = models.JSONField(default=list)
    # Keeps the redo log with the data although there is a log_dir.
    logs_with_data = models.BooleanField(default=False)
    # The candidate with the same effective values, which is measured for both.
    merged_into = models.ForeignKey(
        "self", null=True, on_delete=models.CASCADE, related_name="duplicates"
    )

    class Meta:
        ordering: ClassVar = ["position"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["study", "name"], name="candidate_names_differ"),
            models.UniqueConstraint(
                fields=["study"], condition=models.Q(is_baseline=True), name="one_baseline"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["config", "name", "durability"], name="names_of_configs")
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def measured_on(self) -> Server:
        """The server that its runs start."""
        return self.server or self.study.server


class SlotPurpose(models.TextChoices):
    BLOCK = "block", "Block"
    CONFIRMATION = "confirmation", "Confirmation"
    SEARCH = "search", "Search"
    ABLATION = "ablation", "Testing each line"
    REDUCED = "reduced", "Reduced config"
    GATE = "gate", "Gate"


#: Purposes of the runs of an ablation.
VARIANT_PURPOSES = frozenset({SlotPurpose.ABLATION, SlotPurpose.REDUCED})


class Slot(models.Model):
    """A candidate's place in a block on one device with one workload; `run` is its newest run.

    A block of purpose `confirmation` is one pair: the winner and the baseline once more. One of
    purpose `search` screens: its runs enter no board, ranking or recommendation. One of purpose
    `ablation` has a winner, twice, and the same without some of its lines; one of `reduced` has
    the reduced config, the winner and the baseline: they enter no board and no ranking. One of
    purpose `gate` is a pair of a gate: it enters none either.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="slots")
    candidate = models.ForeignKey(Candidate, on_delete=models.CASCADE, related_name="slots")
    device = models.ForeignKey(Device, on_delete=models.PROTECT)
    workload = models.ForeignKey(Workload, on_delete=models.PROTECT)
    # Counted from 1 on each device and workload.
    block = models.PositiveIntegerField()
    purpose = models.CharField(max_length=16, choices=SlotPurpose, default=SlotPurpose.BLOCK)
    # 1 for the baseline's second run in a block (A/A).
    replicate = models.PositiveSmallIntegerField(default=0)
    # Place in the whole study, from 1.
    order = models.PositiveIntegerField()
    run = models.OneToOneField(Run, on_delete=models.PROTECT, related_name="slot")

    class Meta:
        ordering: ClassVar = ["order"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["study", "order"], name="one_slot_per_place")
        ]
        indexes: ClassVar = [
            # Few of years of slots, which are looked for again and again.
            models.Index(
                fields=["purpose", "workload", "run"],
                condition=~models.Q(purpose=SlotPurpose.BLOCK),
                name="slots_of_other_purposes",
            )
        ]

    def __str__(self) -> str:
        return f"{self.candidate.name}, block {self.block}"


class Elimination(models.Model):
    """A candidate that was dropped from the race on one device with one workload, and why."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="eliminations")
    candidate = models.ForeignKey(Candidate, on_delete=models.CASCADE, related_name="eliminations")
    device = models.ForeignKey(Device, on_delete=models.PROTECT)
    workload = models.ForeignKey(Workload, on_delete=models.PROTECT)
    after_block = models.PositiveIntegerField()
    reason = models.TextField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["candidate", "device", "workload"], name="leaves_a_race_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.candidate.name} dropped after block {self.after_block}"


class CrashSlot(models.Model):
    """A candidate's crash recovery on one device with one workload; `test` is its newest test."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="crash_slots")
    candidate = models.ForeignKey(Candidate, on_delete=models.CASCADE, related_name="crash_slots")
    device = models.ForeignKey(Device, on_delete=models.PROTECT)
    workload = models.ForeignKey(Workload, on_delete=models.PROTECT)
    test = models.OneToOneField(CrashTest, on_delete=models.PROTECT, related_name="slot")
    # Tests before this one whose worker died.
    losses = models.PositiveSmallIntegerField(default=0)

    class Meta:
        ordering: ClassVar = ["id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["candidate", "device", "workload"], name="one_crash_slot_per_place"
            )
        ]

    def __str__(self) -> str:
        return f"crash recovery of {self.candidate.name}"


class EventKind(models.TextChoices):
    """Stable words for programs, and words for people."""

    REQUESTED = "requested", "Requested"
    PREPARING = "preparing", "Preparing"
    CLAIMED = "claimed", "Claimed"
    MEASURED = "measured", "Measured"
    CUT_SHORT = "cut_short", "Cut short"
    DISTURBED = "disturbed", "Disturbed"
    LOST = "lost", "Lost"
    FAILED = "failed", "Failed"
    STOPPED = "stopped", "Stopped"
    MEASURED_AGAIN = "measured_again", "Measured again"
    CRASH_TEST = "crash_test", "Crash test"
    LEFT_THE_RACE = "left_the_race", "Left the race"
    PAUSED = "paused", "Paused"
    RESUMED = "resumed", "Resumed"
    CANCELLED = "cancelled", "Cancelled"
    CONCLUDED = "concluded", "Concluded early"
    EXTENDED = "extended", "Extended"
    ABLATED = "ablated", "Lines tested"
    ENDED = "ended", "Ended"


#: Kinds of events that somebody may want to look into.
TROUBLE = (EventKind.DISTURBED, EventKind.LOST, EventKind.FAILED, EventKind.LEFT_THE_RACE)


class StudyEvent(models.Model):
    """Something that happened in a study, written when it happened (`tuning.studies.events`)."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="events")
    # By the database's clock.
    at = models.DateTimeField(db_default=Now())
    kind = models.CharField(max_length=16, choices=EventKind)
    # The user; empty: nobody.
    by = models.CharField(max_length=150)
    # A sentence without its full stop.
    text = models.TextField()
    # An event outlives its run: a queued run is deleted when its study is concluded early.
    run = models.ForeignKey(
        Run, null=True, on_delete=models.DO_NOTHING, db_constraint=False, related_name="events"
    )
    # The name of its config.
    candidate = models.CharField(max_length=100)

    class Meta:
        ordering: ClassVar = ["-id"]
        indexes: ClassVar = [models.Index(fields=["kind", "at"], name="events_of_a_kind")]

    def __str__(self) -> str:
        return self.text

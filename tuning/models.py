"""The question (Study), its candidates, the order they run in and the answer (Recommendation)."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from benchmarks.jobs.heartbeat import CANCELLED
from benchmarks.models import (
    BinaryLog,
    Config,
    CrashTest,
    Device,
    Host,
    JobRow,
    Run,
    Server,
    Workload,
)


class DurabilityClass(models.TextChoices):
    """Classes of what a crash may lose: `tuning.catalogue.knob.Durability` in rows and forms."""

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


# States of a study that has not ended. It can be paused in each of them (`Study.is_paused`).
ACTIVE_STUDY_STATES = (StudyState.QUEUED, StudyState.PREPARING, StudyState.RUNNING)


class ServerProfile(models.Model):
    """A profile of a user's real server: its variables, counters at two times, and sizes."""

    name = models.CharField(max_length=60)
    profile = models.JSONField(help_text="tuning.server_profile.profile.Profile")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["-id"]

    def __str__(self) -> str:
        return self.name


class StudyGroup(models.Model):
    """One request for several hosts: a study on each, with the same server version and data.

    Figures of different hosts are never in one ranking; only the devices stand side by side.
    """

    name = models.CharField(max_length=200)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    created_at = models.DateTimeField(auto_now_add=True)
    client_key = models.CharField(
        max_length=64,
        blank=True,
        help_text="of the client's choice: the same request of its user makes no other row",
    )

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["created_by", "client_key"],
                condition=~models.Q(client_key=""),
                name="one_group_per_client_key",
            )
        ]

    def __str__(self) -> str:
        return self.name


class Study(JobRow):
    """Candidates x devices x workloads on one host with one server; ends in a ranking.

    Its preparation is a job: a worker claims it, loads the dataset and tries the candidates.
    """

    name = models.CharField(max_length=200)
    template = models.CharField(max_length=64)
    request = models.JSONField(
        default=dict,
        blank=True,
        help_text="tuning.requests.study.StudyRequest, or of a gate tuning.requests.gate."
        "GateRequest, with what was left out filled in",
    )
    host = models.ForeignKey(Host, on_delete=models.PROTECT, related_name="studies")
    server = models.ForeignKey(Server, on_delete=models.PROTECT, related_name="studies")
    devices = models.ManyToManyField(Device, related_name="studies")
    workloads = models.ManyToManyField(Workload, related_name="studies")
    blocks = models.PositiveIntegerField()
    seed = models.BigIntegerField()
    budget_minutes = models.PositiveIntegerField(
        null=True, blank=True, help_text="wall time of the blocks; empty: `blocks` decides"
    )
    races = models.BooleanField(
        default=True,
        help_text="drops candidates that are measurably behind and stops when decided",
    )
    confirms = models.BooleanField(
        default=True, help_text="measures the winner again, in fresh pairs with the baseline"
    )
    ablates = models.BooleanField(
        default=False, help_text="measures a confirmed winner without some of its lines"
    )
    minutes = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="minutes of the whole study, after which no block and no second attempt begins "
        "and no line is tested; empty: no limit",
    )
    ablation_without_end = models.BooleanField(
        default=False,
        help_text="a user asked for the ablation after the end: `minutes` do not limit that",
    )
    conclusions = models.PositiveSmallIntegerField(
        default=1, help_text="number of conclusions: one more with every extension"
    )
    paused_at = models.DateTimeField(null=True, blank=True)
    paused_by = models.CharField(max_length=150, blank=True)
    pause_reason = models.CharField(max_length=200, blank=True)
    resumed_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="when it was last resumed or extended; it continues after running studies",
    )
    extended_by = models.PositiveIntegerField(
        default=0, help_text="blocks of its last extension, for every device and workload"
    )
    extended_after = models.PositiveIntegerField(
        default=0, help_text="the order of its last slot when it was last concluded and went on"
    )
    notified_at = models.DateTimeField(
        null=True, blank=True, help_text="when other programs were told of its end; null: never"
    )
    concluded_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="when a user asked for an answer from what was there; null: never",
    )
    durability = models.CharField(
        max_length=2,
        choices=DurabilityClass,
        default=DurabilityClass.D0,
        help_text="the least safe class that its candidates may have",
    )

    crash_tests = models.BooleanField(
        default=False,
        help_text="kills the baseline and the winner under load and times their recovery",
    )
    search = models.JSONField(
        null=True, blank=True, help_text="objective and space of a search; else null"
    )
    gate = models.JSONField(
        null=True, blank=True, help_text="of a gate: tuning.statistics.gate.GatePlan; else null"
    )
    binary_log = models.CharField(
        max_length=8,
        choices=BinaryLog,
        default=BinaryLog.DEFAULT,
        help_text="whether all of its servers write one; only a gate chooses",
    )
    applied = models.JSONField(
        default=dict,
        blank=True,
        help_text="harmless options of the user's files, set in every run: name to value",
    )
    scale_model = models.JSONField(
        null=True, blank=True, help_text="tuning.scale_model.model.ScaleModel; else null"
    )
    memory_bytes = models.BigIntegerField(
        null=True,
        blank=True,
        help_text="memory that its host had for a server when the study was created",
    )
    runs_to_queue = models.JSONField(
        default=list,
        blank=True,
        help_text="a proposal's runs, queued as soon as its new candidates have been tried",
    )

    revision = models.PositiveIntegerField(
        default=0, help_text="rises when what is shown of it changes: tuning.studies.revision"
    )
    state = models.CharField(max_length=16, choices=StudyState, default=StudyState.QUEUED)
    reason_code = models.CharField(max_length=64, blank=True)
    reason = models.TextField(blank=True)
    log_tail = models.TextField(blank=True)
    preparing_fraction = models.FloatField(default=0.0)
    preparing_text = models.CharField(max_length=200, blank=True)
    prepare_attempts = models.PositiveSmallIntegerField(default=0)
    group = models.ForeignKey(
        StudyGroup,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="studies",
        help_text="the request for several hosts that it is part of; null: for one host",
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    created_at = models.DateTimeField(auto_now_add=True)
    client_key = models.CharField(
        max_length=64,
        blank=True,
        help_text="of the client's choice: the same request of its user makes no other row",
    )

    #: Whether it has begun and its host does something else, or nothing: set where it is shown.
    waits = False

    class Meta:
        ordering: ClassVar = ["-id"]
        verbose_name_plural = "studies"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["created_by", "client_key"],
                condition=~models.Q(client_key=""),
                name="one_study_per_client_key",
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_finished(self) -> bool:
        return self.state not in ACTIVE_STUDY_STATES

    @property
    def has_begun(self) -> bool:
        """Whether a worker has begun to prepare it, and it has not ended."""
        is_tried = self.state == StudyState.PREPARING and self.started_at is not None
        return is_tried or self.state == StudyState.RUNNING

    @property
    def turn(self) -> tuple[Any, ...]:
        """The key by which the studies of a host are sorted: which gets its turn first.

        First what a user cancelled, then what has begun, then what waits. A resumed or extended
        study continues after the running ones, so that none of their blocks is interrupted.
        """
        if self.state == StudyState.QUEUED:  # by number: web servers have clocks of their own
            return 0 if self.stop_request == CANCELLED else 2, True, None, self.pk
        began = self.resumed_at or self.started_at
        return 0 if self.stop_request == CANCELLED else 1, began is None, began, self.pk

    @property
    def is_paused(self) -> bool:
        """Whether it starts nothing new; the current run may still be finishing."""
        return self.paused_at is not None and not self.is_finished

    @property
    def is_concluding(self) -> bool:
        """Whether it only races and confirms what is there; an extension measures more again."""
        return self.concluded_at is not None and not self.is_finished and not self.extended_by

    @property
    def has_end(self) -> bool:
        """Whether it ends by its minutes without a budget; not once it was extended."""
        is_bounded = self.minutes is not None and self.budget_minutes is None
        return is_bounded and not self.extended_by

    @property
    def may_end_early(self) -> bool:
        """Whether it may take less time than is planned: a race or a gate that is decided early
        does, and so does a study without a winner to be confirmed.
        """
        return self.races or self.confirms or self.gate is not None

    @property
    def shown_state(self) -> str:
        """Its state in a word for people: "Paused" takes precedence."""
        if self.is_paused:
            return "Paused"
        if not (self.is_finished or self.has_begun):
            return str(StudyState.QUEUED.label)
        if self.waits:
            return "Waiting"
        if self.is_concluding:
            return "Concluding"
        is_again = self.state == StudyState.PREPARING and self.runs_to_queue
        return "Trying new configs" if is_again else str(StudyState(self.state).label)


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
    server = models.ForeignKey(
        Server,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="candidates",
        help_text="of a gate's candidate, if that is not the study's; else null",
    )
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
        help_text="of a user's file, one for each option: tuning.configs.line.LineResult",
    )
    text = models.TextField(blank=True, help_text="the user's file, exactly; else empty")
    encoding = models.CharField(max_length=16, blank=True, help_text="of the bytes of `text`")
    checks = models.JSONField(
        default=list, blank=True, help_text="the gate's stages: tuning.configs.config_check.stages"
    )
    refusal = models.TextField(blank=True, help_text="why it is refused; then it is not measured")
    signature = models.CharField(
        max_length=64,
        blank=True,
        help_text="of its effective values at the trial start; empty before that",
    )
    found_by_search = models.BooleanField(
        default=False, help_text="made by the study's search after its start"
    )
    taken_from = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="variants",
        help_text="the winner that this is, without some of its lines",
    )
    without = models.JSONField(
        default=list, blank=True, help_text="the lines of `taken_from` that it lacks"
    )
    logs_with_data = models.BooleanField(
        default=False, help_text="keeps the redo log with the data although there is a log_dir"
    )
    merged_into = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="duplicates",
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
    block = models.PositiveIntegerField(help_text="counted from 1 on each device and workload")
    purpose = models.CharField(max_length=16, choices=SlotPurpose, default=SlotPurpose.BLOCK)
    replicate = models.PositiveSmallIntegerField(
        default=0, help_text="1 for the baseline's second run in a block (A/A)"
    )
    order = models.PositiveIntegerField(help_text="place in the whole study, from 1")
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
    losses = models.PositiveSmallIntegerField(
        default=0, help_text="tests before this one whose worker died"
    )

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
    at = models.DateTimeField(db_default=Now(), help_text="by the database's clock")
    kind = models.CharField(max_length=16, choices=EventKind)
    by = models.CharField(max_length=150, blank=True, help_text="the user; empty: nobody")
    text = models.TextField(help_text="a sentence without its full stop")
    # An event outlives its run: a queued run is deleted when its study is concluded early.
    run = models.ForeignKey(
        Run,
        null=True,
        blank=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="events",
    )
    candidate = models.CharField(max_length=100, blank=True, help_text="the name of its config")

    class Meta:
        ordering: ClassVar = ["-id"]
        indexes: ClassVar = [models.Index(fields=["kind", "at"], name="events_of_a_kind")]

    def __str__(self) -> str:
        return self.text


class LearnedKnobs(models.Model):
    """How much each knob of a search matters, worked out by its host between two rounds.

    To fit the model takes seconds of a processor, which no page has while a run is measured.
    """

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="learned_knobs")
    key = models.CharField(
        max_length=64,
        help_text="of what it was worked out from: tuning.results.search",
    )
    found = models.JSONField(help_text="tuning.strategy.search.importance.Importance")

    class Meta:
        verbose_name_plural = "learned knobs"

    def __str__(self) -> str:
        return f"learned by study {self.study_id}"


class Recommendation(models.Model):
    """The answer on one device with one workload among the configs of one durability class.

    `candidate` is the config that fresh pairs confirmed, else the baseline. Ratios are of tpmP to
    the baseline's, bounds those of the interval with that `confidence`; with a confirmation all
    come from its fresh pairs alone, and `selected_ratio` is what the blocks found. What another
    `objective` than tpmP gained is beside them, in the same way.
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
    whole = models.ForeignKey(
        Candidate,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="reduced_recommendations",
        help_text="the winner with all its lines, if the candidate is that without some",
    )
    kind = models.CharField(
        max_length=32, default="", help_text="tuning.statistics.verdict.VerdictKind"
    )
    ratio_to_baseline = models.FloatField()
    low = models.FloatField(null=True, blank=True)
    high = models.FloatField(null=True, blank=True)
    confidence = models.FloatField(null=True, blank=True, help_text="of the intervals, 0 to 1")
    selected_ratio = models.FloatField(null=True, blank=True)
    objective = models.CharField(
        max_length=24, default="tpmP", help_text="what decided: tuning.statistics.data.Metric"
    )
    objective_ratio = models.FloatField(
        null=True, blank=True, help_text="null where the objective is tpmP or the baseline is kept"
    )
    objective_low = models.FloatField(null=True, blank=True)
    objective_high = models.FloatField(null=True, blank=True)
    noise_floor = models.FloatField(null=True, blank=True, help_text="as a share of the baseline")
    confirmation = models.CharField(
        max_length=16,
        blank=True,
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
    content = models.TextField(help_text="JSON: tuning.results.document.StudyDocument")

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
    reason = models.TextField(help_text="in plain sentences")
    result = models.JSONField(default=dict, help_text="tuning.results.document.Gate")
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.study.name}: {self.verdict}"

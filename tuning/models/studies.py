"""The question: a study with its group and the profile of a real server."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.db import models

from benchmarks.jobs.heartbeat import CANCELLED
from benchmarks.models import BinaryLog, Device, Host, JobRow, Server, Workload


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


class OfAUser(models.Model):
    """A row that a user made; the newest comes first."""

    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        abstract = True
        ordering: ClassVar = ["-id"]


class RequestedOnce(OfAUser):
    """A row that a client may request again without making another one."""

    # Chosen by the client: a user's second request with it makes no other row.
    client_key = models.CharField(max_length=64)

    class Meta(OfAUser.Meta):
        abstract = True
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["created_by", "client_key"],
                condition=~models.Q(client_key=""),
                name="one_%(class)s_per_client_key",
            )
        ]


class ServerProfile(OfAUser):
    """A profile of a user's real server: its variables, counters at two times, and sizes."""

    name = models.CharField(max_length=60)
    # tuning.server_profile.profile.Profile.
    profile = models.JSONField()

    def __str__(self) -> str:
        return self.name


class StudyGroup(RequestedOnce):
    """One request for several hosts: a study on each, with the same server version and data.

    Figures of different hosts are never in one ranking; only the devices stand side by side.
    """

    name = models.CharField(max_length=200)

    def __str__(self) -> str:
        return self.name


class Study(RequestedOnce, JobRow):
    """Candidates x devices x workloads on one host with one server; ends in a ranking.

    Its preparation is a job: a worker claims it, loads the dataset and tries the candidates.
    """

    name = models.CharField(max_length=200)
    tags = models.CharField(
        max_length=200, help_text="words by which users find it, with spaces between"
    )
    archived_at = models.DateTimeField(
        null=True, help_text="when a user took it off the lists; null: it is on them"
    )
    template = models.CharField(max_length=64)
    # tuning.requests.study.StudyRequest, for a gate tuning.requests.gate.GateRequest, with every
    # omitted field filled in.
    request = models.JSONField(default=dict)
    host = models.ForeignKey(Host, on_delete=models.PROTECT, related_name="studies")
    server = models.ForeignKey(Server, on_delete=models.PROTECT, related_name="studies")
    devices = models.ManyToManyField(Device, related_name="studies")
    workloads = models.ManyToManyField(Workload, related_name="studies")
    blocks = models.PositiveIntegerField()
    seed = models.BigIntegerField()
    budget_minutes = models.PositiveIntegerField(
        null=True, help_text="wall time of the blocks; empty: `blocks` decides"
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
    # Minutes of the whole study, after which no block and no second attempt begins and no line is
    # tested; empty: no limit.
    minutes = models.PositiveIntegerField(null=True)
    # A user asked for the ablation after the end: `minutes` do not limit that.
    ablation_without_end = models.BooleanField(default=False)
    conclusions = models.PositiveSmallIntegerField(
        default=1, help_text="number of conclusions: one more with every extension"
    )
    paused_at = models.DateTimeField(null=True)
    paused_by = models.CharField(max_length=150)
    pause_reason = models.CharField(max_length=200)
    # When it was last resumed or extended; it continues after running studies.
    resumed_at = models.DateTimeField(null=True)
    # Blocks of its last extension, for every device and workload.
    extended_by = models.PositiveIntegerField(default=0)
    # The order of its last slot when it was last concluded and went on.
    extended_after = models.PositiveIntegerField(default=0)
    # When other programs were told of its end; null: never.
    notified_at = models.DateTimeField(null=True)
    concluded_at = models.DateTimeField(
        null=True, help_text="when a user asked for an answer from what was there; null: never"
    )
    # The least safe class that its candidates may have.
    durability = models.CharField(
        max_length=2, choices=DurabilityClass, default=DurabilityClass.D0
    )

    # Kills the baseline and the winner under load and times their recovery.
    crash_tests = models.BooleanField(default=False)
    # Objective and space of a search; else null.
    search = models.JSONField(null=True)
    # How much each knob of a search matters, as its host worked it out after the last screening
    # run: tuning.strategy.search.importance.Importance; else null.
    learned = models.JSONField(null=True)
    # A gate's tuning.statistics.gate.GatePlan; else null.
    gate = models.JSONField(null=True)
    # Whether all of its servers write one.
    binary_log = models.CharField(max_length=8, choices=BinaryLog, default=BinaryLog.DEFAULT)
    # Harmless options of the user's files, set in every run: name to value.
    applied = models.JSONField(default=dict)
    # tuning.scale_model.model.ScaleModel; else null.
    scale_model = models.JSONField(null=True)
    memory_bytes = models.BigIntegerField(
        null=True, help_text="memory that its host had for a server when the study was created"
    )
    # A proposal's runs, queued as soon as its new candidates have been tried.
    runs_to_queue = models.JSONField(default=list)

    revision = models.PositiveIntegerField(
        default=0, help_text="rises when what is shown of it changes: tuning.studies.revision"
    )
    state = models.CharField(max_length=16, choices=StudyState, default=StudyState.QUEUED)
    reason_code = models.CharField(max_length=64)
    reason = models.TextField()
    log_tail = models.TextField()
    preparing_fraction = models.FloatField(default=0.0)
    preparing_text = models.CharField(max_length=200)
    prepare_attempts = models.PositiveSmallIntegerField(default=0)
    # The request for several hosts that it is part of; null: for one host.
    group = models.ForeignKey(
        StudyGroup, null=True, on_delete=models.SET_NULL, related_name="studies"
    )

    #: Whether it has begun and its host does something else, or nothing: set where it is shown.
    waits = False

    class Meta(RequestedOnce.Meta):
        verbose_name_plural = "studies"

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
        """The state in a word for people: "Paused" takes precedence."""
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

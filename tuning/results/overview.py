"""What a DBA wants to see first: the answers, what runs, what has ended and what went wrong.

In as many queries for years of studies as for one.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, F, Prefetch, Q, prefetch_related_objects
from django.db.models.functions import Coalesce
from django.utils import timezone

from benchmarks.models import ACTIVE_RUN_STATES, Host, Run, RunState
from tuning.models import ACTIVE_STUDY_STATES, Recommendation, Slot, Study, StudyState
from tuning.results.host_jobs import CurrentJob, HostState, current_jobs
from tuning.results.known_hosts import HostProblem, KnownHost, hosts, known_hosts

MAX_HOSTS = 50
_MAX_ENDED = 6
_MAX_FAILED = 4
# Of so many that ended last the failed ones are named.
_MAX_SEEN = 40
_MAX_TROUBLED = 6
_FAILED_WITHIN = timedelta(days=7)
_TROUBLE_WITHIN = timedelta(days=1)
# What is said of a study that has ended.
_SHOWN = (
    *("name", "state", "finished_at", "paused_at", "concluded_at", "reason", "reason_code"),
    *("gate", "gate_verdict__verdict", "host__name"),
)
# Outcomes that nobody wanted. A run that was cut short or cancelled did what was asked of it.
_TROUBLE = tuple(
    state
    for state in RunState
    if state not in (*ACTIVE_RUN_STATES, RunState.OK, RunState.CUT_SHORT, RunState.CANCELLED)
)


@dataclass(frozen=True)
class Answer:
    """The newest D0 recommendation for one device; `more` are for other workloads."""

    host: Host
    found: Recommendation
    more: int

    @property
    def found_at(self) -> datetime:
        return self.found.created_at


@dataclass(frozen=True)
class RunningJob:
    """What a host does now. `done` runs of its study have ended; 0 without one."""

    host: Host
    job: CurrentJob
    done: int


@dataclass(frozen=True)
class TroubledStudy:
    """Runs of one study that went wrong lately, as (state, how many), most first."""

    study: int
    name: str
    states: list[tuple[str, int]]


@dataclass(frozen=True)
class Overview:
    """All hosts in use at a glance.

    `answers` has one for each device in use, newest first; `ended` the studies that ended last;
    `waiting`, `queued` (those of them that have not begun) and `paused` count studies. `problems`
    are of hosts, without failed studies, which are in `failed`; `troubled` are runs of the last
    day.
    """

    hosts: list[KnownHost]
    answers: list[Answer]
    running: list[RunningJob]
    waiting: int
    queued: int
    paused: int
    ended: list[Study]
    problems: list[tuple[Host, HostProblem]]
    failed: list[Study]
    troubled: list[TroubledStudy]

    @property
    def has_studies(self) -> bool:
        """Whether there is or was a study at all."""
        return bool(self.ended or self.waiting or self.paused or self.studies_under_way)

    @property
    def studies_under_way(self) -> int:
        return sum(one.job.study is not None for one in self.running)

    @property
    def can_measure(self) -> bool:
        """Whether a host is there that takes work and has a server and a driver."""
        return any(
            not one.is_silent
            and not one.host.is_drained
            and one.inventory is not None
            and bool(one.inventory.servers and one.inventory.drivers)
            for one in self.hosts
        )


def overview() -> Overview:
    """The first MAX_HOSTS hosts in use, by name, and what there is to say about them."""
    known = known_hosts(hosts().filter(retired_at=None)[:MAX_HOSTS])
    jobs = {one.host.pk: one.job for one in known if one.job is not None}
    waiting = sum(len(one.studies) for one in known)
    ended, failed = _ended()
    return Overview(
        hosts=known,
        answers=_answers(known),
        running=_with_progress([one.host for one in known], jobs),
        waiting=waiting,
        queued=sum(study.state == StudyState.QUEUED for one in known for study in one.studies),
        paused=sum(len(one.paused) for one in known),
        ended=ended,
        problems=[
            (one.host, problem)
            for one in known
            for problem in one.problems
            if problem.code != "failed_study"
        ],
        failed=failed,
        troubled=_troubled([one.host for one in known]),
    )


def running_jobs() -> list[RunningJob]:
    """What the hosts do now, for who asks every few seconds."""
    rows = list(hosts().filter(retired_at=None).defer("inventory")[:MAX_HOSTS])
    return _with_progress(rows, current_jobs(rows))


def overview_stamp() -> str:
    """Differs when a study was requested, paused or resumed, or has begun or ended."""
    active = Q(state__in=ACTIVE_STUDY_STATES)
    seen = Study.objects.aggregate(
        all=Count("pk"),
        active=Count("pk", filter=active),
        queued=Count("pk", filter=Q(state=StudyState.QUEUED)),
        paused=Count("pk", filter=active & Q(paused_at__isnull=False)),
    )
    return "{all}.{active}.{queued}.{paused}".format(**seen)


def _answers(known: list[KnownHost]) -> list[Answer]:
    answers = [
        Answer(one.host, line.best, line.more)
        for one in known
        for line in one.devices
        if line.best is not None
    ]
    return sorted(answers, key=lambda one: one.found_at, reverse=True)


def _with_progress(rows: list[Host], jobs: dict[int, CurrentJob]) -> list[RunningJob]:
    studies = {job.study for job in jobs.values() if job.study is not None}
    ended = Slot.objects.filter(study__in=studies).exclude(run__state__in=ACTIVE_RUN_STATES)
    counted = dict(ended.order_by().values_list("study").annotate(Count("pk")))
    running = []
    for host in rows:
        if (job := jobs.get(host.pk)) is None:
            continue
        # A load host drives a run that is counted where it is measured.
        done = 0 if job.study is None else counted.get(job.study, 0)
        running.append(RunningJob(host, job, done))
    return sorted(running, key=lambda one: one.job.state is HostState.DRIVING)


def _ended() -> tuple[list[Study], list[Study]]:
    """The studies that ended last, with their answers, and those that failed lately."""
    rows = Study.objects.filter(finished_at__isnull=False).exclude(state__in=ACTIVE_STUDY_STATES)
    since = timezone.now() - _FAILED_WITHIN
    newest = list(
        rows.order_by("-finished_at", "-pk")
        .select_related("host", "gate_verdict")
        .only(*_SHOWN)[:_MAX_SEEN]
    )
    failed = [
        study
        for study in newest
        if study.state == StudyState.FAILED and study.finished_at and study.finished_at >= since
    ]
    ended = newest[:_MAX_ENDED]
    answers = Recommendation.objects.select_related("candidate")
    prefetch_related_objects(ended, "devices", Prefetch("recommendations", answers))
    return ended, failed[:_MAX_FAILED]


def _troubled(rows: list[Host]) -> list[TroubledStudy]:
    since = timezone.now() - _TROUBLE_WITHIN
    # A run that was measured again has left its slot to the one that came after it.
    where = [f"{'retries__' * back}slot__study" for back in range(4)]
    counted = (
        Run.objects.filter(host__in=rows, state__in=_TROUBLE, finished_at__gte=since)
        .order_by()
        .annotate(of=Coalesce(*where[1:], F(where[0])))
        .exclude(of=None)
        .values_list("of", "state")
        .annotate(Count("pk", distinct=True))
    )
    states: dict[int, Counter[str]] = {}
    for study, state, number in counted:
        states.setdefault(study, Counter())[state] += number
    newest = sorted(states, reverse=True)[:_MAX_TROUBLED]
    names = dict(Study.objects.filter(pk__in=newest).values_list("pk", "name"))
    return [TroubledStudy(pk, names[pk], states[pk].most_common()) for pk in newest]

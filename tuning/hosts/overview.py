"""All hosts at a glance: the answers, what runs, what has ended and what went wrong."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Count, Max, Q
from django.db.models.functions import Now
from django.utils import timezone

from benchmarks.models import ACTIVE_RUN_STATES, Device, Host, RunState
from tuning.comparison.devices import device_names
from tuning.hosts.known import HostProblem, answers_at_d0, host_problems, hosts, newest_answers
from tuning.models import (
    ACTIVE_STUDY_STATES,
    TROUBLE,
    Recommendation,
    Study,
    StudyEvent,
    StudyState,
)
from tuning.studies.current_jobs import CurrentJob, HostState, current_jobs

# The home page names this many; the page of hosts has the rest.
_MAX_ANSWERS = 9
_MAX_JOBS = 12
_MAX_TROUBLED_HOSTS = 12
_MAX_ENDED = 6
_MAX_FAILED = 4
_MAX_TROUBLED = 6
_FAILED_WITHIN = timedelta(days=7)
_TROUBLE_WITHIN = timedelta(days=1)
# Outcomes that nobody wanted. A run that was cut short or cancelled did what was asked of it.
_TROUBLED_STATES = tuple(
    state
    for state in RunState
    if state not in (*ACTIVE_RUN_STATES, RunState.OK, RunState.CUT_SHORT, RunState.CANCELLED)
)


@dataclass(frozen=True)
class Answer:
    """The newest D0 recommendation for one device; `more` are for other workloads.

    device: its name, which differs from those of the other devices that are shown.
    """

    device: str
    found: Recommendation
    more: int


@dataclass(frozen=True)
class TroubledStudy:
    """Runs of one study that went wrong lately, as (state, how many), most first."""

    study: int
    name: str
    states: list[tuple[str, int]]


@dataclass(frozen=True)
class Overview:
    """All hosts in use at a glance.

    answers: the newest, of one device in use each; answers_left have others.
    running: the jobs of hosts; running_left hosts have others.
    problems: of hosts, without failed studies; hosts_left have problems that are not among them.
    troubled: runs of the last day.
    """

    hosts: int
    counts: dict[str, int]
    answers: list[Answer]
    answers_left: int
    running: list[tuple[Host, CurrentJob]]
    running_left: int
    ended: list[Study]
    problems: list[tuple[Host, HostProblem]]
    hosts_left: int
    failed: list[Study]
    troubled: list[TroubledStudy]


def overview() -> Overview:
    """Return what there is to say about all hosts in use."""
    # First: a study that ends meanwhile is news to a page that asks again with this stamp.
    counts = study_counts()
    answers, answers_left = _answers()
    running, running_left = running_jobs()
    problems, hosts_left = host_problems(_MAX_TROUBLED_HOSTS)
    ended, failed = _ended()
    return Overview(
        hosts=Host.objects.filter(retired_at=None).count(),
        counts=counts,
        answers=answers,
        answers_left=answers_left,
        running=running,
        running_left=running_left,
        ended=ended,
        problems=problems,
        hosts_left=hosts_left,
        failed=failed,
        troubled=_troubled(),
    )


def running_jobs() -> tuple[list[tuple[Host, CurrentJob]], int]:
    """Return the jobs of the newest studies, and how many hosts have others."""
    jobs = current_jobs()
    newest = sorted(jobs, key=lambda host: (jobs[host].study or 0, host), reverse=True)
    rows = hosts().filter(pk__in=newest[:_MAX_JOBS]).only("name")
    # Last the load hosts, whose runs are shown where they are measured.
    shown = sorted(rows, key=lambda host: jobs[host.pk].state is HostState.DRIVING)
    return [(host, jobs[host.pk]) for host in shown], len(newest[_MAX_JOBS:])


def study_counts() -> dict[str, int]:
    """Count the studies of all hosts: all, active, and of these queued and paused.

    Each open home page asks every few seconds. The counts differ when a study was requested,
    paused or resumed, or has begun or ended.
    """
    active = Q(state__in=ACTIVE_STUDY_STATES)
    return Study.objects.aggregate(
        all=Count("pk"),
        active=Count("pk", filter=active),
        queued=Count("pk", filter=Q(state=StudyState.QUEUED, paused_at=None)),
        paused=Count("pk", filter=active & Q(paused_at__isnull=False)),
    )


def _answers() -> tuple[list[Answer], int]:
    in_use = answers_at_d0().filter(device__retired_at=None, device__host__retired_at=None)
    by_device = in_use.order_by().values_list("device")
    newest = list(by_device.annotate(Max("study"), at=Max("created_at")).order_by("-at", "device"))
    shown = newest_answers({device: study for device, study, _ in newest[:_MAX_ANSWERS]})
    names = device_names(Device.objects.filter(pk__in=shown))
    answers = [
        Answer(names[device], shown[device][0], len(shown[device]) - 1)
        for device, _, _ in newest[:_MAX_ANSWERS]
    ]
    return answers, len(newest[_MAX_ANSWERS:])


def _ended() -> tuple[list[Study], list[Study]]:
    since = timezone.now() - _FAILED_WITHIN
    rows = Study.objects.filter(finished_at__isnull=False, archived_at=None)
    rows = rows.exclude(state__in=ACTIVE_STUDY_STATES)
    newest = rows.select_related("host", "gate_verdict").order_by("-finished_at", "-pk")
    ended = newest.prefetch_related("devices", "recommendations__candidate")[:_MAX_ENDED]
    failed = newest.filter(state=StudyState.FAILED, finished_at__gte=since)[:_MAX_FAILED]
    return list(ended), list(failed)


def _troubled() -> list[TroubledStudy]:
    events = StudyEvent.objects.filter(
        kind__in=TROUBLE,
        at__gte=Now() - _TROUBLE_WITHIN,
        run__state__in=_TROUBLED_STATES,
        study__host__retired_at=None,
    )
    columns = events.order_by().values_list("study", "run__state")
    states: dict[int, Counter[str]] = {}
    for study, state, number in columns.annotate(Count("run", distinct=True)):
        states.setdefault(study, Counter())[state] += number
    newest = sorted(states, reverse=True)[:_MAX_TROUBLED]
    names = dict(Study.objects.filter(pk__in=newest).values_list("pk", "name"))
    return [TroubledStudy(pk, names[pk], states[pk].most_common()) for pk in newest]

"""All hosts at a glance: the answers, what runs, what has ended and what went wrong.

In as many queries for years of studies as for one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import timedelta
from operator import attrgetter

from django.db.models import Count, Max, Q, prefetch_related_objects
from django.db.models.functions import Now
from django.utils import timezone

from benchmarks.models import ACTIVE_RUN_STATES, Device, Host, RunState
from tuning.comparison.devices import device_names
from tuning.hosts.devices import answers_at_d0, newest_answers
from tuning.hosts.known import HostProblem, host_problems, hosts
from tuning.models import (
    ACTIVE_STUDY_STATES,
    TROUBLE,
    Recommendation,
    Slot,
    Study,
    StudyEvent,
    StudyState,
)
from tuning.studies.current_jobs import CurrentJob, HostState, current_jobs, measured_runs

# The home page names this many; the page of hosts has the rest.
_MAX_ANSWERS = 9
_MAX_JOBS = 12
_MAX_TROUBLED_HOSTS = 12
_MAX_ENDED = 6
_MAX_FAILED = 4
# Failed studies are looked for among this many that ended last.
_MAX_SEEN = 40
_MAX_TROUBLED = 6
_FAILED_WITHIN = timedelta(days=7)
_TROUBLE_WITHIN = timedelta(days=1)
# The columns shown of a study that has ended.
_SHOWN = (
    *("name", "state", "finished_at", "paused_at", "concluded_at", "reason", "reason_code"),
    *("gate", "gate_verdict__verdict", "host__name"),
)
# Outcomes that nobody wanted. A run that was cut short or cancelled did what was asked of it.
_TROUBLED_STATES = tuple(
    state
    for state in RunState
    if state not in (*ACTIVE_RUN_STATES, RunState.OK, RunState.CUT_SHORT, RunState.CANCELLED)
)


@dataclass(frozen=True)
class Answer:
    """The newest D0 recommendation for one device; `more` are for other workloads.

    device: its name, which differs from those of the host's other devices.
    """

    host: Host
    device: str
    found: Recommendation
    more: int


@dataclass(frozen=True)
class RunningJob:
    """The job of a host. `done` runs of its study have ended; 0 without one."""

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
class StudyCounts:
    """Counts of studies.

    active: not ended. queued: not begun and not paused. paused: not ended and paused.
    """

    all: int
    active: int
    queued: int
    paused: int

    @property
    def stamp(self) -> str:
        """Differs when a study was requested, paused or resumed, or has begun or ended."""
        return f"{self.all}.{self.active}.{self.queued}.{self.paused}"


@dataclass(frozen=True)
class Overview:
    """All hosts in use at a glance.

    answers: the newest, of one device in use each; answers_left have others.
    running: the jobs of hosts; running_left hosts have others.
    problems: of hosts, without failed studies; hosts_left have problems that are not among them.
    troubled: runs of the last day.
    """

    hosts: int
    counts: StudyCounts
    answers: list[Answer]
    answers_left: int
    running: list[RunningJob]
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


def running_jobs() -> tuple[list[RunningJob], int]:
    """Return the jobs of the newest studies, and how many hosts have others."""
    jobs = current_jobs(newest=_MAX_JOBS)
    busy = len(jobs)
    if sum(job.state is HostState.MEASURING for job in jobs.values()) >= _MAX_JOBS:
        # Some of them may be crash tests; none of these is left out.
        busy += max(measured_runs().count() - _MAX_JOBS, 0)
    newest = sorted(jobs, key=lambda host: (jobs[host].study or 0, host), reverse=True)
    studies = {job.study for job in jobs.values() if job.study is not None}
    ended = Slot.objects.filter(study__in=studies).exclude(run__state__in=ACTIVE_RUN_STATES)
    done = dict(ended.order_by().values_list("study").annotate(Count("pk")))
    rows = hosts().filter(retired_at=None, pk__in=newest[:_MAX_JOBS]).only("name")
    running = [RunningJob(row, jobs[row.pk], done.get(jobs[row.pk].study or 0, 0)) for row in rows]
    # Last the load hosts, whose runs are shown where they are measured.
    running.sort(key=lambda one: one.job.state is HostState.DRIVING)
    return running, busy - len(running)


def study_counts() -> StudyCounts:
    """Count the studies of all hosts; each open home page asks every few seconds."""
    active = Q(state__in=ACTIVE_STUDY_STATES)
    found = Study.objects.aggregate(
        all=Count("pk"),
        active=Count("pk", filter=active),
        queued=Count("pk", filter=Q(state=StudyState.QUEUED, paused_at=None)),
        paused=Count("pk", filter=active & Q(paused_at__isnull=False)),
    )
    return StudyCounts(**found)


def _answers() -> tuple[list[Answer], int]:
    in_use = answers_at_d0().filter(device__retired_at=None, device__host__retired_at=None)
    by_device = in_use.order_by().values_list("device")
    newest = list(by_device.annotate(Max("study"), at=Max("created_at")).order_by("-at", "device"))
    shown = newest_answers({device: study for device, study, _ in newest[:_MAX_ANSWERS]})
    first = sorted((found[0] for found in shown.values()), key=attrgetter("created_at"))
    # Devices in use on these hosts; a device that was retired since its answer is named too.
    rows = Device.objects.filter(Q(retired_at=None) | Q(pk__in=shown))
    of_host: dict[int, list[Device]] = defaultdict(list)
    for row in rows.filter(host__in=[one.study.host_id for one in first]):
        of_host[row.host_id].append(row)
    names = {pk: name for rows in of_host.values() for pk, name in device_names(rows).items()}
    answers = [
        Answer(one.study.host, names[one.device_id], one, len(shown[one.device_id]) - 1)
        for one in reversed(first)
    ]
    return answers, len(newest) - len(answers)


def _ended() -> tuple[list[Study], list[Study]]:
    since = timezone.now() - _FAILED_WITHIN
    rows = Study.objects.filter(finished_at__isnull=False, archived_at=None)
    rows = rows.exclude(state__in=ACTIVE_STUDY_STATES)
    shown = rows.select_related("host", "gate_verdict").only(*_SHOWN)
    newest = list(shown.order_by("-finished_at", "-pk")[:_MAX_SEEN])
    failed = [
        study
        for study in newest
        if study.state == StudyState.FAILED and study.finished_at and study.finished_at >= since
    ]
    ended = newest[:_MAX_ENDED]
    prefetch_related_objects(ended, "devices", "recommendations__candidate")
    return ended, failed[:_MAX_FAILED]


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

"""The template context of the first page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from advisor.wording.answers import named_answers
from advisor.wording.hosts import STATE_WORDS, TONES
from advisor.wording.words import certainty
from benchmarks.models import Device
from tuning.comparison.devices import device_names
from tuning.hosts.known import KnownHost, hosts, known_hosts
from tuning.hosts.overview import (
    Answer,
    RunningJob,
    RunningJobs,
    overview,
    running_jobs,
)
from tuning.models import Recommendation, Study

# Before there is a study so many hosts are named.
_MAX_HOSTS = 50


@dataclass(frozen=True)
class AnswerCard:
    """An answer with the name of its device and how certain it is."""

    answer: Answer
    device: str
    why: str

    @property
    def found(self) -> Recommendation:
        return self.answer.found


@dataclass(frozen=True)
class JobCard:
    """The present job of a host, with the word and the badge of its state."""

    running: RunningJob
    label: str
    tone: str


@dataclass(frozen=True)
class EndedStudy:
    """A study that has ended and its answers, each with its device's name where that is needed."""

    study: Study
    answers: list[tuple[Recommendation, str]]


def home_context() -> dict[str, Any]:
    """Everything on the page."""
    seen = overview()
    context = {
        "overview": seen,
        "answers": answer_cards(seen.answers),
        "ended": [EndedStudy(study, named_answers(study)) for study in seen.ended],
        "several_hosts": seen.hosts > 1,
        "is_fine": not (seen.problems or seen.failed or seen.troubled),
        **_running(seen.counts.stamp, seen.running),
    }
    if not seen.counts.all:
        first = known_hosts(hosts().filter(retired_at=None)[:_MAX_HOSTS])
        context |= {"first_hosts": first, "can_measure": any(map(_can_measure, first))}
    return context


def jobs_context(stamp: str) -> dict[str, Any]:
    """The part that changes every few seconds."""
    return _running(stamp, running_jobs())


def answer_cards(answers: Sequence[Answer]) -> list[AnswerCard]:
    """The names of devices differ among those of one host."""
    of_host: dict[int, list[Device]] = defaultdict(list)
    there = {one.host.pk for one in answers}
    named = {one.found.device_id for one in answers}
    # Devices in use on these hosts; a device that was retired since its answer is named too.
    devices = Device.objects.filter(Q(retired_at=None) | Q(pk__in=named), host__in=there)
    for device in devices.defer("identity", "log_identity"):
        of_host[device.host_id].append(device)
    names = {host: device_names(devices) for host, devices in of_host.items()}
    return [
        AnswerCard(one, names[one.host.pk][one.found.device_id], certainty(one.found))
        for one in answers
    ]


def _running(stamp: str, jobs: RunningJobs) -> dict[str, Any]:
    return {
        "stamp": stamp,
        "jobs": [
            JobCard(one, STATE_WORDS[one.job.state], TONES[one.job.state]) for one in jobs.shown
        ],
        "jobs_left": jobs.left,
    }


def _can_measure(known: KnownHost) -> bool:
    """Whether it takes work and has a server and a driver."""
    has = known.inventory
    takes_work = not known.is_silent and not known.host.is_drained
    return takes_work and has is not None and bool(has.servers and has.drivers)

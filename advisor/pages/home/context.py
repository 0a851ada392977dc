"""The template context of the first page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from advisor.wording.answers import named_answers
from advisor.wording.history import day, level_text
from advisor.wording.hosts import STATE_WORDS, TONES
from advisor.wording.words import certainty
from benchmarks.models import Host
from tuning.comparison.baseline_news import Slowdown, slowdowns
from tuning.comparison.devices import device_names
from tuning.models import Recommendation, Study
from tuning.results.overview import (
    Answer,
    Overview,
    RunningJob,
    overview,
    overview_stamp,
    running_jobs,
)

# So many answers are shown at once; the page of the devices has all.
MAX_ANSWERS = 9


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
    """What a host does now, with the word and the badge of its state."""

    running: RunningJob
    label: str
    tone: str


@dataclass(frozen=True)
class EndedStudy:
    """A study that has ended and its answers, each with its device's name where that is needed."""

    study: Study
    answers: list[tuple[Recommendation, str]]


@dataclass(frozen=True)
class SlowHost:
    """A host whose baseline completes less on a device since `day`."""

    found: Slowdown
    day: str
    change: str

    @classmethod
    def of(cls, found: Slowdown) -> SlowHost:
        return cls(found, day(found.since), level_text(found.level))


def home_context() -> dict[str, Any]:
    """Everything on the page."""
    stamp = overview_stamp()
    seen = overview()
    cards = answer_cards(seen)
    slower = slowdowns()
    return {
        "stamp": stamp,
        "overview": seen,
        "answers": cards[:MAX_ANSWERS],
        "answers_left": max(0, len(cards) - MAX_ANSWERS),
        "jobs": _job_cards(seen.running),
        "ended": [EndedStudy(study, named_answers(study)) for study in seen.ended],
        "several_hosts": len(seen.hosts) > 1,
        "slower": [SlowHost.of(one) for one in slower],
        "is_fine": not (seen.problems or seen.failed or seen.troubled or slower),
    }


def jobs_context(stamp: str) -> dict[str, Any]:
    """The part that changes every few seconds."""
    return {"stamp": stamp, "jobs": _job_cards(running_jobs())}


def answer_cards(seen: Overview) -> list[AnswerCard]:
    """The answers, newest first; names differ among the devices of one host."""
    of_host: dict[Host, list[Answer]] = defaultdict(list)
    for answer in seen.answers:
        of_host[answer.host].append(answer)
    devices = {one.host.pk: [line.device for line in one.devices] for one in seen.hosts}
    names = {host.pk: device_names(devices[host.pk]) for host in of_host}
    return [
        AnswerCard(one, names[one.host.pk][one.found.device_id], certainty(one.found))
        for one in seen.answers
    ]


def _job_cards(running: Iterable[RunningJob]) -> list[JobCard]:
    return [JobCard(one, STATE_WORDS[one.job.state], TONES[one.job.state]) for one in running]

"""The first page and the part of it that is asked for while it is open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET
from django_htmx.http import HttpResponseClientRefresh

from advisor.wording.hosts import STATE_WORDS, TONES
from advisor.wording.words import named_answers
from benchmarks.models import Host
from tuning.hosts.known import KnownHost, hosts, known_hosts
from tuning.hosts.overview import Answer, overview, running_jobs, study_counts
from tuning.models import Study
from tuning.results.document import Answer as StudyAnswer
from tuning.stored_documents import documents_of
from tuning.studies.current_jobs import CurrentJob

# Before there is a study so many hosts are named.
_MAX_HOSTS = 50


def home_context() -> dict[str, Any]:
    """Return everything on the page."""
    seen = overview()
    context = {
        "overview": seen,
        "answers": _answers(seen.answers),
        "ended": [(study, named_answers(study)) for study in seen.ended],
        "several_hosts": seen.hosts > 1,
        "is_fine": not (seen.problems or seen.failed or seen.troubled),
        **_running(_stamp(seen.counts), seen.running, seen.running_left),
    }
    if not seen.counts["all"]:
        first = known_hosts(hosts().filter(retired_at=None)[:_MAX_HOSTS])
        context |= {"first_hosts": first, "can_measure": any(map(_can_measure, first))}
    return context


def _answers(answers: Sequence[Answer]) -> list[tuple[Answer, StudyAnswer]]:
    """Each answer with what its study's document says of it."""
    studies = list(Study.objects.filter(pk__in={one.found.study_id for one in answers}))
    said = {pk: one for document in documents_of(studies) for pk, one in document.answer.items()}
    return [(one, said[one.found.pk]) for one in answers if one.found.pk in said]


def jobs_context(stamp: str) -> dict[str, Any]:
    """Return the part that changes every few seconds."""
    return _running(stamp, *running_jobs())


def _running(stamp: str, jobs: Sequence[tuple[Host, CurrentJob]], left: int) -> dict[str, Any]:
    """Each job with the word and the badge of its state."""
    shown = [(host, job, STATE_WORDS[job.state], TONES[job.state]) for host, job in jobs]
    return {"stamp": stamp, "jobs": shown, "jobs_left": left}


def _stamp(counts: Mapping[str, int]) -> str:
    return ".".join(map(str, counts.values()))


def _can_measure(known: KnownHost) -> bool:
    """Whether it takes work and has a server and a driver."""
    has = known.inventory
    takes_work = not known.is_silent and not known.host.is_drained
    return takes_work and has is not None and bool(has.servers and has.drivers)


@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """The answers so far, what runs, what has ended, what went wrong; empty: how to begin."""
    return render(request, "home/home.html", home_context())


@require_GET
def home_live(request: HttpRequest) -> HttpResponse:
    """The response to htmx: what runs now. A study that has begun or ended is a new page."""
    stamp = _stamp(study_counts())
    if request.GET.get("seen", stamp) != stamp:
        return HttpResponseClientRefresh()
    return render(request, "home/_running.html", jobs_context(stamp))

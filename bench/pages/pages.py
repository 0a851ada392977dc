"""The pages and fragments that are measured, asked for as a browser does, without a network."""

from __future__ import annotations

import gzip
import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import ceil

from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from benchmarks.models import Run, RunState
from tuning.models import Candidate, Slot, StoredDocument, Study, StudyGroup
from tuning.studies.revision import REFRESH_S, progress_mark

_USER = "bench"
_numbers = itertools.count()

#: A page that stays open asks so often, in seconds, and a run takes so long.
POLL_S, RUN_S = 2.0, 60.0
#: The steps of a run, each of which is another answer.
STEPS = 5


@dataclass(frozen=True)
class Page:
    """`address` makes it anew for each request; `before` happens just before each."""

    address: Callable[[], str]
    before: Callable[[], object] = lambda: None


def pages() -> dict[str, Page]:
    """Return the addresses of all pages by name."""
    large = Study.objects.get(name="large")
    busy = Study.objects.get(name="under way")
    search = Study.objects.get(name="search")
    usual = Study.objects.exclude(pk__in=(large.pk, busy.pk, search.pk)).latest("pk")
    group = StudyGroup.objects.get()
    slot = Slot.objects.filter(study=usual).latest("order")
    run = Run.objects.get(pk=slot.run_id)
    sides = [f"side=candidate-{one.pk}" for one in usual.candidates.order_by("position")[:4]]
    config = Candidate.objects.filter(study=usual).latest("position").config_id
    found = {
        "home": reverse("home"),
        "studies": reverse("study-list"),
        "devices": reverse("device-list"),
        "device": reverse("device-detail", args=[run.device_id]),
        "baseline history charts": reverse("device-history-charts", args=[run.device_id]),
        "device comparison": reverse("device-comparison"),
        "device comparison charts": reverse("device-comparison-charts"),
        "hosts": reverse("host-list"),
        "host": reverse("host-detail", args=[usual.host_id]),
        "run": reverse("run-detail", args=[run.pk]),
        "run charts": reverse("run-charts", args=[run.pk]),
        "compare": f"{reverse('compare')}?{'&'.join(sides)}",
        "compare charts": f"{reverse('compare-charts')}?{'&'.join(sides)}",
        "config": reverse("config-detail", args=[config]),
        "study over three hosts": reverse("group-detail", args=[group.pk]),
        "study over three hosts, live": reverse("group-live", args=[group.pk]),
        "help": reverse("help"),
    }
    for name, study in (("study", usual), (f"study of {large.slots.count()}", large)):
        place = study.slots.earliest("order")
        key = f"board-{place.device_id}-{place.workload_id}-D0"
        found |= {
            name: reverse("study-detail", args=[study.pk]),
            f"{name}, live": reverse("study-live", args=[study.pk]),
            f"{name}, charts": reverse("study-charts", args=[study.pk]),
            f"{name}, of runs": f"{reverse('board-charts', args=[study.pk])}?board={key}",
        }
    found |= {
        "search": reverse("study-detail", args=[search.pk]),
        "search, live": reverse("study-live", args=[search.pk]),
        "search, charts": reverse("study-charts", args=[search.pk]),
        "API, search/document": f"/api/v1/studies/{search.pk}/document/",
    }
    for name in ("studies", "runs", "recommendations"):
        found[f"API, {name}"] = f"/api/v1/{name}/"
    for name in ("", "document/", "events/"):
        found[f"API, study/{name}".rstrip("/")] = f"/api/v1/studies/{large.pk}/{name}"
    return {name: Page(partial(str, it)) for name, it in found.items()} | _under_way(busy)


def _under_way(study: Study) -> dict[str, Page]:
    """The page of a study that is measured: opened, and what it asks for while it is open."""
    live = reverse("study-live", args=[study.pk])
    ended = study.slots.filter(run__state=RunState.OK).latest("order").run_id

    def step() -> None:
        running = Run.objects.filter(slot__study=study, state=RunState.RUNNING)
        running.update(step=f"step {next(_numbers)}")

    def end() -> None:
        Run.objects.filter(pk=ended).update(finished_at=timezone.now())

    def seen() -> str:
        return f"{live}?revision={study.revision}"

    there = reverse("study-detail", args=[study.pk])
    charts = reverse("study-charts", args=[study.pk])
    return {
        "under way": Page(lambda: there, end),
        "under way, poll": Page(lambda: f"{live}?mark={progress_mark(study.pk)}"),
        "under way, step": Page(seen, step),
        "under way, end of a run": Page(lambda: live, end),
        "under way, charts": Page(lambda: charts, end),
    }


def share_of_a_core(cpu_ms: dict[str, float]) -> float:
    """What one open page of the study under way costs, by the processor time of its answers."""
    polls, changes = RUN_S / POLL_S, STEPS + RUN_S / REFRESH_S
    spent = (
        (polls - changes - 1) * cpu_ms["under way, poll"]
        + changes * cpu_ms["under way, step"]
        + cpu_ms["under way, end of a run"]
        + cpu_ms["under way, charts"]
    )
    return spent / 1000 / RUN_S


@dataclass(frozen=True)
class Times:
    """The wall time and the processor time of this process for each request, in ms."""

    wall_ms: list[float]
    cpu_ms: list[float]

    @property
    def p95_ms(self) -> float:
        """The wall time that 95 % of the requests did not exceed; one that was measured."""
        return sorted(self.wall_ms)[ceil(0.95 * len(self.wall_ms)) - 1]


@dataclass(frozen=True)
class Cost:
    """`first`: views for which nothing was kept from earlier ones; `again`: those after them."""

    queries: int
    first: Times
    again: Times
    compressed_bytes: int


def forget() -> None:
    """Forget what is cached, as a web server that has just been started."""
    StoredDocument.objects.all().delete()


def measured(page: Page, requests: int) -> Cost:
    """What a page costs once its templates are compiled; RuntimeError unless it answers well.

    `requests`: of the first views as of those after them.
    """
    users = get_user_model().objects
    user = users.filter(username=_USER).first() or users.create_superuser(_USER)
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(user)
    forget()
    address = page.address()
    with CaptureQueriesContext(connection) as seen:
        answer = client.get(address)  # the first one compiles the templates as well
        queries = len(seen)
    if answer.status_code not in (200, 204):
        raise RuntimeError(f"{address} answers {answer.status_code}")
    first = _times(client, page, requests, forget)
    again = _times(client, page, requests, lambda: None)
    return Cost(queries, first, again, len(gzip.compress(answer.content, 6)))


def _times(client: Client, page: Page, requests: int, before: Callable[[], None]) -> Times:
    found = Times([], [])
    for _ in range(requests):
        page.before()
        address = page.address()
        before()
        begun, used = time.perf_counter(), time.process_time()
        client.get(address)
        spent = time.process_time() - used
        found.wall_ms.append((time.perf_counter() - begun) * 1000)
        found.cpu_ms.append(spent * 1000)
    return found

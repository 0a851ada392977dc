"""The pages and fragments that are measured, asked for as a browser does, without a network."""

from __future__ import annotations

import gzip
import time
from dataclasses import dataclass

from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from benchmarks.models import Run
from tuning.models import Candidate, Slot, Study

_USER = "bench"


def addresses() -> dict[str, str]:
    """By name; of a usual study the newest, of studies that differ in size both."""
    large = Study.objects.get(name="large")
    usual = Study.objects.exclude(name="large").latest("pk")
    slot = Slot.objects.filter(study=usual).latest("order")
    run = Run.objects.get(pk=slot.run_id)
    sides = [f"side=candidate-{one.pk}" for one in usual.candidates.order_by("position")[:4]]
    config = Candidate.objects.filter(study=usual).latest("position").config_id
    pages = {
        "home": reverse("home"),
        "studies": reverse("study-list"),
        "devices": reverse("device-list"),
        "device": reverse("device-detail", args=[run.device_id]),
        "baseline history": reverse("device-history", args=[run.device_id]),
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
        "help": reverse("help"),
    }
    for name, study in (("study", usual), (f"study of {large.slots.count()}", large)):
        place = study.slots.earliest("order")
        key = f"board-{place.device_id}-{place.workload_id}-D0"
        pages |= {
            name: reverse("study-detail", args=[study.pk]),
            f"{name}, live": reverse("study-live", args=[study.pk]),
            f"{name}, charts": reverse("study-charts", args=[study.pk]),
            f"{name}, of runs": f"{reverse('board-charts', args=[study.pk])}?board={key}",
            f"{name}, report": reverse("study-report", args=[study.pk]),
        }
    return pages


@dataclass(frozen=True)
class Cost:
    """`ms`: wall time of each request; `cpu_ms`: the processor time of this process for it."""

    queries: int
    ms: list[float]
    cpu_ms: list[float]
    compressed_bytes: int


def measured(address: str, requests: int) -> Cost:
    """What a page costs once its templates are compiled; RuntimeError unless it answers well."""
    users = get_user_model().objects
    user = users.filter(username=_USER).first() or users.create_superuser(_USER)
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(user)
    with CaptureQueriesContext(connection) as seen:
        answer = client.get(address)  # the first one compiles the templates as well
        queries = len(seen)
    if answer.status_code not in (200, 204):
        raise RuntimeError(f"{address} answers {answer.status_code}")
    times, processor = [], []
    for _ in range(requests):
        begun, used = time.perf_counter(), time.process_time()
        client.get(address)
        processor.append((time.process_time() - used) * 1000)
        times.append((time.perf_counter() - begun) * 1000)
    return Cost(queries, times, processor, len(gzip.compress(answer.content, 6)))

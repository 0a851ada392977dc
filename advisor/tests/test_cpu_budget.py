"""What the API may cost of the processor while a run is measured on the web server's host."""

from __future__ import annotations

import logging

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from advisor.access import cpu_budget
from advisor.access.cpu_budget import (
    BURST_S,
    CODE,
    LOOK_S,
    MOST,
    NEVER_REFUSED,
    SCARCE,
    SPENT,
    CpuBudget,
)
from advisor.access.log_sparingly import LogSparingly
from advisor.access.rules import API
from advisor.tests import factories
from advisor.tests.test_api import error
from advisor.tests.test_api_requests import client_of
from benchmarks.models import Host, Run, RunState
from tuning.models import Study, StudyState

pytestmark = pytest.mark.django_db


class Processor:
    """A clock and the CPU seconds used so far, which somebody moves on."""

    def __init__(self) -> None:
        self.now = 0.0
        self.used = 0.0

    def go(self, seconds: float, share: float) -> None:
        self.now += seconds
        self.used += seconds * share


@pytest.fixture
def measured(settings: Settings) -> Run:
    """A run of a study that is measured on this host."""
    study = factories.make_study(state=StudyState.RUNNING)
    run = study.slots.order_by("order")[0].run
    Run.objects.filter(pk=run.pk).update(state=RunState.RUNNING)
    settings.HOST_NAME = study.host.name
    settings.API_CPU_LIMIT_PCT = 3.0
    return run


def budget_of(there: Processor) -> CpuBudget:
    return CpuBudget(lambda: there.now, lambda: there.used)


def test_a_share_of_the_processor_may_be_used_for_ever_and_a_minutes_worth_at_once(
    measured: Run,
) -> None:
    there = Processor()
    budget = budget_of(there)
    assert budget.used() == 0
    for _ in range(100):
        there.go(60, 0.03)
        assert budget.used() < 0.01
    there.go(6, 0.03 * 10)
    assert budget.used() == pytest.approx(0.9)
    there.go(6, 0.03 * 10)
    assert budget.used() > SCARCE
    # What it owes is limited: two minutes without work are enough, whatever it had used.
    there.go(1000, 1.0)
    assert budget.used() == MOST
    there.go(BURST_S + 1, 0)
    assert SCARCE < budget.used() < SPENT
    there.go(BURST_S, 0)
    assert budget.used() < SCARCE


def test_what_is_used_while_nothing_is_measured_here_is_free(
    measured: Run, settings: Settings
) -> None:
    there = Processor()
    budget = budget_of(there)
    Run.objects.filter(pk=measured.pk).update(state=RunState.OK)
    assert budget.used() == 0
    there.go(1000, 1.0)
    Run.objects.filter(pk=measured.pk).update(state=RunState.RUNNING)
    assert budget.used() == 0
    there.go(LOOK_S, 1.0)
    assert budget.used() > SCARCE
    # The next run follows soon: what was used of its share is used.
    Run.objects.filter(pk=measured.pk).update(state=RunState.OK)
    there.go(LOOK_S, 0)
    assert budget.used() == 0
    Run.objects.filter(pk=measured.pk).update(state=RunState.RUNNING)
    there.go(LOOK_S, 0)
    assert budget.used() > SCARCE
    Run.objects.filter(pk=measured.pk).update(host=Host.objects.create(name="elsewhere"))
    there.go(LOOK_S, 1.0)
    assert budget.used() == 0
    settings.API_CPU_LIMIT_PCT = 0.0
    settings.HOST_NAME = "elsewhere"
    there.go(LOOK_S, 1.0)
    assert budget.used() == 0


def test_several_processes_share_it(measured: Run) -> None:
    there = Processor()
    alone, one_of_two = budget_of(there), budget_of(there)
    one_of_two.processes = 2
    assert (alone.used(), one_of_two.used()) == (0, 0)
    there.go(1.5, 0.8)
    assert alone.used() < SCARCE < one_of_two.used()


def test_refusals_are_one_line_a_minute_in_the_log() -> None:
    sparingly = LogSparingly()

    def line(at: float, status: int) -> str:
        text, path = "Too Many Requests: %s", "/api/v1/hosts/"
        record = logging.LogRecord("django.request", logging.WARNING, "", 1, text, (path,), None)
        record.__dict__.update(created=at, status_code=status)
        return record.getMessage() if sparingly.filter(record) else ""

    said = "Too Many Requests: /api/v1/hosts/"
    assert [line(1000 + second, 429) for second in range(60)] == [said, *[""] * 59]
    assert line(1030, 404) == line(1031, 404) == said
    assert line(1061, 429) == f"{said} (and 59 more since the last such line)"
    assert line(1062, 429) == ""
    assert line(1121, 429) == f"{said} (and 1 more since the last such line)"
    # One for each time that Django was set up in this process.
    there = logging.getLogger("django.request").filters
    assert there
    assert all(isinstance(one, LogSparingly) for one in there)


@pytest.fixture
def scarce(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Processor:
    """A budget that requests use up only when somebody says so."""
    there = Processor()
    monkeypatch.setattr(cpu_budget, "BUDGET", budget_of(there))
    monkeypatch.setattr("celery.Celery.send_task", lambda *args, **kwargs: None)
    return there


@pytest.mark.long
def test_programs_are_refused_when_it_is_used_up_and_what_ends_a_measurement_is_not(
    measured: Run, scarce: Processor, admin_client: Client
) -> None:
    study = Study.objects.get()
    address = f"/api/v1/studies/{study.pk}/"
    api, another, third = (client_of(name) for name in ("ci", "another", "third"))
    assert api.get(address).status_code == 200
    scarce.go(LOOK_S, 1.0)
    refused = api.get(address)
    assert error(refused, 429)["code"] == CODE
    assert 1 <= int(refused["Retry-After"]) <= 10
    # As long as there is anything left, every token gets an answer now and then.
    assert [another.get(address).status_code for _ in range(2)] == [200, 429]
    scarce.go(LOOK_S, 1.0)
    posted = third.post("/api/v1/studies/", {}, content_type="application/json")
    assert error(posted, 429)["code"] == CODE
    # Neither pages nor what a browser asks of the API, nor who watches the advisor.
    assert admin_client.get(reverse("study-detail", args=[study.pk])).status_code == 200
    assert admin_client.get(address).status_code == 200
    assert Client().get("/healthz").status_code == 200
    assert api.get("/metrics").status_code == 200
    Study.objects.update(created_by=User.objects.get(username="ci"))
    for word in ("pause", "cancel"):
        done = api.post(f"{address}{word}/", {}, content_type="application/json")
        assert done.status_code == 200, done.content


@pytest.mark.long
def test_real_requests_use_it_up_while_something_is_measured_here_and_never_else(
    measured: Run, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.API_CPU_LIMIT_PCT = 0.005
    monkeypatch.setattr(cpu_budget, "LOOK_S", 0.0)
    monkeypatch.setattr(cpu_budget, "BUDGET", CpuBudget())
    api = client_of("ci")

    def statuses() -> set[int]:
        return {api.get("/api/v1/hosts/").status_code for _ in range(30)}

    assert statuses() == {200, 429}
    Run.objects.filter(pk=measured.pk).update(state=RunState.QUEUED)
    assert statuses() == {200}


def test_what_is_never_refused_exists() -> None:
    assert set(API) >= NEVER_REFUSED

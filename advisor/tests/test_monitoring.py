"""What other programs watch the advisor by."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from advisor.access.roles import Role
from advisor.access.tokens import create_token
from advisor.monitoring import health
from advisor.processes import versions
from advisor.tests import factories
from benchmarks.models import Host, Run
from benchmarks.tests.made_up_host import made_up_host, with_inventory
from tuning.models import Study, StudyState

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def ready(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(health, "redis_answers", lambda: True)
    monkeypatch.setattr(health, "tables_differ", lambda: "")
    health.forget()
    yield
    health.forget()


def test_anybody_learns_that_it_serves_and_nothing_else(client: Client) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    found = client.get("/readyz")
    assert found.json() == dict.fromkeys(("status", "database", "migrations", "redis"), "ok")
    assert client.post("/readyz").status_code == 405


def no_database() -> bool:
    raise OperationalError("password of advisor@db-host-1 is wrong")


@pytest.mark.parametrize(
    ("parts", "name", "broken", "mended"),
    [
        (["redis"], "redis_answers", lambda: False, lambda: True),
        (["migrations"], "tables_differ", lambda: "the tables are older", lambda: ""),
        (["database", "migrations"], "_database_answers", no_database, lambda: True),
    ],
)
def test_it_says_what_is_not_there_and_not_why(
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    parts: list[str],
    name: str,
    broken: Any,
    mended: Any,
) -> None:
    monkeypatch.setattr(health, name, broken)
    found = client.get("/readyz")
    assert (found.status_code, found["Retry-After"]) == (503, "10")
    assert [one for one, word in found.json().items() if word != "ok"] == ["status", *parts]
    assert client.get("/healthz").status_code == 200
    # Asked again at once, nothing is tried again; a second later everything is.
    monkeypatch.setattr(health, name, mended)
    looked = health._LAST["at"]
    monkeypatch.setattr(time, "monotonic", lambda: looked + 0.5)
    assert client.get("/readyz").status_code == 503
    monkeypatch.setattr(time, "monotonic", lambda: looked + 1.0)
    assert client.get("/readyz").json()["status"] == "ok"


def test_a_database_that_is_away_is_waited_for_once(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def away() -> bool:
        asked.append("a connection")
        raise OperationalError("couldn't get a connection after 10.00 sec")

    monkeypatch.setattr(health, "_database_answers", away)
    monkeypatch.setattr(health, "tables_differ", away)
    assert client.get("/readyz").status_code == 503
    assert asked == ["a connection"]


@pytest.mark.parametrize("status", [200, 503])
def test_requests_that_come_during_a_look_get_the_last_answer(
    client: Client, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    if status == 200:
        client.get("/readyz")
        health._LAST["at"] -= health.KEPT_S
    looks: list[str] = []
    others: list[int] = []

    def hang() -> bool:
        looks.append("a look")
        if len(looks) == 1:  # meanwhile somebody else asks
            others.append(Client().get("/readyz").status_code)
        return True

    monkeypatch.setattr(health, "redis_answers", hang)
    assert client.get("/readyz").status_code == 200
    assert (looks, others) == (["a look"], [status])


def test_they_answer_while_nothing_else_can(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(versions._FOUND, "stops", "the tables are newer")
    monkeypatch.setattr(health, "tables_differ", lambda: "the tables are newer")
    assert client.get("/login/").status_code == 503
    assert client.get("/healthz").status_code == 200
    assert client.get("/readyz").json()["migrations"] == "failed"


def test_prometheus_reads_the_figures_with_a_token(client: Client) -> None:
    with_inventory(factories.make_host(), made_up_host(directories=[Path("/dev/shm")]))
    measured = factories.measured_study(blocks=1, fails=["whitepaper-1"])
    factories.disturb(measured.slots.all()[0])
    running = factories.make_study(state=StudyState.RUNNING)
    factories.begin(running)
    paused = factories.make_study(blocks=0)
    Study.objects.filter(pk=paused.pk).update(paused_at=timezone.now())
    Host.objects.update(worker_seen_at=timezone.now())
    factories.make_host("db-host-2")
    assert client.get("/metrics").status_code == 401
    token = create_token(factories.make_user("prometheus", Role.VIEWER), "p", Role.VIEWER)
    answer = client.get("/metrics", headers={"Authorization": f"Bearer {token}"})
    assert answer["Content-Type"].startswith("text/plain; version=0.0.4")
    found = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(answer.content.decode())
        for sample in family.samples
    }
    host = "db-host-1"
    assert found["advisor_studies", host, "running"] == 1
    assert found["advisor_active_runs", host, "running"] == 1
    ok = Run.objects.filter(state="ok").count()
    assert (found["advisor_runs_total", host, "ok"], ok > 0) == (ok, True)
    assert found["advisor_runs_total", host, "no_start"] == 1
    assert found["advisor_runs_total", host, "disturbed"] == 1
    assert found["advisor_disturbed_runs_total", host] == 1
    assert found["advisor_paused_studies", host] == 1
    assert found["advisor_host_silent", host] == 0
    assert found["advisor_host_silent", "db-host-2"] == 1
    assert found["advisor_disk_free_bytes", host, "/dev/shm"] > 0
    assert ("advisor_disk_reserve_bytes", host, "/dev/shm") in found
    assert found["advisor_measured_seconds_total", host] > 0

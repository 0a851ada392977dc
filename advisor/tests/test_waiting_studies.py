"""A study that has begun and waits is said to wait, with the same word everywhere."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from advisor.tests import factories
from benchmarks.models import Host, JobState, Probe
from tuning.models import Study, StudyState

pytestmark = pytest.mark.django_db

WORDS = "Waiting|Queued|Measuring|Loading the dataset"
BADGE = re.compile(rf'<span\s+class="badge[^"]*">({WORDS})</span>')


@pytest.fixture
def study() -> Study:
    now = timezone.now()
    found = factories.make_study(name="the later", state=StudyState.RUNNING, started_at=now)
    Host.objects.update(worker_seen_at=now)
    return found


def pages(client: Client, study: Study) -> dict[str, str]:
    """What the badge of the study says on each page that shows one."""
    addresses = {
        "list": reverse("study-list"),
        "study": reverse("study-detail", args=[study.pk]),
        "device": reverse("device-detail", args=[study.devices.get().pk]),
        "host": reverse("host-detail", args=[study.host_id]),
    }
    said = {}
    for name, address in addresses.items():
        behind = client.get(address).content.decode().partition(study.name)[2]
        found = BADGE.search(behind)
        said[name] = found[1] if found else ""
    return said


def terminal(capsys: pytest.CaptureFixture[str]) -> str:
    """What `study list` says of it."""
    call_command("study", "list")
    return " ".join(capsys.readouterr().out.partition("the later")[2].split())


def probing(study: Study) -> str:
    Probe.objects.create(device=study.devices.get(), seconds=50, state=JobState.RUNNING)
    return "is busy: probe of"


def measuring_another(study: Study) -> str:
    other = factories.make_study(name="sooner", state=StudyState.RUNNING)
    factories.begin(other)
    return "is busy: study sooner"


def drained(study: Study) -> str:
    Host.objects.update(drained_at=timezone.now())
    return "is drained"


def silent(study: Study) -> str:
    Host.objects.update(worker_seen_at=timezone.now() - timedelta(minutes=5))
    return "has not been seen"


@pytest.mark.parametrize("keep_it", [probing, measuring_another, drained, silent])
def test_badges_say_waiting_and_the_text_what_for(
    admin_client: Client, study: Study, keep_it: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert set(pages(admin_client, study).values()) == {"Measuring"}
    why = keep_it(study)
    assert set(pages(admin_client, study).values()) == {"Waiting"}
    assert terminal(capsys).startswith("Waiting ")
    text = admin_client.get(f"/api/v1/studies/{study.pk}/").json()["progress"]["text"]
    assert text.startswith("waiting: ")
    assert why in text


def test_a_run_on_a_silent_host_says_since_when(admin_client: Client, study: Study) -> None:
    factories.begin(study)
    Host.objects.filter(pk=study.host_id).update(worker_seen_at=factories.BEGIN)
    text = admin_client.get(reverse("study-detail", args=[study.pk])).text
    assert f"Host {study.host} has not been seen since 2026-11-21 09:30:00 UTC." in text
    assert "continues when the host takes work again" in text

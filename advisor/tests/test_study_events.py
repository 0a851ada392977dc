"""The events of a study: written when they happen, listed on its page and in the API."""

from __future__ import annotations

import html

import pytest
from django.test import Client
from django.urls import reverse

from advisor.access.roles import Role
from advisor.tests import factories
from benchmarks.models import Run, RunState
from tuning.models import EventKind, Slot, Study, StudyState
from tuning.studies.events import note_run

pytestmark = pytest.mark.django_db
DONE = (EventKind.PAUSED, EventKind.RESUMED, EventKind.CANCELLED)


def started() -> tuple[Study, list[Slot]]:
    study = factories.make_study(state=StudyState.RUNNING, names=factories.NAMES[:2], blocks=1)
    return study, list(study.slots.order_by("order").select_related("candidate", "run"))


def happened(slot: Slot, state: RunState, **values: object) -> None:
    """The slot's run has begun, or ended, just now."""
    Run.objects.filter(pk=slot.run_id).update(state=state, **values)
    note_run(slot.run_id)


def test_what_somebody_did_is_kept_with_name_and_reason(client: Client) -> None:
    client.force_login(factories.make_user("ann", Role.ADMINISTRATOR))
    study, _ = started()
    for _ in range(2):  # the study's own columns know only the last pause
        client.post(reverse("study-pause", args=[study.pk]), {"reason": "a new  kernel"})
        client.post(reverse("study-resume", args=[study.pk]))
    client.post(reverse("study-cancel", args=[study.pk]))
    rows = study.events.filter(kind__in=DONE).order_by("pk")
    done = [(row.kind, row.by, row.text) for row in rows]
    twice = [
        (EventKind.PAUSED, "ann", "Paused by ann: a new kernel"),
        (EventKind.RESUMED, "ann", "Resumed by ann"),
    ]
    assert done == [*twice, *twice, (EventKind.CANCELLED, "ann", "Cancelled by ann")]
    # What was refused has not happened.
    client.post(reverse("study-cancel", args=[study.pk]))
    assert study.events.filter(kind=EventKind.CANCELLED).count() == 1


def test_the_page_shows_the_newest_and_a_poll_brings_what_happened_since(
    admin_client: Client,
) -> None:
    study, slots = started()
    for number, slot in enumerate(slots):
        happened(slot, RunState.RUNNING)
        happened(slot, RunState.OK, throughput=1000.0 + number, p95_ms=9.0)
    page = html.unescape(
        admin_client.get(reverse("study-detail", args=[study.pk])).content.decode()
    )
    events = page[page.index('id="study-events"') :]
    assert f"Run {slots[-1].run_id} of" in events
    assert "1 earlier" in events
    assert events.index("1,002 tpmP") < events.index("1,001 tpmP")
    happened(slots[-1], RunState.LOST, reason="the worker is gone")
    poll = admin_client.get(reverse("study-live", args=[study.pk])).content.decode()
    assert "lost: the worker is gone" in poll[poll.index('id="study-events"') :]

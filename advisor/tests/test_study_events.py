"""The events of a study: what happened, when, by whom; on its page as they happen."""

from __future__ import annotations

import html
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from advisor.access.roles import Role
from advisor.tests import factories
from benchmarks.models import Run, RunState
from tuning.models import Elimination, Slot, Study, StudyAction, StudyState
from tuning.studies.events import EventKind, study_events

pytestmark = pytest.mark.django_db


def lines(study: Study) -> list[tuple[EventKind, str]]:
    """Oldest first, without what every study begins with."""
    found = reversed(study_events(Study.objects.get(pk=study.pk)))
    early = (EventKind.REQUESTED, EventKind.PREPARING)
    return [(one.kind, one.text) for one in found if one.kind not in early]


def started(**values: Any) -> tuple[Study, list[Slot]]:
    """A study whose clock is the real one, and its slots."""
    study = factories.make_study(state=StudyState.RUNNING, names=factories.NAMES[:2], **values)
    return study, list(study.slots.order_by("order").select_related("candidate", "run"))


def happened(slot: Slot, minutes: int, state: RunState, **values: object) -> None:
    """The slot's run begins and ends after so many minutes."""
    begin = slot.study.created_at + timedelta(minutes=minutes)
    Run.objects.filter(pk=slot.run_id).update(
        state=state, started_at=begin, finished_at=begin + timedelta(seconds=30), **values
    )


def measured_again(slot: Slot) -> Run:
    first = Run.objects.get(pk=slot.run_id)
    again = Run.objects.get(pk=slot.run_id)
    again.pk, again.retry_of, again.state = None, first, RunState.QUEUED
    again.started_at = again.finished_at = None
    again.reason = ""
    again.save()
    Run.objects.filter(pk=again.pk).update(queued_at=first.finished_at)
    slot.run = again
    slot.save()
    return again


def test_runs_are_claimed_and_measured_or_say_what_went_wrong() -> None:
    study, (one, two, three, *_) = started(blocks=1)
    first = two.run_id
    happened(one, 1, RunState.OK, tpmP=5300.4, p95_ms=12.34)
    happened(two, 2, RunState.DISTURBED, reason="foreign load took 34 % of the CPU.")
    again = measured_again(two)
    happened(two, 3, RunState.LOST, reason="the worker is gone while measuring")
    third = measured_again(two)
    happened(three, 4, RunState.NO_START, reason="status 1")
    name, other, last = (slot.candidate.name for slot in (one, two, three))
    part = {
        slot: "block 1 (replicate)" if slot.replicate else "block 1" for slot in (one, two, three)
    }
    assert lines(study) == [
        (EventKind.CLAIMED, f"Run {one.run_id} began: {name}, {part[one]}"),
        (EventKind.MEASURED, f"Run {one.run_id} of {name}: 5,300 tpmP, p95 12.3 ms"),
        (EventKind.CLAIMED, f"Run {first} began: {other}, {part[two]}"),
        (
            EventKind.DISTURBED,
            f"Run {first} of {other}: disturbed: foreign load took 34 % of the CPU",
        ),
        (
            EventKind.MEASURED_AGAIN,
            f"Run {again.pk} is to measure {other} again, after run {first}",
        ),
        (EventKind.CLAIMED, f"Run {again.pk} began: {other}, {part[two]}"),
        (EventKind.LOST, f"Run {again.pk} of {other}: lost: the worker is gone while measuring"),
        (
            EventKind.MEASURED_AGAIN,
            f"Run {third.pk} is to measure {other} again, after run {again.pk}",
        ),
        (EventKind.CLAIMED, f"Run {three.run_id} began: {last}, {part[three]}"),
        (EventKind.FAILED, f"Run {three.run_id} of {last}: server did not start: status 1"),
    ]


def test_a_candidate_leaves_the_race_when_its_last_block_has_ended() -> None:
    factories.make_device()
    other = factories.make_device(data_dir="/fast", kind="nvme")
    study, slots = started(blocks=2, others=[other])
    here = [slot for slot in slots if slot.device == other and slot.block == 1]
    for minutes, slot in enumerate(here):
        happened(slot, minutes, RunState.OK, tpmP=1.0)
    left = slots[0].candidate
    Elimination.objects.create(
        study=study,
        candidate=left,
        device=other,
        workload=slots[0].workload,
        after_block=1,
        reason="its interval lies below that of the leader.",
    )
    kind, text = lines(study)[-1]
    assert kind is EventKind.LEFT_THE_RACE
    assert text == (
        f"{left.name} left the race after block 1, on {other}: "
        "its interval lies below that of the leader"
    )


def test_what_somebody_did_is_kept_with_name_and_reason(client: Client) -> None:
    client.force_login(factories.make_user("ann", Role.ADMINISTRATOR))
    study, _ = started(blocks=1)
    for _ in range(2):  # the study's own columns know only the last pause
        client.post(reverse("study-pause", args=[study.pk]), {"reason": "a new  kernel"})
        client.post(reverse("study-resume", args=[study.pk]))
    client.post(reverse("study-cancel", args=[study.pk]))
    done = [(kind, text) for kind, text in lines(study) if kind.value in StudyAction.Kind.values]
    twice = [
        (EventKind.PAUSED, "Paused by ann: a new kernel"),
        (EventKind.RESUMED, "Resumed by ann"),
    ]
    assert done == [*twice, *twice, (EventKind.CANCELLED, "Cancelled by ann")]
    # What was refused has not happened.
    client.post(reverse("study-cancel", args=[study.pk]))
    assert StudyAction.objects.filter(study=study, kind="cancelled").count() == 1


def test_an_extension_and_the_end_of_a_study_are_events(client: Client) -> None:
    client.force_login(factories.make_user("ann", Role.ADMINISTRATOR))
    study = factories.measured_study(blocks=1)
    Study.objects.filter(pk=study.pk).update(finished_at=timezone.now())
    assert lines(study)[-1] == (EventKind.ENDED, "Study finished")
    client.post(reverse("study-extend", args=[study.pk]), {"blocks": 2})
    kinds = [kind for kind, _ in lines(study)]
    assert EventKind.ENDED not in kinds
    assert (EventKind.EXTENDED, "Extended by ann: 2 more blocks") in lines(study)


def test_the_page_shows_the_newest_and_a_poll_brings_what_happened_since(
    admin_client: Client,
) -> None:
    study, slots = started(blocks=1)
    for minutes, slot in enumerate(slots):
        happened(slot, minutes, RunState.OK, tpmP=1000.0 + minutes, p95_ms=9.0)
    page = html.unescape(
        admin_client.get(reverse("study-detail", args=[study.pk])).content.decode()
    )
    events = page[page.index('id="study-events"') :]
    assert f"Run {slots[-1].run_id} of" in events
    assert "2 earlier" in events
    assert events.index("1,002 tpmP") < events.index("1,001 tpmP")
    happened(slots[-1], 9, RunState.LOST, reason="the worker is gone")
    poll = admin_client.get(reverse("study-live", args=[study.pk])).content.decode()
    assert "lost: the worker is gone" in poll[poll.index('id="study-events"') :]


def test_pairs_that_confirm_a_winner_are_counted_from_1(admin_client: Client) -> None:
    study = factories.raced_study()
    begun = [text for kind, text in lines(study) if kind == EventKind.CLAIMED]
    pairs = [text.split(", ")[-1] for text in begun if "confirmation" in text]
    assert pairs == [f"pair {number}" for number in range(1, 6) for _ in range(2)]
    page = admin_client.get(reverse("study-detail", args=[study.pk])).content.decode()
    assert page.count(">pair 1<") == page.count(">pair 5<") == 2
    assert ">pair 6<" not in page

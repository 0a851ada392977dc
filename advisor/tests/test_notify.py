"""Other programs are told, by signed messages, that a study or a gate has ended."""

from __future__ import annotations

import hashlib
import hmac
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from advisor.notify import PAUSES_S, tell_ends
from advisor.tests import factories
from advisor.tests.receiver import Receiver, receiving
from tuning.models import Study, StudyState
from tuning.statistics.gate import GatePlan

pytestmark = pytest.mark.django_db

KEY = "a key"


def is_genuine(key: str, headers: dict[str, str], body: bytes) -> bool:
    """Whether the message was signed with the key, as docs/reference/api.md says it."""
    ours = hmac.new(key.encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(f"sha256={ours}", headers["x-advisor-signature"])


@pytest.fixture
def ended() -> Study:
    study = factories.measured_study(blocks=2)
    Study.objects.update(finished_at=timezone.now())
    return study


def told(settings: Any, *receivers: Receiver) -> list[float]:
    """Look for ends once; the pauses between the tries."""
    settings.NOTIFY_URLS, settings.NOTIFY_KEY = [one.url for one in receivers], KEY
    pauses: list[float] = []
    tell_ends(sleep=pauses.append)
    return pauses


def test_an_end_is_told_once_to_each_and_signed(settings: Any, ended: Study) -> None:
    with receiving() as first, receiving() as second:
        told(settings, first, second)
        told(settings, first, second)
    [(headers, body)] = first.got
    assert second.got[0][1] == body
    assert is_genuine(KEY, headers, body)
    assert not is_genuine("another", headers, body)
    [message] = first.messages
    assert (message["event"], message["id"], message["state"]) == (
        "study.ended",
        ended.pk,
        "finished",
    )
    best = ended.recommendations.get()
    assert message["verdict"] == best.kind
    assert best.candidate.name in message["sentence"]
    assert message["path"] == f"/studies/{ended.pk}/"


def test_an_extended_study_is_told_at_its_next_end(settings: Any, ended: Study) -> None:
    with receiving() as receiver:
        told(settings, receiver)
        Study.objects.update(state=StudyState.RUNNING)
        told(settings, receiver)
        Study.objects.update(state=StudyState.CANCELLED, finished_at=timezone.now())
        told(settings, receiver)
    assert [one["state"] for one in receiver.messages] == ["finished", "cancelled"]


def test_an_end_of_long_ago_is_not_told(settings: Any, ended: Study) -> None:
    Study.objects.update(finished_at=timezone.now() - timedelta(days=2))
    with receiving() as receiver:
        told(settings, receiver)
    assert receiver.got == []


@pytest.mark.usefixtures("ended")
def test_a_message_is_tried_again_and_the_log_keeps_no_path(settings: Any, caplog: Any) -> None:
    with receiving(500, 200) as late, receiving(302) as redirects:
        assert told(settings, late) == list(PAUSES_S[:2])
        Study.objects.update(notified_at=None)
        # A redirection is not followed: its target would be asked as well.
        assert told(settings, redirects) == list(PAUSES_S)
    assert len(late.got) == 2
    assert len(redirects.got) == len(PAUSES_S)
    assert "302" in caplog.text
    assert "/hook" not in caplog.text


def test_a_gate_is_told_with_its_verdict(settings: Any) -> None:
    factories.make_study(
        names=factories.NAMES[:2],
        blocks=0,
        gate=GatePlan().as_json(),
        state=StudyState.CANCELLED,
        reason="cancelled by dba",
        finished_at=timezone.now(),
    )
    with receiving() as receiver:
        told(settings, receiver)
    [message] = receiver.messages
    assert (message["event"], message["verdict"]) == ("gate.ended", "error")
    assert "cancelled by dba" in message["sentence"]

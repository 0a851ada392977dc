"""Finds what has ended, and sends what is due; called again and again by the web process.

Nothing is written where a study ends: a study's own row says so, and what a webhook has not heard
of yet follows from that, whichever process died when. A message is claimed by counting its next
attempt, which also says when it is tried again: a sender that dies in between leaves a message
that is sent again later, with the same id.
"""

from __future__ import annotations

import logging
import time
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from django.conf import settings
from django.db import connection
from django.db.models import F
from django.db.models.functions import Now

from advisor.webhooks import signing
from advisor.webhooks.hooks import new_message_id, rests_because
from advisor.webhooks.messages import Superseded, body_of
from advisor.webhooks.models import MAX_PROBLEM, Delivery, Event, Webhook
from advisor.webhooks.posting import NoAnswer, post
from tuning.models import ACTIVE_STUDY_STATES, Study
from tuning.studies.scheduler import measures_here

logger = logging.getLogger(__name__)

#: Between two attempts, a day in all; after the last there is only time for its answer.
GAPS: Final = tuple(
    timedelta(seconds=s) for s in (30, 300, 1800, 2 * 3600, 6 * 3600, 16 * 3600, 60)
)
#: While this host measures a message waits, but no longer than this.
PATIENCE: Final = timedelta(minutes=10)
#: What ended longer ago is not sent any more, such as while no web process ran.
LOOK_BACK: Final = timedelta(days=7)
#: Answered or given up, a message can be looked at for so long. Longer than LOOK_BACK: it says
#: that the webhook has heard.
KEPT: Final = timedelta(days=30)
_OK: Final = range(200, 300)


class _Ended(NamedTuple):
    study: int
    at: datetime
    owner: int | None
    event: Event


def send_all() -> int:
    """Note what has ended, send what is due: the number of attempts. Raises Error.

    One message per webhook at most: a webhook that does not answer costs its timeout, once.
    """
    note_ends()
    return sum(_send(pk) for pk in _due())


def note_ends() -> None:
    """Make a row for whatever a webhook has not heard of."""
    hooks = list(Webhook.objects.filter(is_active=True).select_related("created_by"))
    if not hooks or not (ended := _ended()):
        return
    known = Delivery.objects.filter(webhook__in=hooks, study__in=[one.study for one in ended])
    heard = set(known.values_list("webhook_id", "study_id", "ended_at"))
    made: list[Delivery] = []
    for hook in hooks:
        news = [
            one
            for one in ended
            if _concerns(hook, one) and (hook.pk, one.study, one.at) not in heard
        ]
        if news and not rests_because(hook):
            made += [_delivery(hook, one) for one in news]
    # Another web process may have been quicker.
    Delivery.objects.bulk_create(made, ignore_conflicts=True)


def _delivery(hook: Webhook, one: _Ended) -> Delivery:
    return Delivery(
        webhook=hook,
        event=one.event,
        message_id=new_message_id(),
        study_id=one.study,
        ended_at=one.at,
    )


def _ended() -> list[_Ended]:
    rows = Study.objects.exclude(state__in=ACTIVE_STUDY_STATES).filter(
        finished_at__gte=Now() - LOOK_BACK, host__imported__isnull=True
    )
    columns = rows.values_list("pk", "finished_at", "created_by", "gate")
    return [
        _Ended(pk, at, owner, Event.STUDY_ENDED if gate is None else Event.GATE_ENDED)
        for pk, at, owner, gate in columns.order_by("finished_at", "pk")
        if at is not None
    ]


def _concerns(hook: Webhook, one: _Ended) -> bool:
    is_its = hook.of_everybody or one.owner == hook.created_by_id
    return is_its and one.event in hook.events and one.at >= hook.listens_since


def _due() -> list[int]:
    """The oldest message that is due of each webhook."""
    waiting = Delivery.objects.filter(state=Delivery.State.WAITING)
    due = waiting.filter(next_at__lte=Now())
    if not due.exists():
        return []
    if measures_here():
        due = waiting.filter(next_at__lte=Now() - PATIENCE)
    first: dict[int, int] = {}
    for hook, pk in due.order_by("next_at", "pk").values_list("webhook_id", "pk"):
        first.setdefault(hook, pk)
    return list(first.values())


def _send(pk: int) -> bool:
    """One attempt; False: another process makes it, or there is nothing to be sent any more."""
    rows = Delivery.objects.select_related("webhook__created_by")
    # Looked at again: whoever was quicker may have made this attempt, and the next is for later.
    due = rows.filter(pk=pk, state=Delivery.State.WAITING, next_at__lte=Now())
    delivery = due.first()
    if delivery is None or not _claim(delivery):
        return False
    hook = delivery.webhook
    if (why := rests_because(hook)) or not _has_body(delivery):
        _store(delivery, None, why or "the study goes on again", is_last=True)
        return False
    try:
        secret = signing.opened(hook.sealed_secret)
    except signing.SecretLost:
        _store(delivery, None, "its secret was made with another ADVISOR_SECRET_KEY", is_last=True)
        return False
    body = delivery.body.encode()
    headers = signing.headers(secret, delivery.message_id, int(time.time()), body)
    if not connection.in_atomic_block:
        connection.close()  # others may need it while this waits for an answer
    try:
        allowed = settings.WEBHOOK_HOSTS
        status = post(allowed.target(hook.url), allowed, headers, body)
    except NoAnswer as error:
        _store(delivery, None, f"{error}")
    else:
        _store(delivery, status, "" if status in _OK else f"answered with the status {status}")
    return True


def _claim(delivery: Delivery) -> bool:
    """Count the attempt; False if another process did, or that was the last one."""
    made = delivery.attempts
    if made == len(GAPS):  # its sender died
        _store(delivery, None, "the advisor ended while it was sent", is_last=True)
        return False
    mine = Delivery.objects.filter(pk=delivery.pk, state=Delivery.State.WAITING, attempts=made)
    values = {"attempts": F("attempts") + 1, "last_at": Now(), "next_at": Now() + GAPS[made]}
    delivery.attempts += 1
    return mine.update(**values) == 1


def _has_body(delivery: Delivery) -> bool:
    """Make the message, once: what is sent again is the same. False: it is about nothing now."""
    if not delivery.body:
        try:
            delivery.body = body_of(delivery)
        except Superseded:
            return False
        Delivery.objects.filter(pk=delivery.pk).update(body=delivery.body)
    return True


def _store(delivery: Delivery, status: int | None, problem: str, *, is_last: bool = False) -> None:
    """How an attempt ended; `problem` is empty for a message that has arrived."""
    if not problem:
        state = Delivery.State.DELIVERED
    elif is_last or delivery.attempts == len(GAPS):
        state = Delivery.State.GIVEN_UP
        logger.warning("message %s to %s is given up: %s", delivery, delivery.webhook, problem)
    else:
        state = Delivery.State.WAITING
    mine = Delivery.objects.filter(pk=delivery.pk, state=Delivery.State.WAITING)
    if problem:  # which came too late where the next attempt is under way
        mine = mine.filter(attempts=delivery.attempts)
    kept = problem[:MAX_PROBLEM]
    mine.update(state=state, status=status, problem=kept)
    Webhook.objects.filter(pk=delivery.webhook_id).update(
        last_at=Now(), last_status=status, last_problem=kept
    )


def forget_old() -> int:
    """Delete what was answered or given up long ago; how many rows."""
    ended = Delivery.objects.exclude(state=Delivery.State.WAITING)
    return ended.filter(created_at__lt=Now() - KEPT).delete()[0]

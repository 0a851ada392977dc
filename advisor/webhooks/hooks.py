"""Makes webhooks, ends them, and says whether anything may still be sent to one."""

from __future__ import annotations

import secrets
from collections.abc import Collection

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from advisor.access.callers import Caller
from advisor.access.roles import Role, role_of
from advisor.errors import AdvisorError
from advisor.webhooks.destinations import UrlRefused
from advisor.webhooks.models import TEST, Delivery, Event, Webhook
from advisor.webhooks.signing import new_secret, sealed

#: Enough for anybody; each may cost a timeout.
MAX_WEBHOOKS = 10


class WebhookRefused(AdvisorError):
    """The webhook cannot be made or tested; `field` is what it is about, "" for none."""

    def __init__(self, code: str, message: str, field: str = "") -> None:
        super().__init__(code, message)
        self.field = field


def create_webhook(
    user: User, url: str, events: Collection[Event], site: str, *, of_everybody: bool = False
) -> tuple[Webhook, str]:
    """The new webhook and its secret, which nobody is shown again.

    `site` is the address of the first page as this user reaches it. Who may ask for
    `of_everybody` is the caller's to see to. Raises WebhookRefused.
    """
    try:
        settings.WEBHOOK_HOSTS.target(url)
    except UrlRefused as refused:
        raise WebhookRefused(refused.code, f"{refused}", "url") from refused
    if Webhook.objects.filter(created_by=user).count() >= MAX_WEBHOOKS:
        raise WebhookRefused("too_many", f"nobody has more than {MAX_WEBHOOKS} webhooks", "url")
    secret = new_secret()
    try:
        with transaction.atomic():
            hook = Webhook.objects.create(
                url=url,
                events=sorted(events),
                of_everybody=of_everybody,
                sealed_secret=sealed(secret),
                site=site,
                created_by=user,
            )
    except IntegrityError as error:
        text = "you have a webhook with this URL already"
        raise WebhookRefused("url_taken", text, "url") from error
    hook.refresh_from_db()  # with the database's time
    return hook, secret


def switch(hook: Webhook, *, on: bool) -> None:
    """Off: nothing is sent. What ends meanwhile is not sent later either."""
    if on and not hook.is_active:
        Webhook.objects.filter(pk=hook.pk).update(is_active=True, listens_since=Now())
    elif not on:
        Webhook.objects.filter(pk=hook.pk).update(is_active=False)
    hook.is_active = on


def send_test(hook: Webhook) -> Delivery:
    """A message that is sent like any other. Raises WebhookRefused."""
    if why := rests_because(hook):
        raise WebhookRefused("webhook_rests", f"nothing is sent to this webhook: {why}")
    with transaction.atomic():
        Webhook.objects.select_for_update().get(pk=hook.pk)
        waiting = hook.deliveries.filter(event=TEST, state=Delivery.State.WAITING)
        if waiting.exists():
            raise WebhookRefused("test_waiting", "a test of this webhook is still to be sent")
        made = hook.deliveries.create(event=TEST, message_id=new_message_id())
    made.refresh_from_db()
    return made


def new_message_id() -> str:
    return f"msg_{secrets.token_urlsafe(20)}"


def webhooks_of(caller: Caller) -> QuerySet[Webhook]:
    """One's own; an administrator sees all."""
    rows = Webhook.objects.select_related("created_by")
    return rows if caller.is_administrator else rows.filter(created_by=caller.user)


def rests_because(hook: Webhook) -> str:
    """Why nothing is sent to the webhook now; "" if nothing stands against it."""
    role = role_of(hook.created_by)
    if not hook.is_active:
        return "it is switched off"
    if role is None or not role.reaches(Role.OPERATOR):
        return f"the account {hook.created_by} is switched off or no longer an operator"
    if hook.of_everybody and role != Role.ADMINISTRATOR:
        return f"the account {hook.created_by} is no longer an administrator"
    try:
        settings.WEBHOOK_HOSTS.target(hook.url)
    except UrlRefused as refused:
        return f"{refused}"
    return ""

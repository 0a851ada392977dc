"""Who wants to be notified of what, and what was sent or is still to be."""

from __future__ import annotations

from typing import ClassVar, Final

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from advisor.webhooks.destinations import MAX_URL
from tuning.models import Study

#: What is said of an attempt is cut to so many characters.
MAX_PROBLEM: Final = 200


class Event(models.TextChoices):
    STUDY_ENDED = "study.ended", "a study has ended"
    GATE_ENDED = "gate.ended", "a gate has ended"


#: Not chosen: sent on request to whatever webhook.
TEST = "webhook.test"


def event_text(event: str) -> str:
    """As "a study has ended"."""
    return "a test was asked for" if event == TEST else str(Event(event).label)


class Webhook(models.Model):
    """A URL that is notified of its owner's studies, or of everybody's if that was asked for."""

    url = models.CharField(max_length=MAX_URL)
    events = models.JSONField(help_text="values of Event")
    of_everybody = models.BooleanField(
        default=False, help_text="as long as its owner is an administrator"
    )
    sealed_secret = models.TextField(help_text="sealed with ADVISOR_SECRET_KEY")
    site = models.CharField(
        max_length=300, help_text="how its owner reaches the pages, for the links"
    )
    is_active = models.BooleanField(default=True)
    last_at = models.DateTimeField(null=True, blank=True, help_text="of the last attempt")
    last_status = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="of HTTP; null: there was no answer"
    )
    last_problem = models.CharField(
        max_length=MAX_PROBLEM, blank=True, help_text="empty: delivered"
    )
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    created_at = models.DateTimeField(db_default=Now())
    listens_since = models.DateTimeField(
        db_default=Now(), help_text="what ended before is not told: it was not there, or off"
    )

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["created_by", "url"], name="one_webhook_for_a_url_of_an_account"
            )
        ]
        ordering: ClassVar = ["-id"]

    def __str__(self) -> str:
        return self.url

    @property
    def events_text(self) -> str:
        """As "a study has ended or a gate has ended"."""
        return " or ".join(map(event_text, self.events))


class Delivery(models.Model):
    """One message to one webhook, with its attempts. The row is the truth: whoever sends claims it
    by counting the next attempt.
    """

    class State(models.TextChoices):
        WAITING = "waiting", "Waiting"
        DELIVERED = "delivered", "Delivered"
        GIVEN_UP = "given_up", "Given up"

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    event = models.CharField(max_length=32)
    message_id = models.CharField(max_length=64, unique=True)
    study = models.ForeignKey(
        Study, null=True, blank=True, on_delete=models.CASCADE, related_name="deliveries"
    )
    ended_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="the end that it is about: a study may go on and end again",
    )
    body = models.TextField(blank=True, help_text="made before the first attempt, then the same")
    state = models.CharField(max_length=16, choices=State, default=State.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0)
    next_at = models.DateTimeField(db_default=Now())
    last_at = models.DateTimeField(null=True, blank=True)
    status = models.PositiveSmallIntegerField(null=True, blank=True)
    problem = models.CharField(max_length=MAX_PROBLEM, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["webhook", "study", "ended_at"], name="a_webhook_hears_of_an_end_once"
            )
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["next_at"],
                condition=models.Q(state="waiting"),
                name="deliveries_to_be_sent",
            )
        ]
        ordering: ClassVar = ["-id"]
        verbose_name_plural = "deliveries"

    def __str__(self) -> str:
        return self.message_id

    @property
    def event_text(self) -> str:
        return event_text(self.event)

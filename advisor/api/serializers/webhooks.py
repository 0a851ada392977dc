"""Webhooks and their deliveries in requests and responses."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from advisor.api.serializers.common import StrictSerializer, TimeField, page_of
from advisor.webhooks.destinations import MAX_URL
from advisor.webhooks.models import TEST, Delivery, Event

_EVENTS = [event.value for event in Event]


class WebhookRequestSerializer(StrictSerializer):
    url = serializers.CharField(
        max_length=MAX_URL,
        help_text="Its host is one of ADVISOR_WEBHOOK_HOSTS; https, unless that says http.",
    )
    events = serializers.ListField(
        child=serializers.ChoiceField(choices=_EVENTS),
        min_length=1,
        max_length=len(_EVENTS),
        required=False,
        help_text="If omitted, all.",
    )
    of_everybody = serializers.BooleanField(
        default=False, help_text="Also of others' studies and gates; for administrators only."
    )


class WebhookChangeSerializer(StrictSerializer):
    active = serializers.BooleanField(help_text="False: nothing is sent until it is true again.")


class WebhookSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField(source="pk")
    url = serializers.CharField()
    events = serializers.ListField(child=serializers.ChoiceField(choices=_EVENTS))
    of_everybody = serializers.BooleanField()
    active = serializers.BooleanField(source="is_active")
    created_by = serializers.CharField(source="created_by.username")
    created_at = TimeField()
    last_at = TimeField(allow_null=True, help_text="When something was sent last; null: never.")
    last_status = serializers.IntegerField(
        allow_null=True, help_text="Of the answer to that; null: there was none."
    )
    last_problem = serializers.CharField(help_text="Empty: it arrived.")


class CreatedWebhookSerializer(WebhookSerializer):
    secret = serializers.CharField(
        help_text="Signs every message; it is in this answer only. Begins with whsec_."
    )


WebhookPageSerializer = page_of("Webhook", WebhookSerializer, "webhooks")


class DeliverySerializer(serializers.Serializer[Any]):
    """One message and its attempts."""

    id = serializers.IntegerField(source="pk")
    message_id = serializers.CharField(help_text="The header webhook-id, of all its attempts.")
    event = serializers.ChoiceField(choices=[*_EVENTS, TEST])
    study_id = serializers.IntegerField(allow_null=True, help_text="Or gate; null for a test.")
    state = serializers.ChoiceField(choices=Delivery.State.values)
    attempts = serializers.IntegerField()
    next_at = TimeField(help_text="When it is tried, or would have been tried again.")
    last_at = TimeField(allow_null=True, help_text="Of the last attempt; null: none yet.")
    status = serializers.IntegerField(
        allow_null=True, help_text="Of the answer to the last attempt; null: there was none."
    )
    problem = serializers.CharField(help_text="Why it has not arrived; empty: it has, or waits.")
    created_at = TimeField()


DeliveryPageSerializer = page_of("Delivery", DeliverySerializer, "messages")

"""The REST API, version 1: webhooks and what was sent to them."""

from __future__ import annotations

from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from advisor.access.callers import caller_of
from advisor.api.created import created
from advisor.api.listing import PAGES, Pages
from advisor.api.serializers.common import error_response
from advisor.api.serializers.shown import shown
from advisor.api.serializers.webhooks import (
    CreatedWebhookSerializer,
    DeliveryPageSerializer,
    DeliverySerializer,
    WebhookChangeSerializer,
    WebhookPageSerializer,
    WebhookRequestSerializer,
    WebhookSerializer,
)
from advisor.webhooks.hooks import create_webhook, send_test, switch, webhooks_of
from advisor.webhooks.models import Event, Webhook

NO_WEBHOOK = error_response("There is no such webhook.")


def _webhook(pk: int) -> Webhook:
    """Whose it is was looked at before. Raises Http404."""
    return get_object_or_404(Webhook.objects.select_related("created_by"), pk=pk)


class WebhookListView(APIView):
    @extend_schema(
        operation_id="list_webhooks",
        summary="List your webhooks, newest first; an administrator sees all",
        parameters=PAGES,
        responses={200: WebhookPageSerializer},
    )
    def get(self, request: Request) -> Response:
        return Pages().listed(webhooks_of(caller_of(request)), request, WebhookSerializer)

    @extend_schema(
        operation_id="create_webhook",
        summary="Notify a URL when a study or a gate has ended; the answer has the secret",
        request=WebhookRequestSerializer,
        responses={
            201: CreatedWebhookSerializer,
            400: error_response(
                "`invalid_request`, `invalid_url`, `host_not_listed`, `url_taken`, `too_many`."
            ),
        },
    )
    def post(self, request: Request) -> Response:
        values = WebhookRequestSerializer.of(request).validated_data
        if values["of_everybody"] and not caller_of(request).is_administrator:
            raise PermissionDenied("To hear of everybody's studies needs the role administrator.")
        hook, secret = create_webhook(
            request.user,
            values["url"],
            {Event(one) for one in values.get("events", Event)},
            request.build_absolute_uri(reverse("home")),
            of_everybody=values["of_everybody"],
        )
        document = {**shown(WebhookSerializer, hook), "secret": secret}
        return created(request, "api-webhook-detail", hook.pk, document)


class WebhookDetailView(APIView):
    @extend_schema(
        operation_id="get_webhook",
        summary="One webhook and how the last message to it went",
        responses={200: WebhookSerializer, 404: NO_WEBHOOK},
    )
    def get(self, request: Request, pk: int) -> Response:
        return Response(shown(WebhookSerializer, _webhook(pk)))

    @extend_schema(
        operation_id="change_webhook",
        summary="Switch a webhook off or on; what ends while it is off is not sent later",
        request=WebhookChangeSerializer,
        responses={
            200: WebhookSerializer,
            400: error_response("`invalid_request`."),
            404: NO_WEBHOOK,
        },
    )
    def patch(self, request: Request, pk: int) -> Response:
        hook = _webhook(pk)
        switch(hook, on=WebhookChangeSerializer.of(request).validated_data["active"])
        return Response(shown(WebhookSerializer, hook))

    @extend_schema(
        operation_id="delete_webhook",
        summary="Delete a webhook and the list of its messages; nothing more is sent",
        responses={204: None, 404: NO_WEBHOOK},
    )
    def delete(self, request: Request, pk: int) -> Response:
        _webhook(pk).delete()
        return Response(status=204)


class WebhookTestView(APIView):
    @extend_schema(
        operation_id="test_webhook",
        summary="Send a webhook a message of the type webhook.test, within seconds",
        request=None,
        responses={
            202: DeliverySerializer,
            400: error_response("`webhook_rests`: nothing is sent to it; the message says why."),
            404: NO_WEBHOOK,
            409: error_response("`test_waiting`: one is still to be sent."),
        },
    )
    def post(self, request: Request, pk: int) -> Response:
        return Response(shown(DeliverySerializer, send_test(_webhook(pk))), status=202)


class DeliveryListView(APIView):
    @extend_schema(
        operation_id="list_deliveries",
        summary="List the messages to a webhook, newest first, with how the attempts went",
        parameters=PAGES,
        responses={200: DeliveryPageSerializer, 404: NO_WEBHOOK},
    )
    def get(self, request: Request, pk: int) -> Response:
        return Pages().listed(_webhook(pk).deliveries.defer("body"), request, DeliverySerializer)

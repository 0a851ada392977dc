"""Webhooks: one's own, of an administrator all of them, with what was sent last."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import Prefetch
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from advisor.access.callers import Caller, caller_of
from advisor.webhooks.destinations import MAX_URL
from advisor.webhooks.hooks import (
    WebhookRefused,
    create_webhook,
    rests_because,
    send_test,
    switch,
    webhooks_of,
)
from advisor.webhooks.models import Delivery, Event, Webhook

# Of each webhook, the newest.
_SHOWN = 5


class WebhookForm(forms.Form):
    url = forms.CharField(
        label="URL",
        max_length=MAX_URL,
        help_text="Messages are POSTed there. Its host must be listed.",
    )
    events = forms.MultipleChoiceField(
        label="Send a message when",
        choices=Event.choices,
        initial=Event.values,
        widget=forms.CheckboxSelectMultiple,
    )
    of_everybody = forms.BooleanField(
        label="Also for studies and gates that others started", required=False
    )

    def __init__(self, *args: Any, caller: Caller, **values: Any) -> None:
        super().__init__(*args, **values)
        if not caller.is_administrator:
            del self.fields["of_everybody"]


@never_cache
@require_http_methods(["GET", "POST"])
def webhooks(request: HttpRequest) -> HttpResponse:
    """The list; on POST a new one, whose secret is shown this once."""
    caller = caller_of(request)
    form = WebhookForm(request.POST if request.method == "POST" else None, caller=caller)
    secret = _created(request, form) if form.is_bound and form.is_valid() else None
    newest = Delivery.objects.select_related("study").defer("body").order_by("-pk")[:_SHOWN]
    hooks = webhooks_of(caller).prefetch_related(Prefetch("deliveries", newest, to_attr="newest"))
    rows = [{"hook": hook, "rests": rests_because(hook)} for hook in hooks]
    context = {
        "secret": secret,
        "form": WebhookForm(caller=caller) if secret else form,
        "rows": rows,
        "listed": settings.WEBHOOK_HOSTS.texts,
        "shows_owner": caller.is_administrator,
    }
    status = 400 if form.errors else 200
    return render(request, "account/webhooks.html", context, status=status)


@require_POST
def change(request: HttpRequest, pk: int) -> HttpResponse:
    """`action`: test, on, off or delete. Whose webhook it is was looked at before."""
    hook = get_object_or_404(Webhook.objects.select_related("created_by"), pk=pk)
    action = request.POST.get("action", "")
    if action == "test":
        try:
            send_test(hook)
        except WebhookRefused as refused:
            messages.warning(request, f"No test message was sent: {refused}.")
        else:
            messages.info(request, "A test message is on its way: reload in a few seconds.")
    elif action in ("on", "off"):
        switch(hook, on=action == "on")
    elif action == "delete":
        hook.delete()
        messages.info(request, f"The webhook {hook.url} is deleted.")
    return redirect("account-webhooks")


def _created(request: HttpRequest, form: WebhookForm) -> str | None:
    values = form.cleaned_data
    try:
        _, secret = create_webhook(
            cast(User, request.user),
            values["url"],
            {Event(one) for one in values["events"]},
            request.build_absolute_uri(reverse("home")),
            of_everybody=values.get("of_everybody", False),
        )
    except WebhookRefused as refused:
        form.add_error(refused.field or None, f"{refused}.")
        return None
    return secret

"""A user's own API token: shown once, when it is created."""

from __future__ import annotations

from typing import cast

from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods
from rest_framework.authtoken.models import Token

FRESH_TOKEN = "fresh_api_token"  # noqa: S105  # a session key


@never_cache
@require_http_methods(["GET", "POST"])
def token(request: HttpRequest) -> HttpResponse:
    """Create or replace (`action=create`) or revoke (`action=revoke`) the user's token."""
    user = cast(User, request.user)
    if request.method == "POST":
        with transaction.atomic():
            Token.objects.filter(user=user).delete()
            if request.POST.get("action") != "revoke":
                # Kept in the session until it is shown once: a reload does not create another one.
                request.session[FRESH_TOKEN] = Token.objects.create(user=user).key
        return redirect("account-token")
    context = {
        "fresh": request.session.pop(FRESH_TOKEN, None),
        "existing": Token.objects.filter(user=user).first(),
    }
    return render(request, "account/token.html", context)

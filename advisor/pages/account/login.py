"""Log-in, with limits: to guess is hopeless, and hashing cannot be used to disturb a run."""

from __future__ import annotations

import logging
import unicodedata
from typing import Any

from django.conf import settings
from django.contrib.auth import views as auth
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from advisor.access.addresses import place
from advisor.access.limits import (
    LOGINS,
    LOGINS_OF_ADDRESS,
    LOGINS_OF_BROWSER,
    LOGINS_OF_KNOWN,
    LOGINS_TO_ACCOUNT,
    Limit,
)

logger = logging.getLogger(__name__)

# A browser that has logged in keeps the name of the account, signed, for the log-in page only.
KNOWN = "known_browser"
KNOWN_SECONDS = 180 * 24 * 3600


class LoginView(auth.LoginView):
    template_name = "account/login.html"
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: Any, **values: Any) -> HttpResponse:
        limits = _limits(request)
        wait = max(limit.wait(key) for limit, key in limits)
        if wait:
            return too_many(wait)
        for limit, key in limits:
            limit.note(key)
        return super().post(request, *args, **values)

    def form_invalid(self, form: Any) -> HttpResponse:
        logger.warning("a log-in from %s was refused", self.request.META.get("REMOTE_ADDR"))
        return super().form_invalid(form)

    def form_valid(self, form: Any) -> HttpResponse:
        # Only tries that failed count; of what bounds the cost every one does.
        for limit, key in _limits(self.request):
            if limit not in (LOGINS, LOGINS_OF_KNOWN):
                limit.forget(key)
        answer = super().form_valid(form)
        answer.set_signed_cookie(
            KNOWN,
            form.get_user().get_username(),
            salt=KNOWN,
            max_age=KNOWN_SECONDS,
            path=self.request.path,
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )
        return answer


def too_many(wait: int) -> HttpResponse:
    """429: a page that costs next to nothing."""
    page = render_to_string("429.html", {"wait": wait})
    return HttpResponse(page, status=429, headers={"Retry-After": f"{wait}"})


def _limits(request: HttpRequest) -> list[tuple[Limit, str]]:
    """What counts the try, each with its key."""
    account = _account(request.POST.get("username", ""))
    known = request.get_signed_cookie(KNOWN, default=None, salt=KNOWN, max_age=KNOWN_SECONDS)
    if known is not None and _account(known) == account:
        return [(LOGINS_OF_BROWSER, account), (LOGINS_OF_KNOWN, account)]
    address = place(request.META.get("REMOTE_ADDR", ""))
    return [(LOGINS_OF_ADDRESS, address), (LOGINS_TO_ACCOUNT, account), (LOGINS, "")]


def _account(name: str) -> str:
    """One key for all that the form takes for the same name: it strips and normalizes them."""
    return unicodedata.normalize("NFKC", name).strip()[:150].casefold()

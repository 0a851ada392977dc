"""Browsers that have logged in before: each keeps the name of its account, signed, for the log-in
page only.
"""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse

COOKIE = "known_browser"
SECONDS = 180 * 24 * 3600


def known_account(request: HttpRequest) -> str | None:
    """The account that this browser has logged in to last; None for a stranger."""
    return request.get_signed_cookie(COOKIE, default=None, salt=COOKIE, max_age=SECONDS)


def make_known(request: HttpRequest, answer: HttpResponse, account: str) -> None:
    answer.set_signed_cookie(
        COOKIE,
        account,
        salt=COOKIE,
        max_age=SECONDS,
        path=request.path,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )

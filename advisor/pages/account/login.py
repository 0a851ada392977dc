"""Log-in, with limits: to guess is hopeless, and hashing cannot be used to disturb a run."""

from __future__ import annotations

import logging
import unicodedata
from typing import Any
from urllib.parse import urlsplit

from django.contrib.auth import views as auth
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from advisor.access.addresses import network_of
from advisor.access.known import known_account, make_known
from advisor.access.limits import (
    LOGINS,
    LOGINS_OF_ADDRESS,
    LOGINS_OF_BROWSER,
    LOGINS_OF_KNOWN,
    LOGINS_TO_ACCOUNT,
    Limit,
)
from advisor.pages.account import typed

logger = logging.getLogger(__name__)


class LoginView(auth.LoginView):
    template_name = "account/login.html"
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: Any, **values: Any) -> HttpResponse:
        if "username" not in request.POST and (fields := typed.fields_of(request.POST)):
            return self._with_a_form(typed.pack(fields))
        limits = _limits(request)
        wait = max(limit.wait(key) for limit, key in limits)
        if wait:
            return too_many(wait)
        for limit, key in limits:
            limit.note(key)
        return super().post(request, *args, **values)

    def _with_a_form(self, packed: str) -> HttpResponse:
        """The page with another page's form, which was sent when the session had ended."""
        empty = self.get_form_class()(self.request)
        context = self.get_context_data(form=empty, typed=packed, typed_is_lost=not packed)
        return self.render_to_response(context)

    def get_context_data(self, **values: Any) -> dict[str, Any]:
        return super().get_context_data(**({"typed": self.request.POST.get("typed", "")} | values))

    def form_invalid(self, form: Any) -> HttpResponse:
        logger.warning("a log-in from %s was refused", self.request.META.get("REMOTE_ADDR"))
        return super().form_invalid(form)

    def form_valid(self, form: Any) -> HttpResponse:
        # Only tries that failed count; of what bounds the cost every one does.
        for limit, key in _limits(self.request):
            if limit not in (LOGINS, LOGINS_OF_KNOWN):
                limit.forget(key)
        answer = super().form_valid(form)
        path = urlsplit(self.get_success_url()).path
        typed.keep(self.request, path, self.request.POST.get("typed", ""))
        make_known(self.request, answer, form.get_user().get_username())
        return answer


def too_many(wait: int) -> HttpResponse:
    """429: a page that costs next to nothing."""
    page = render_to_string("429.html", {"wait": wait})
    return HttpResponse(page, status=429, headers={"Retry-After": f"{wait}"})


def _limits(request: HttpRequest) -> list[tuple[Limit, str]]:
    """What counts the try, each with its key."""
    account = _account(request.POST.get("username", ""))
    known = known_account(request)
    if known is not None and _account(known) == account:
        return [(LOGINS_OF_BROWSER, account), (LOGINS_OF_KNOWN, account)]
    address = network_of(request.META.get("REMOTE_ADDR", ""))
    return [(LOGINS_OF_ADDRESS, address), (LOGINS_TO_ACCOUNT, account), (LOGINS, "")]


def _account(name: str) -> str:
    """One key for all that the form takes for the same name: it strips and normalizes them."""
    return unicodedata.normalize("NFKC", name).strip()[:150].casefold()

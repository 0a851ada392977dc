"""Sends whoever is not logged in to the log-in page, so that nothing typed is lost."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django.contrib import messages
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponseRedirect
from django.shortcuts import resolve_url
from django.utils.http import url_has_allowed_host_and_scheme

from advisor.access.rules import is_api_operation
from advisor.access.sizes import MAX_OF_KNOWN, size_of

#: Long forms. The views of these fill them in again (`advisor.pages.account.typed`).
KEEPS_TYPED = ("study-new", "config-check")
NOTHING_DONE = "You were not logged in any more, so nothing was changed. Log in and try again."


class LogInFirst(LoginRequiredMiddleware):
    """A session may have ended while a form was filled in.

    A long form goes along to the log-in page, with status 307: its body is read there, under the
    limits for that page. From a button the log-in leads back to the button's page, because its own
    address has none.
    """

    def process_view(self, request: HttpRequest, view: Any, args: Any, arguments: Any) -> Any:
        """Leave the API's operations to their own checks."""
        match = request.resolver_match
        if match is not None and is_api_operation(match.view_name):
            return None
        return super().process_view(request, view, args, arguments)

    def handle_no_permission(self, request: HttpRequest, view_func: Any) -> HttpResponseRedirect:
        answer = super().handle_no_permission(request, view_func)
        # htmx is told by the log-in page itself; its script keeps what was typed.
        if request.method != "POST" or "HX-Request" in request.headers:
            return answer
        match = request.resolver_match
        if match is not None and match.view_name in KEEPS_TYPED:
            # Files are not kept, so that one of this size is not even read.
            answer.status_code = 307 if size_of(request) <= MAX_OF_KNOWN else 302
            return answer
        messages.info(request, NOTHING_DONE, fail_silently=True)
        return redirect_to_login(_came_from(request), resolve_url(self.get_login_url(view_func)))


def _came_from(request: HttpRequest) -> str:
    """The path of the page with the button; the first page if that is not known."""
    page = request.headers.get("Referer", "")
    if not page or not url_has_allowed_host_and_scheme(page, allowed_hosts={request.get_host()}):
        return resolve_url("home")
    parts = urlsplit(page)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path

"""Holds every request for a page against the rules, before anything reads its body."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseNotAllowed,
    JsonResponse,
    UnreadablePostError,
)
from django.shortcuts import redirect, render

from advisor.access.callers import Refused, caller_of, check
from advisor.access.passwords import MUST_CHANGE
from advisor.access.rules import Rules, is_api_operation, rule_for, rules_of
from advisor.access.sizes import check_size
from advisor.responses import error_body

# What an account can do before it has a password of its own.
WITH_ANY_PASSWORD = ("account-password", "login", "logout")


class AccessMiddleware:
    """After log-in is required, before the CSRF check, which reads forms.

    The API's own checks hold the same rules (`advisor.access.api_auth`), because tokens are read
    there.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        answer = self._get_response(request)
        is_cut = getattr(request.META["wsgi.input"], "was_too_slow", False)
        # Whatever the view made of half a body.
        return _too_slow() if is_cut and answer.status_code != 408 else answer

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Also where the client went away: nothing is wrong with the program."""
        return _too_slow() if isinstance(error, UnreadablePostError) else None

    def process_view(
        self, request: HttpRequest, view: Any, args: Any, arguments: dict[str, Any]
    ) -> HttpResponse | None:
        match = request.resolver_match
        if match is None or hasattr(view, "cls"):
            return None
        if is_api_operation(match.view_name):
            return _check_method(request, rules_of(match.view_name))
        rule = rule_for(match.view_name, request.method or "")
        if rule is None:
            return HttpResponseNotAllowed(rules_of(match.view_name))
        if MUST_CHANGE in request.session and match.view_name not in WITH_ANY_PASSWORD:
            return redirect("account-password")
        try:
            check(caller_of(request), rule, arguments)
        except Refused as refused:
            # Not Django's own view for this: it looks for a CSRF token, which reads the form.
            return render(request, "403.html", {"exception": refused}, status=403)
        check_size(request, rule)
        return None


def _check_method(request: HttpRequest, rules: Rules) -> HttpResponse | None:
    if request.method in rules:
        return None
    text = f"{request.method} is not possible here."
    body = error_body("method_not_allowed", text)
    return JsonResponse(body, status=405, headers={"Allow": ", ".join(rules)})


def _too_slow() -> HttpResponse:
    text = "The request took too long to arrive."
    return HttpResponse(text, status=408, content_type="text/plain; charset=utf-8")

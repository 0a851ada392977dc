"""Holds every request for a page against the rules, before anything reads its body."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.core.exceptions import RequestDataTooBig
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseNotAllowed,
    HttpResponseRedirect,
    JsonResponse,
)
from django.shortcuts import redirect, render
from django.urls import reverse

from advisor.access.callers import Refused, caller_of, check
from advisor.access.passwords import MUST_CHANGE
from advisor.access.rules import Rules, is_api_operation, rule_for, rules_of
from advisor.responses import error_body

#: Rules for an account that has no password of its own yet.
WITH_ANY_PASSWORD = ("account-password", "login", "logout")


class LogInFirst(LoginRequiredMiddleware):
    """Sends whoever is not logged in to the log-in page.

    The log-in leads back to the address, unless a browser cannot read that: a button has none.
    """

    def process_view(self, request: HttpRequest, view: Any, args: Any, arguments: Any) -> Any:
        """Leave the API's operations to their own checks."""
        match = request.resolver_match
        if match is not None and is_api_operation(match.view_name):
            return None
        return super().process_view(request, view, args, arguments)

    def handle_no_permission(self, request: HttpRequest, view_func: Any) -> HttpResponseRedirect:
        match = request.resolver_match
        if match is not None and "GET" not in rules_of(match.view_name):
            return HttpResponseRedirect(reverse("login"))
        return super().handle_no_permission(request, view_func)


class AccessMiddleware:
    """Check roles. It stands after the log-in check and before the CSRF check, which reads forms.

    The API's own checks hold the same rules (`advisor.access.api_auth`), because tokens are read
    there.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self._get_response(request)

    def process_view(
        self, request: HttpRequest, view: Any, args: Any, arguments: dict[str, Any]
    ) -> HttpResponse | None:
        match = request.resolver_match
        if match is None:
            return None
        if is_api_operation(match.view_name):
            _check_size(request)
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
        _check_size(request)  # last: the answer may be the page itself
        return None


def _check_method(request: HttpRequest, rules: Rules) -> HttpResponse | None:
    if request.method in rules:
        return None
    text = f"{request.method} is not possible here."
    body = error_body("method_not_allowed", text)
    return JsonResponse(body, status=405, headers={"Allow": ", ".join(rules)})


def _check_size(request: HttpRequest) -> None:
    """Refuse a large body by its head: Django's own limit leaves files out.

    Raises RequestDataTooBig.
    """
    length = request.META.get("CONTENT_LENGTH") or "0"
    if length.isdecimal() and int(length) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
        raise RequestDataTooBig("the body is too large")

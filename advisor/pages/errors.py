"""400, 404, 500 and 503: JSON below /api/, a page elsewhere."""

from __future__ import annotations

import sys

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string

from advisor.pages.configs.check import check_refused_by_size
from advisor.pages.new_study.views import study_refused_by_size
from advisor.pages.profiles.views import profile_refused_by_size
from advisor.processes.unavailable import ASK_AGAIN_S, is_unavailable
from advisor.responses import error_body, too_large

#: Pages whose form takes a long text: they say beside its field that it was too long.
_TAKE_TEXTS = {
    "config-check": check_refused_by_size,
    "profile-list": profile_refused_by_size,
    "study-new": study_refused_by_size,
}


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """A request that Django itself refuses, outside of a view."""
    is_large = isinstance(exception, RequestDataTooBig)
    if request.path.startswith("/api/"):
        body = error_body("bad_request", "The request is invalid.")
        if is_large:
            body = error_body("request_too_large", too_large())
        return JsonResponse(body, status=400)
    match = request.resolver_match
    if is_large and match is not None and match.url_name in _TAKE_TEXTS:
        return _TAKE_TEXTS[match.url_name](request)
    reason = too_large() if is_large else ""
    return HttpResponse(render_to_string("400.html", {"reason": reason}), status=400)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 404: an error to the API, a page elsewhere."""
    if request.path.startswith("/api/"):
        return JsonResponse(error_body("not_found", "There is no such address."), status=404)
    return render(request, "404.html", status=404)


def server_error(request: HttpRequest) -> HttpResponse:
    """Called while the exception is handled: an unavailable database is no bug."""
    if is_unavailable(sys.exception()):
        return _unavailable(request)
    if request.path.startswith("/api/"):
        body = error_body("internal_error", "A bug in the advisor; see the web process's log.")
        return JsonResponse(body, status=500)
    # Without the request's context, which may be what failed.
    return HttpResponse(render_to_string("500.html"), status=500)


def _unavailable(request: HttpRequest) -> HttpResponse:
    headers = {"Retry-After": str(ASK_AGAIN_S)}
    if request.path.startswith("/api/"):
        body = error_body("database_unavailable", "The database is unavailable, busy or full.")
        return JsonResponse(body, status=503, headers=headers)
    page = render_to_string("503.html", {"wait": ASK_AGAIN_S})
    return HttpResponse(page, status=503, headers=headers)

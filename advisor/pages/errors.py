"""404 and 500: JSON below /api/, a page elsewhere."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string

from advisor.api.errors import error_body


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    if request.path.startswith("/api/"):
        return JsonResponse(error_body("not_found", "There is nothing here."), status=404)
    return render(request, "404.html", status=404)


def server_error(request: HttpRequest) -> HttpResponse:
    if request.path.startswith("/api/"):
        body = error_body("internal_error", "A bug of the advisor; its log says more.")
        return JsonResponse(body, status=500)
    # Without the request's context: whatever failed may be part of it.
    return HttpResponse(render_to_string("500.html"), status=500)

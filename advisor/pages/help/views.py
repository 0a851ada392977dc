"""The help: each number and word in plain words."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from advisor.wording.definitions import DEFINITIONS


@require_GET
def help_page(request: HttpRequest) -> HttpResponse:
    return render(request, "help/detail.html", {"definitions": DEFINITIONS})

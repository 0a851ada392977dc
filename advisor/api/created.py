"""Answers to requests that created something."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response


def created(
    request: Request,
    view_name: str,
    pk: int,
    document: Any,
    *,
    status: int = 201,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """`document`, with the address at which `view_name` shows the new row."""
    location = request.build_absolute_uri(reverse(view_name, args=[pk]))
    return Response(document, status=status, headers={"Location": location, **(headers or {})})

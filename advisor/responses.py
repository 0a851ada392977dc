"""Responses that pages and API share: a file, and the error format."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpResponse


def download(file_name: str, content_type: str, text: str) -> HttpResponse:
    """An attachment; `file_name` is made by the advisor, never by a user."""
    return HttpResponse(
        text,
        content_type=content_type,
        headers={"Content-Disposition": f'attachment; filename="{file_name}"'},
    )


def error_body(code: str, message: str, details: Any = None) -> dict[str, Any]:
    """`{"error": {"code", "message", "details"?}}`."""
    error: dict[str, Any] = {"code": code, "message": message}
    if details is not None:
        error["details"] = details
    return {"error": error}


def too_large() -> str:
    """The message for a request body over the limit."""
    most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE // 1024**2
    return f"The request is larger than {most} MiB."

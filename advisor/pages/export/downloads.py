"""Texts as files to download."""

from __future__ import annotations

from django.http import HttpResponse


def download(file_name: str, content_type: str, text: str) -> HttpResponse:
    """An attachment; `file_name` is one of ours, never a user's."""
    return HttpResponse(
        text,
        content_type=content_type,
        headers={"Content-Disposition": f'attachment; filename="{file_name}"'},
    )

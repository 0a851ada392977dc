"""Responses that pages and API share: a file, and the error format."""

from __future__ import annotations

import csv
from typing import Any

from django.conf import settings
from django.http import HttpResponse

from benchmarks.models import SERIES_COLUMNS, Run


def download(file_name: str, content_type: str, content: str | bytes) -> HttpResponse:
    """An attachment; `file_name` is made by the advisor, never by a user."""
    return HttpResponse(
        content,
        content_type=content_type,
        headers={"Content-Disposition": f'attachment; filename="{file_name}"'},
    )


def series_csv(run: Run, file_name: str) -> HttpResponse:
    """A line for each second of the run, none thinned, with every column."""
    answer = download(file_name, "text/csv; charset=utf-8", "")
    lines = csv.writer(answer)
    lines.writerow(SERIES_COLUMNS)
    lines.writerows(run.samples.values_list(*SERIES_COLUMNS))
    return answer


def error_body(code: str, message: str, **more: Any) -> dict[str, Any]:
    """Return `{"error": {"code", "message", "field"?, "problems"?}}`, without what is empty."""
    return {"error": {"code": code, "message": message, **{k: v for k, v in more.items() if v}}}


def too_large() -> str:
    """The message for a request body over the limit."""
    most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE // 1024**2
    return f"The request is larger than {most} MiB."

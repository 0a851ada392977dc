"""ETags of answers that no longer change: who has one already gets 304 and nothing is computed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, TypeVar

from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers
from django.utils.http import parse_etags
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from benchmarks.jobs.versions import code_version

IF_NONE_MATCH = OpenApiParameter(
    "If-None-Match",
    str,
    OpenApiParameter.HEADER,
    description="The ETag of an earlier answer: 304 if it still holds.",
)
Answer = TypeVar("Answer", bound=HttpResponseBase)


def unless_known(
    request: Request, word: str | None, answer: Callable[[], Answer]
) -> Answer | Response:
    """`answer()`, or 304 for a caller who has it.

    `word` differs whenever anything does that the answer is made of; None: it still changes, and
    the answer has no ETag.
    """
    if word is None:
        return answer()
    tag = _tag(request, word)
    known = parse_etags(request.headers.get("If-None-Match", ""))
    found: Answer | Response = (
        Response(status=304) if known == ["*"] or tag in map(_strong, known) else answer()
    )
    if found.status_code in (200, 304):
        found["ETag"] = tag
        # A cache asks each time: studies can be extended.
        found["Cache-Control"] = "private, no-cache"
        patch_vary_headers(found, ("Authorization", "Cookie"))
    return found


def _strong(tag: str) -> str:
    # Compared weakly, as the standard wants it here: a proxy that packs answers weakens tags.
    return tag.removeprefix("W/")


def _tag(request: Request, word: str) -> str:
    # The same rows make another answer in another version of the code.
    parts: list[Any] = [code_version(), request.build_absolute_uri(), word]
    return f'"{hashlib.sha256(repr(parts).encode()).hexdigest()[:32]}"'

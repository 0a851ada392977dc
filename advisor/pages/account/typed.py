"""What was typed into a form when its session had ended: kept over the log-in, filled in again.

It goes in a hidden field of the log-in page, and from there into the session that begins.
"""

from __future__ import annotations

import json
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, QueryDict
from django.utils.datastructures import MultiValueDict

#: Characters of all fields together; more is not kept.
MAX_TYPED = 1024 * 1024
_KEY = "typed"
#: Of the form itself, and which of its buttons was pressed.
_NOT_TYPED = ("csrfmiddlewaretoken", "action")
FILLED_IN = (
    "Filled in as you had typed it when your session ended. Nothing was started or checked yet. "
    "Files have to be chosen again."
)


Fields = list[tuple[str, list[str]]]


def fields_of(posted: QueryDict) -> Fields:
    """By name the values of what was typed or chosen."""
    return [(name, values) for name, values in posted.lists() if name not in _NOT_TYPED]


def pack(fields: Fields) -> str:
    """For the hidden field; "" if it is too much to be kept."""
    text = json.dumps(fields)
    return text if len(text) <= MAX_TYPED else ""


def keep(request: HttpRequest, path: str, packed: str) -> None:
    """Store it in the session for the page at `path`; what is no such field is dropped."""
    if fields := _unpacked(packed):
        request.session[_KEY] = {"path": path, "fields": fields}


def take(request: HttpRequest) -> QueryDict | None:
    """What was typed into this page before the log-in, once; says that it is filled in again."""
    if _KEY not in request.session:
        return None
    kept: dict[str, Any] = request.session.pop(_KEY)
    if kept["path"] != request.path:
        return None
    typed = QueryDict(mutable=True)
    typed.update(MultiValueDict(kept["fields"]))
    messages.info(request, FILLED_IN)
    return typed


def _unpacked(packed: str) -> Fields:
    """What `pack` made; from a browser it may be anything."""
    if len(packed) > MAX_TYPED:
        return []
    try:
        found = json.loads(packed)
    except ValueError:
        return []
    return [
        (one[0], one[1])
        for one in (found if isinstance(found, list) else ())
        if isinstance(one, list)
        and len(one) == 2
        and isinstance(one[0], str)
        and isinstance(one[1], list)
        and all(isinstance(value, str) for value in one[1])
    ]

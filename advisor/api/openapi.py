"""What the OpenAPI document says of every operation alike."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from advisor.api.idempotency import HEADER
from advisor.api.serializers.common import StrictSerializer

_ERROR = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
UNAUTHORISED = "No valid token."
FORBIDDEN = "`permission_denied`: the role of the account or the scope of the token is too small."
THROTTLED = (
    "`throttled`: too many requests, or too many wrong tokens from this address; "
    "`cpu_budget_spent`: a run is measured on this host."
)
_RETRY_AFTER = {
    "Retry-After": {
        "description": "Seconds after which to ask again.",
        "schema": {"type": "integer"},
    }
}
#: By operation; written by a test (advisor/tests/api_examples.py).
EXAMPLES = Path(__file__).with_name("examples.json")
NO_PAGE = "There is no such page."
REUSED = "`idempotency_key_reused`: another request had this key."
NOT_MODIFIED = "The answer with that ETag still holds."
BAD_PAGE = "`invalid_request`: a page or its size that cannot be."


def complete(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """A hook of drf-spectacular: adds the answers that every operation may give, examples, and
    that requests have no other fields than those that are described.
    """
    examples = json.loads(EXAMPLES.read_text(encoding="utf-8"))
    for operations in result["paths"].values():
        for operation in operations.values():
            _add_answers(operation)
            _add_examples(operation, examples.get(operation["operationId"], {}))
    schemas = result["components"]["schemas"]
    for name in _strict(StrictSerializer):
        if name in schemas:
            schemas[name]["additionalProperties"] = False
    return result


def _add_answers(operation: dict[str, Any]) -> None:
    found = operation["responses"]
    for status, text in (("401", UNAUTHORISED), ("403", FORBIDDEN), ("429", THROTTLED)):
        found[status] = {"content": _ERROR, "description": text}
    for status in ("409", "429"):
        if status in found:
            found[status]["headers"] = _RETRY_AFTER
    parameters = {parameter["name"] for parameter in operation.get("parameters", ())}
    if "If-None-Match" in parameters:
        found["304"] = {"description": NOT_MODIFIED}
    if HEADER in parameters:
        found["422"] = {"content": _ERROR, "description": REUSED}
    if "page" in parameters:
        found.setdefault("404", {"content": _ERROR, "description": NO_PAGE})
        found.setdefault("400", {"content": _ERROR, "description": BAD_PAGE})
    operation["responses"] = dict(sorted(found.items()))


def _add_examples(operation: dict[str, Any], example: dict[str, Any]) -> None:
    """Of the request, and of the answer to it in the first of the types that it may have."""
    if "request" in example:
        for content in operation["requestBody"]["content"].values():
            content["example"] = example["request"]
    if "response" in example:
        status = next(one for one in operation["responses"] if one.startswith("2"))
        contents = operation["responses"][status]["content"]
        next(iter(contents.values()))["example"] = example["response"]


def _strict(base: type[StrictSerializer]) -> Iterator[str]:
    """The names of the components of those that refuse fields they do not know."""
    for kind in base.__subclasses__():
        name = kind.__name__.removesuffix("Serializer")
        yield from (name, f"Patched{name}")
        yield from _strict(kind)

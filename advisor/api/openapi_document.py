"""The OpenAPI document: what ninja makes of the operations, with errors and examples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from advisor.api.error_format import Error

EXAMPLES = Path(__file__).with_name("examples.json")
#: By status what an error means; each operation may answer with any of them.
ERRORS = {
    "400": "The request is refused; nothing was stored.",
    "401": "No valid token and no session.",
    "403": "The role of the account or of the token is too small.",
    "404": "There is no such row.",
    "409": "Something is in the way that ends by itself: ask again.",
    "429": "Too many requests.",
}
_RETRY = {"description": "Seconds after which to ask again.", "schema": {"type": "integer"}}


def completed(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the document with the errors and the examples of each operation."""
    # Statuses are numbers until they are JSON.
    document: dict[str, Any] = json.loads(json.dumps(schema))
    components = document["components"]
    components["schemas"].update(_schemas_of_errors())
    components["responses"] = {name: _error(name, meaning) for name, meaning in ERRORS.items()}
    examples = json.loads(EXAMPLES.read_text(encoding="utf-8"))
    for operations in document["paths"].values():
        for operation in operations.values():
            # The first line of the operation's docstring.
            operation["summary"], _, text = operation.pop("description").partition("\n")
            if text.strip():
                operation["description"] = text.strip()
            for status in ERRORS:
                operation["responses"][status] = {"$ref": f"#/components/responses/{status}"}
            _add_examples(operation, examples.get(operation["operationId"], {}))
    return document


def _schemas_of_errors() -> dict[str, Any]:
    schema = Error.model_json_schema(ref_template="#/components/schemas/{model}")
    return {**schema.pop("$defs"), "Error": schema}


def _error(status: str, meaning: str) -> dict[str, Any]:
    schema = {"schema": {"$ref": "#/components/schemas/Error"}}
    answer: dict[str, Any] = {"description": meaning, "content": {"application/json": schema}}
    if status in ("409", "429"):
        answer["headers"] = {"Retry-After": _RETRY}
    return answer


def _add_examples(operation: dict[str, Any], example: dict[str, Any]) -> None:
    if "request" in example and "requestBody" in operation:
        for content in operation["requestBody"]["content"].values():
            content["example"] = example["request"]
    if "response" in example:
        status = next(one for one in operation["responses"] if one.startswith("2"))
        contents = operation["responses"][status].get("content", {})
        for content in list(contents.values())[:1]:
            content["example"] = example["response"]

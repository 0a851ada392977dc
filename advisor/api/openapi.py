"""What the OpenAPI document says of every operation alike."""

from __future__ import annotations

from typing import Any

_ERROR = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
FORBIDDEN = "`permission_denied`: the role of the account or the scope of the token is too small."

THROTTLED = "`throttled`: too many requests, or too many wrong tokens from this address."


def refusals(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """A hook of drf-spectacular: adds the answers that every operation may give."""
    for operations in result["paths"].values():
        for operation in operations.values():
            responses = operation["responses"]
            responses["403"] = {"content": _ERROR, "description": FORBIDDEN}
            responses["429"] = {"content": _ERROR, "description": THROTTLED}
            operation["responses"] = dict(sorted(responses.items()))
    return result

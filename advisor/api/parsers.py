"""Reads a request's JSON: whatever could not be handled later is a parse error (400)."""

from __future__ import annotations

from typing import Any

from rest_framework import parsers
from rest_framework.exceptions import ParseError

# No request of the API nests deeper than 3.
MAX_LEVELS = 16


class JSONParser(parsers.JSONParser):
    """The framework's parser; it also refuses deep nesting and unpaired surrogates.

    Raises ParseError.
    """

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        try:
            data = super().parse(stream, media_type, parser_context)
        except RecursionError:
            raise _too_deep() from None
        _check(data)
        return data


def _check(data: Any) -> None:
    """Level by level, not by recursion."""
    level = [data]
    for _ in range(MAX_LEVELS):
        below: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                below += value.keys()
                below += value.values()
            elif isinstance(value, list):
                below += value
            elif isinstance(value, str):
                _check_text(value)
        if not below:
            return
        level = below
    raise _too_deep()


def _check_text(text: str) -> None:
    # JSON can escape an unpaired surrogate; no response that quotes it could be encoded.
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ParseError("JSON parse error - unpaired surrogate") from None


def _too_deep() -> ParseError:
    return ParseError("JSON parse error - nested too deeply")

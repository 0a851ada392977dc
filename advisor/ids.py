"""Ids in addresses: a number that no row can have is not found."""

from __future__ import annotations

from django.urls import register_converter
from django.urls.converters import IntConverter, StringConverter

# The largest id of a database; SQLite's driver fails above it.
MAX_ID = 2**63 - 1


def read_id(text: str) -> int | None:
    """The id in a query string; None for what no row can have."""
    # The length first: Python itself refuses to read thousands of digits.
    if not (text.isascii() and text.isdecimal()) or len(text) > len(str(MAX_ID)):
        return None
    pk = int(text)
    return pk if pk <= MAX_ID else None


class IdConverter(IntConverter):
    """`<id:pk>`; Django's own `int` takes any number."""

    def to_python(self, value: str) -> int:
        """Raises ValueError, which means "not found", for an id that no row can have."""
        number = super().to_python(value)
        if number > MAX_ID:
            raise ValueError(value)
        return number


class HashConverter(StringConverter):
    """`<hash:digest>`: a SHA-256 as hexadecimal digits."""

    regex = "[0-9a-f]{64}"


register_converter(IdConverter, "id")
register_converter(HashConverter, "hash")

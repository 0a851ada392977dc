"""Ids and hashes in addresses."""

from __future__ import annotations

from django.urls import register_converter
from django.urls.converters import StringConverter


def read_id(text: str) -> int | None:
    """Return the id in a query string; None for a text that is no number.

    The database finds no row for a number that is too large for its column.
    """
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else None


class HashConverter(StringConverter):
    """`<hash:digest>`: a SHA-256 as hexadecimal digits."""

    regex = "[0-9a-f]{64}"


register_converter(HashConverter, "hash")

"""Dataclasses that are stored as JSON and read back."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Self

from pydantic import TypeAdapter


class Document:
    """A base of frozen dataclasses that are stored as JSON."""

    def as_json(self) -> dict[str, Any]:
        """Return the values by field, for a JSON column."""
        document: dict[str, Any] = self._adapter().dump_python(self, mode="json")
        return document

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read the document that `as_json` wrote; raises ValueError.

        Names that the class does not have are left out: a newer version's.
        """
        found: Self = cls._adapter().validate_python(document)
        return found

    @classmethod
    @cache
    def _adapter(cls) -> TypeAdapter[Any]:
        # To make one takes a hundred times as long as to read with it.
        return TypeAdapter(cls)

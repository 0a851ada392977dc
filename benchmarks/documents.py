"""Reads back what was stored as JSON, as the frozen dataclass that it was made from."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter

T = TypeVar("T")


@cache
def _reader(form: Any) -> Any:
    # To make one takes a hundred times as long as to read with it.
    return TypeAdapter(form)


def read_document(form: type[T], document: object) -> T:
    """Names that the class does not have are left out: a newer version's. Raises ValueError."""
    return cast("T", _reader(cast("Any", form)).validate_python(document))

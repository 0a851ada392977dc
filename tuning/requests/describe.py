"""The shape of a request's field, from which form fields and command options are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BeforeValidator
from pydantic.fields import FieldInfo

from tuning.requests.fields import Cli


class Kind(StrEnum):
    """The kind of value that a user gives for a field."""

    FLAG = "flag"
    NUMBER = "number"
    CHOICE = "choice"
    CHOICES = "choices"
    PATH = "path"
    TEXT = "text"
    TEXTS = "texts"  # several texts, each read by the request


_KINDS = {bool: Kind.FLAG, int: Kind.NUMBER, float: Kind.NUMBER, Path: Kind.PATH}


@dataclass(frozen=True)
class Shape:
    """The value that a user gives for a field, and its bounds.

    choices: the words of a choice. is_optional: it may be left to the template or the host.
    option: its name on the command line, "" if it has none. metavar: the name of its value there.
    """

    kind: Kind
    choices: tuple[str, ...]
    is_optional: bool
    low: float | None
    high: float | None
    max_length: int | None
    option: str
    metavar: str


def shape_of(name: str, field: FieldInfo) -> Shape:
    """Describe a field of a request."""
    types, notes = _unwrapped(field.annotation)
    notes += field.metadata
    bounds = {
        bound: getattr(note, bound)
        for note in notes
        for bound in ("ge", "le", "max_length")
        if getattr(note, bound, None) is not None
    }
    cli = next((note for note in notes if isinstance(note, Cli)), None) or Cli(
        name.replace("_", "-")
    )
    choices = _words(field, types[0])
    return Shape(
        kind=_kind(types, notes, choices),
        choices=choices,
        is_optional=field.default is None,
        low=bounds.get("ge"),
        high=bounds.get("le"),
        max_length=bounds.get("max_length"),
        option=cli.option,
        metavar=cli.metavar,
    )


def _kind(types: list[Any], notes: list[Any], choices: tuple[str, ...]) -> Kind:
    first = types[0]
    if get_origin(first) is frozenset:
        return Kind.CHOICES
    if choices:
        return Kind.CHOICE
    if get_origin(first) in (list, tuple, Mapping):
        return Kind.TEXTS
    if len(types) > 1 or any(isinstance(note, BeforeValidator) for note in notes):
        return Kind.TEXT
    return _KINDS.get(first, Kind.TEXT)


def _words(field: FieldInfo, kind: Any) -> tuple[str, ...]:
    """The words that a field takes; none for one that takes any text."""
    if get_origin(kind) is frozenset:
        kind = get_args(kind)[0]
    if get_origin(kind) is Literal:
        return get_args(kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return tuple(f"{one.value}" for one in kind)
    extra = field.json_schema_extra
    words = extra.get("enum", ()) if isinstance(extra, dict) else ()
    return tuple(f"{one}" for one in words if one) if isinstance(words, list) else ()


def _unwrapped(kind: Any) -> tuple[list[Any], list[Any]]:
    """The alternatives of a type other than None, and the annotations on the way to them."""
    if get_origin(kind) is Annotated:
        inner, *notes = get_args(kind)
        types, more = _unwrapped(inner)
        return types, [*notes, *more]
    if get_origin(kind) not in (Union, UnionType):
        return [kind], []
    parts = [_unwrapped(one) for one in get_args(kind) if one is not NoneType]
    types = [one for found, _ in parts for one in found]
    return types, [one for _, found in parts for one in found]

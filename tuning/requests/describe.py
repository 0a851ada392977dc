"""The shape of a request's field, from which form fields and command options are made."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from pydantic import TypeAdapter
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


_KINDS = {
    "boolean": Kind.FLAG,
    "integer": Kind.NUMBER,
    "number": Kind.NUMBER,
    "array": Kind.TEXTS,
    "object": Kind.TEXTS,
}


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
    option: str
    metavar: str


def shape_of(name: str, field: FieldInfo) -> Shape:
    """Describe a field of a request, by the JSON schema of its type."""
    annotated: Any = Annotated[field.annotation, field]
    whole = TypeAdapter(annotated).json_schema()
    known = whole.get("$defs", {})

    def followed(schema: dict[str, Any]) -> dict[str, Any]:
        return known[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema

    types = [followed(one) for one in whole.get("anyOf", [whole]) if one.get("type") != "null"]
    schema = types[0]
    items = followed(schema.get("items", {}))
    words = whole.get("enum") or schema.get("enum") or items.get("enum") or []
    choices = tuple(str(word) for word in words if word != "")
    kind = _KINDS.get(schema.get("type", ""), Kind.TEXT)
    if choices:
        kind = Kind.CHOICES if items else Kind.CHOICE
    elif len(types) > 1:  # a text or several; a number or names are one text
        kind = Kind.TEXTS if schema.get("type") == "string" else Kind.TEXT
    elif schema.get("format") == "path":
        kind = Kind.PATH
    elif "properties" in schema:  # a request inside of a request
        kind = Kind.TEXT
    cli = next((one for one in field.metadata if isinstance(one, Cli)), None)
    return Shape(
        kind=kind,
        choices=choices,
        is_optional=field.default is None,
        low=schema.get("minimum"),
        high=schema.get("maximum"),
        option=name.replace("_", "-") if cli is None else cli.option,
        metavar="" if cli is None else cli.metavar,
    )

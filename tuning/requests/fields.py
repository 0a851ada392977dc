"""The base of all requests: their types of fields, their faults, and the shape of a field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StrictInt,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from tuning.errors import InvalidRequest
from tuning.scale_model.sizes import MAX_BYTES, read_size

MAX_HOST_NAME = 255
MAX_PATH = 1024
#: Characters of a variable's name and of its value.
MAX_KNOB_NAME = 100
MAX_VALUE = 200
#: The largest primary key of a row.
MAX_ID = 2**63 - 1
#: The type of a fault whose text says all, such as that of a field that the workload lacks.
SAYS_ALL = "says_all"


class Request(BaseModel):
    """Something that a user asks for. An optional field that is null counts as left out."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, content: object) -> object:
        if not isinstance(content, Mapping):
            return content
        required = {name for name, field in cls.model_fields.items() if field.is_required()}
        return {
            name: value for name, value in content.items() if value is not None or name in required
        }

    @field_validator("*", mode="before")
    @classmethod
    def _storable(cls, value: object) -> object:
        """Refuse a NUL in a text or in texts: no database stores it."""
        parts = [*value, *value.values()] if isinstance(value, Mapping) else value
        texts = parts if isinstance(parts, list | tuple) else [parts]
        if any(isinstance(text, str) and "\0" in text for text in texts):
            raise ValueError("null characters are not allowed")
        return value

    def as_json(self) -> dict[str, Any]:
        """Return the fields that differ from their defaults, as `read_request` takes them."""
        return self.model_dump(mode="json", exclude_defaults=True)


R = TypeVar("R", bound=Request)
T = TypeVar("T")


def given(requested: T | None, otherwise: T) -> T:
    """Return what was requested, else the default of the template or the host."""
    return otherwise if requested is None else requested


def read_request(kind: type[R], content: object) -> R:
    """Check a request. Raises InvalidRequest with the path of every field that is at fault."""
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        raise InvalidRequest(
            (_path(one["loc"]), _reason(one)) for one in error.errors(include_url=False)
        ) from None


def _path(place: tuple[int | str, ...]) -> str:
    """Return the path of a field, such as `devices[0].path`."""
    named = (part for part in place if part != "[key]")  # of a mapping
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in named)
    return "".join(parts).removeprefix(".")


def _reason(fault: ErrorDetails) -> str:
    known = {"missing": "is required", "extra_forbidden": "there is no such field"}
    text = known.get(fault["type"], fault["msg"].removeprefix("Value error, "))
    if fault["type"] in (*known, SAYS_ALL):
        return text
    text = text.replace("Input should", "must", 1).replace(" after validation", "")
    value = f"{fault['input']}"[:60]
    is_plain = isinstance(fault["input"], str | int | float)
    return f"{text}, not {value!r}" if is_plain and value not in text else text


def _bytes(value: object) -> object:
    return read_size(value) if isinstance(value, str) else value


def _absolute(path: Path) -> Path:
    if not path.is_absolute() or "\0" in str(path):
        raise ValueError(f"{str(path)[:80]!r} is not an absolute path")
    if len(str(path)) > MAX_PATH:
        raise ValueError(f"a path has at most {MAX_PATH} characters")
    return path


#: Bytes, written with a unit: "200G" as in a my.cnf, or "200GB" of 10^9 bytes.
Size = Annotated[
    StrictInt,
    BeforeValidator(_bytes, json_schema_input_type=str),
    Field(gt=0, le=MAX_BYTES),
    PlainSerializer(lambda count: f"{count / 1000:.15g}KB", return_type=str, when_used="json"),
]
#: A path on the host that is asked.
HostPath = Annotated[Path, AfterValidator(_absolute)]
HostName = Annotated[str, Field(max_length=MAX_HOST_NAME)]
KnobName = Annotated[str, Field(min_length=1, max_length=MAX_KNOB_NAME)]
Value = Annotated[str, Field(min_length=1, max_length=MAX_VALUE)]


@dataclass(frozen=True)
class Cli:
    """How a field is written on the command line, where its name alone does not say so.

    option: its name without dashes; "" for a field that the command reads in its own way.
    """

    option: str
    metavar: str = ""


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
    """The value that a user gives for a field: form fields and command options are made of it.

    choices: the words of a choice. is_optional: the template or the host may decide. option: its
    name on the command line, "" if it has none. metavar: the name of its value there.
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

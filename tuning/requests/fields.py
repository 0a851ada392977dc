"""The base of all requests: their types of fields, and their faults beside a field's path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails

from tuning.errors import InvalidRequest
from tuning.scale_model.sizes import MAX_BYTES, read_size

#: The fault of a field whose value may be right and is of no use with the workload.
OTHER_WORKLOAD = "other_workload"
MAX_HOST_NAME = 255
MAX_PATH = 1024
#: Characters of a variable's name and of its value.
MAX_KNOB_NAME = 100
MAX_VALUE = 200


@dataclass(frozen=True)
class Cli:
    """How a field is written on the command line, where its name alone does not say so.

    option: its name without dashes; "" for a field that the command reads in its own way.
    """

    option: str
    metavar: str = ""


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
        """Refuse a NUL in a text: no database stores it."""
        if _has_nul(value):
            raise ValueError("null characters are not allowed")
        return value

    def as_json(self) -> dict[str, Any]:
        """The fields that differ from their defaults, in the form that `read_request` takes."""
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
    """The path of a field, such as `devices[0].path`."""
    path = ""
    for part in place:
        path += f"[{part}]" if isinstance(part, int) else f".{part}"
    return path.removeprefix(".")


def _has_nul(value: object) -> bool:
    """Whether a text has one, or texts have; an inner request looks at its own fields."""
    if isinstance(value, Mapping):
        value = [*value, *value.values()]
    texts = value if isinstance(value, list | tuple) else [value]
    return any(isinstance(text, str) and "\0" in text for text in texts)


def _reason(fault: ErrorDetails) -> str:
    known = {"missing": "is required", "extra_forbidden": "there is no such field"}
    text = fault["msg"].removeprefix("Value error, ")
    if fault["type"] in known:
        return known[fault["type"]]
    if fault["type"] == OTHER_WORKLOAD:
        return text
    text = text.replace("Input should", "must", 1).replace(" after validation", "")
    given = f"{fault['input']}"[:60]
    is_plain = isinstance(fault["input"], str | int | float)
    return f"{text}, not {given!r}" if is_plain and given not in text else text


def _bytes(value: object) -> object:
    return read_size(value) if isinstance(value, str) else value


def _size_text(count: int) -> str:
    return f"{count / 1000:.15g}KB"


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
    PlainSerializer(_size_text, return_type=str, when_used="json"),
]
#: A path on the host that is asked.
HostPath = Annotated[Path, AfterValidator(_absolute)]
HostName = Annotated[str, Field(max_length=MAX_HOST_NAME)]
KnobName = Annotated[str, Field(min_length=1, max_length=MAX_KNOB_NAME)]
Value = Annotated[str, Field(min_length=1, max_length=MAX_VALUE)]

"""Reads the project's own data files: YAML that must match a pydantic class.

Such a class is a pydantic dataclass with `config=STRICT`. Its numbers and switches are strict
(`Count`, `Number`, `StrictInt`, `StrictBool`): "5" is not a number, and yes is not a Boolean.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, TypeVar

import yaml
from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictFloat,
    StrictInt,
    TypeAdapter,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic_core import ErrorDetails

from benchmarks.errors import InvalidDataFile

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")

#: A process builds no validator for a class that it does not read: each takes milliseconds.
STRICT = ConfigDict(
    extra="forbid", allow_inf_nan=False, str_strip_whitespace=True, defer_build=True
)


def with_name(name: str, content: object) -> object:
    """A named entry, with its name as one of its values; raises ValueError."""
    if not isinstance(content, dict):
        return content
    if "name" in content:
        raise ValueError(f"{name} already has its name: `name` is not a key of it")
    return {"name": name, **content}


def _with_names(content: object) -> object:
    if not isinstance(content, dict):
        return content
    return {name: with_name(name, entry) for name, entry in content.items()}


def _as_written(value: object, check: ValidatorFunctionWrapHandler) -> object:
    check(value)
    return value


def distinct(by: str = "") -> AfterValidator:
    """Refuses duplicate values (entries by their attribute `by`)."""

    def check(values: tuple[object, ...]) -> tuple[object, ...]:
        keys = [getattr(one, by) if by else one for one in values]
        if twice := dict.fromkeys(f"{key}" for key in keys if keys.count(key) > 1):
            raise ValueError(f"{', '.join(twice)} is given twice")
        return values

    return AfterValidator(check)


#: A whole number above 0.
Count = Annotated[StrictInt, Field(ge=1)]
#: A number that stays an integer if written as one: 2**64 - 1 does not become a float.
Number = Annotated[StrictFloat, WrapValidator(_as_written)]
#: One or more.
Some = Annotated[tuple[V, ...], Field(min_length=1)]
#: An immutable mapping.
Frozen = Annotated[Mapping[K, V], AfterValidator(MappingProxyType)]
#: An immutable mapping of entries that have their key as their `name`.
Named = Annotated[Mapping[K, V], BeforeValidator(_with_names), AfterValidator(MappingProxyType)]


def read_data_file(path: Path, form: type[T], *, is_named: bool = False) -> T:
    """The content of a YAML file; with `is_named` its `name` is that of the file.

    Raises InvalidDataFile with the file's name and every fault with its place.
    """
    try:
        text = path.read_text(encoding="utf-8")
        content: object = yaml.load(text, Loader=_Loader)  # noqa: S506
        if is_named:
            content = with_name(path.stem, content)
        return TypeAdapter(form).validate_python(content)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else "?"
        raise InvalidDataFile(f"{path.name}: line {line}: {error.problem}") from error
    except ValidationError as error:
        raise InvalidDataFile(f"{path.name}: {faults(error)}") from error
    except (OSError, yaml.YAMLError, ValueError) as error:
        raise InvalidDataFile(f"{path.name}: {' '.join(f'{error}'.split())}") from error


_SHOWN = 8


def faults(error: ValidationError) -> str:
    """All errors with their places in one line: "hdd/read_iops: Input should be ..., not 0"."""
    found = list(dict.fromkeys(map(_fault, error.errors(include_url=False))))
    more = [f"and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
    return "; ".join(found[:_SHOWN] + more)


def _fault(one: ErrorDetails) -> str:
    place, given = "/".join(map(str, one["loc"])), one["input"]
    said = _PLAIN.get(one["type"], one["msg"]).removeprefix("Value error, ")
    if one["type"] not in (*_PLAIN, "value_error") and isinstance(given, str | int | float):
        said += f", not {given!r}"
    return f"{place}: {said}" if place else said


_PLAIN = {
    "missing": "is missing",
    "missing_argument": "is missing",
    "unexpected_keyword_argument": "is unknown",
    "dataclass_type": "must be a mapping of keys to values",
}


class _Loader(yaml.CSafeLoader):
    """The safe loader; refuses duplicate keys, and keys that are not text (8.10, on)."""

    def construct_mapping(
        self, node: yaml.MappingNode, deep: bool = False
    ) -> dict[Hashable, object]:
        seen: set[str] = set()
        for key, _ in node.value:
            problem = ""
            if key.tag != "tag:yaml.org,2002:str":
                problem = f"the key {key.value} must be text: put it in quotes"
            elif key.value in seen:
                problem = f"the key {key.value} is given twice"
            if problem:
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)

"""Reads the project's own data files: YAML that must match a pydantic class.

Such a class is a pydantic dataclass with `config=STRICT`. Its numbers and switches are strict
(`Count`, `Number`, `StrictInt`, `StrictBool`): "5" is not a number, and 1 is not a Boolean.
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
)

from benchmarks.errors import InvalidDataFile

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")

#: A process builds no validator for a class that it does not read: each takes milliseconds.
STRICT = ConfigDict(
    extra="forbid", allow_inf_nan=False, str_strip_whitespace=True, defer_build=True
)


def _with_names(content: object) -> object:
    """Give each entry of a mapping its key as its `name`."""
    if not isinstance(content, dict):
        return content
    return {
        key: {**entry, "name": key} if isinstance(entry, dict) else entry
        for key, entry in content.items()
    }


def distinct(by: str = "") -> AfterValidator:
    """Make a validator that refuses duplicate values (entries by their attribute `by`)."""

    def check(values: tuple[object, ...]) -> tuple[object, ...]:
        keys = [getattr(one, by) if by else one for one in values]
        if twice := dict.fromkeys(f"{key}" for key in keys if keys.count(key) > 1):
            raise ValueError(f"{', '.join(twice)} is given twice")
        return values

    return AfterValidator(check)


#: A whole number above 0.
Count = Annotated[StrictInt, Field(ge=1)]
#: A number that stays an integer if written as one: 2**64 - 1 does not become a float.
Number = StrictInt | StrictFloat
#: One or more.
Some = Annotated[tuple[V, ...], Field(min_length=1)]
#: An immutable mapping.
Frozen = Annotated[Mapping[K, V], AfterValidator(MappingProxyType)]
#: An immutable mapping of entries that have their key as their `name`.
Named = Annotated[Mapping[K, V], BeforeValidator(_with_names), AfterValidator(MappingProxyType)]


class _Loader(yaml.CSafeLoader):
    """The safe loader; refuses duplicate keys."""

    def construct_mapping(
        self, node: yaml.MappingNode, deep: bool = False
    ) -> dict[Hashable, object]:
        keys = [key.value for key, _ in node.value]
        if twice := {key for key in keys if keys.count(key) > 1}:
            problem = f"{', '.join(twice)} is given twice"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
        return super().construct_mapping(node, deep)


def read_data_file(path: Path, form: type[T], *, is_named: bool = False) -> T:
    """Return the content of a YAML file; with `is_named` its `name` is that of the file.

    Raises InvalidDataFile with the file's name and every fault with its place.
    """
    try:
        content: object = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)  # noqa: S506
        if is_named and isinstance(content, dict):
            content = {**content, "name": path.stem}
        return TypeAdapter(form).validate_python(content)
    except (OSError, yaml.YAMLError, ValueError) as error:
        what = faults(error) if isinstance(error, ValidationError) else f"{error}"
        raise InvalidDataFile(f"{path.name}: {' '.join(what.split())}") from error


def faults(error: ValidationError) -> str:
    """Return all errors with their places in one line: "hdd/read_iops: Input should be ..."."""
    found = error.errors(include_url=False)
    told = [("/".join(map(str, one["loc"])), _PLAIN.get(one["type"], one["msg"])) for one in found]
    text = "; ".join(": ".join(filter(None, one)) for one in told)
    return text.replace("Value error, ", "")


_PLAIN = {"missing": "is missing", "unexpected_keyword_argument": "is unknown"}

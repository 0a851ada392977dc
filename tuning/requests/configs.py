"""Requests that carry a my.cnf."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
)

from tuning.catalogue.knob import Durability
from tuning.catalogue.target import parse_traits
from tuning.configs.candidates import MAX_NAME
from tuning.configs.files.cnf import MAX_CONFIG_BYTES
from tuning.configs.translation.origin import ANY_VERSION, Origin
from tuning.requests.fields import Cli, Request

OLDER = "older"
MAX_CONNECTIONS = 10_000


def origin_of(translate_from: str) -> Origin | None:
    """The server that `translate_from` names, None for "". Raises ValueError for other words."""
    if not translate_from:
        return None
    return ANY_VERSION if translate_from == OLDER else parse_traits(translate_from)


def _origin(text: str) -> str:
    origin_of(text)
    return text


def _upper(value: object) -> object:
    return value.upper() if isinstance(value, str) else value


#: The server that files were written for.
TranslateFrom = Annotated[
    str, Field(max_length=64), AfterValidator(_origin), Cli("translate-from", "SERVER")
]
#: The least safe class that is accepted.
LeastSafe = Annotated[Durability, BeforeValidator(_upper, json_schema_input_type=Durability)]
ORIGIN_HELP = (
    'Server that the files were written for, such as "mysql 5.7"; "older" for an unknown older '
    "version. Translation renames, converts or drops lines that changed since then. Without it, "
    "lines that this server does not support are refused."
)


class ConfigText(Request):
    """A my.cnf under the name that it gets in a study.

    Bytes of a file that are not UTF-8 are kept, so that its import can name their line.
    """

    model_config = ConfigDict(str_strip_whitespace=False)

    name: str = Field(min_length=1, max_length=MAX_NAME)
    text: str = Field(
        max_length=MAX_CONFIG_BYTES,
        description="Contents of a my.cnf; only tuning variables of [mysqld] are accepted.",
    )

    @classmethod
    def of(cls, name: str, data: bytes) -> Self:
        """The config of a file's bytes."""
        return cls(name=name, text=data.decode(errors="surrogateescape"))

    @property
    def data(self) -> bytes:
        """The bytes of the file."""
        return self.text.encode(errors="surrogateescape")

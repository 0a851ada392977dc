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
from tuning.errors import InvalidConfig, Problem
from tuning.requests.fields import Cli, Request, read_request

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
    """A my.cnf under the name that it gets in a study."""

    model_config = ConfigDict(str_strip_whitespace=False)

    name: str = Field(min_length=1, max_length=MAX_NAME)
    text: str = Field(
        max_length=MAX_CONFIG_BYTES,
        description="Contents of a my.cnf; only tuning variables of [mysqld] are accepted.",
    )

    @classmethod
    def of(cls, name: str, data: bytes) -> Self:
        """Return the config of a file. Raises InvalidConfig and InvalidRequest."""
        return read_request(cls, {"name": name, "text": text_of(name, data)})

    @property
    def data(self) -> bytes:
        """The bytes of the file."""
        return self.text.encode()


def text_of(name: str, data: bytes) -> str:
    """Return a file's text. Raises InvalidConfig for what is no text, with the line."""
    if len(data) > MAX_CONFIG_BYTES:
        reason = f"larger than {MAX_CONFIG_BYTES // 1024} KiB; this is not a my.cnf"
        raise InvalidConfig([Problem(name, None, "", reason)])
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise InvalidConfig([Problem(name, line, "", "has a null character")])
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidConfig([Problem(name, line, "", "is not UTF-8 text")]) from None

"""Requests that carry a text of a user's server: a my.cnf, or the output for its profile."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, StrictBool, model_validator

from tuning.catalogue.target import ANY_VERSION, Origin, parse_traits
from tuning.configs.candidates import MAX_NAME
from tuning.configs.parse import MAX_CONFIG_BYTES, decode_cnf
from tuning.errors import InvalidConfig, Problem
from tuning.requests.fields import Cli, Request, Size, read_request

MAX_OUTPUT_BYTES = 1024 * 1024


def origin_of(translate_from: str) -> Origin:
    """Return the server that `translate_from` names; "" is any. Raises ValueError."""
    return parse_traits(translate_from) if translate_from else ANY_VERSION


ORIGIN_HELP = (
    'Server that the files were written for, such as "mysql 5.7"; if omitted, any older version. '
    "Lines that changed since then are renamed, converted or removed."
)


class ConfigText(Request):
    """A my.cnf under the name that it gets in a study."""

    model_config = ConfigDict(str_strip_whitespace=False)

    name: str = Field(min_length=1, max_length=MAX_NAME)
    text: str = Field(max_length=MAX_CONFIG_BYTES, description="Contents of a my.cnf, as it is.")
    encoding: Literal["utf-8", "utf-16-le", "utf-16-be", "latin-1"] = Field(
        "utf-8", description="Encoding of the original file; an exported file has it again."
    )

    @model_validator(mode="after")
    def _can_be_written(self) -> Self:
        try:
            self.text.encode(self.encoding)
        except UnicodeEncodeError:
            raise ValueError(f"the text cannot be written as {self.encoding}") from None
        return self

    @classmethod
    def of(cls, name: str, data: bytes) -> Self:
        """Return the config of a file. Raises InvalidConfig and InvalidRequest."""
        return read_request(cls, config_of(name, data))

    @property
    def data(self) -> bytes:
        """The bytes of the file."""
        return self.text.encode(self.encoding)


def config_of(name: str, data: bytes) -> dict[str, str]:
    """Return a file as a ConfigText is written. Raises InvalidConfig for what is no text."""
    if len(data) > MAX_CONFIG_BYTES:
        reason = f"larger than {MAX_CONFIG_BYTES // 1024} KiB; this is not a my.cnf"
        raise InvalidConfig([Problem(name, None, "", reason)])
    text, encoding = decode_cnf(data)
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InvalidConfig([Problem(name, line, "", "has a null character")])
    return {"name": name, "text": text, "encoding": encoding}


class ProfileRequest(Request):
    """The output of the script, and what no server tells about itself."""

    name: Annotated[str, Cli("name", "NAME")] = Field(
        "", max_length=60, title="Name", description="Name of the profile. Default: the server."
    )
    text: Annotated[str, Cli("")] = Field(
        title="Output of the script",
        description="Output of the script, as a client prints or exports it.",
        min_length=1,
    )
    memory: Annotated[Size | None, Cli("memory", "SIZE")] = Field(
        None,
        title="Memory of the server",
        description="Memory of the server's host, such as 48G as in a my.cnf, or 48GB "
        "(10^9 bytes).",
    )
    hides_names: Annotated[StrictBool, Cli("hide-names")] = Field(
        False,
        title="Remove schema names",
        description="Store numbers in place of schema names. Host names are never stored.",
    )

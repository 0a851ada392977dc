"""The request to store a profile of a real server."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StrictBool

from tuning.requests.fields import Cli, Request, Size

MAX_OUTPUT_BYTES = 1024 * 1024


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

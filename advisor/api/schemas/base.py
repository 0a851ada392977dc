"""The base of the API's schemas."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

#: The id of a row in a parameter: what the databases can look for.
Id = Annotated[int, Field(ge=1, le=2**63 - 1)]


class Body(BaseModel):
    """The body of a request; an unknown field is refused, because it is a mistyped one."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

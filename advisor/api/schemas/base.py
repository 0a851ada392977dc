"""What the API's schemas have in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Body(BaseModel):
    """The body of a request; an unknown field is refused, because it is a mistyped one."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

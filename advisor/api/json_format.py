"""How the API reads and writes JSON."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from django.http import HttpRequest
from django.utils.datastructures import MultiValueDict
from ninja.errors import HttpError
from ninja.parser import Parser
from ninja.renderers import BaseRenderer
from pydantic_core import to_json


class Renderer(BaseRenderer):
    """Write JSON; an infinite bound of an estimate is null."""

    media_type = "application/json"

    def render(self, request: HttpRequest, data: Any, *, response_status: int) -> bytes:
        return to_json(data, inf_nan_mode="null")


class StrictParser(Parser):
    """Refuse NUL characters, which PostgreSQL cannot store, and numbers that are not finite."""

    def parse_body(self, request: HttpRequest) -> Any:
        """Ninja answers any exception of this with status 400."""
        data = json.loads(request.body, parse_constant=_refuse_constant)
        if "\\u0000" in json.dumps(data).replace("\\\\", ""):
            raise ValueError("NUL character")
        return data

    def parse_querydict(
        self, data: MultiValueDict[str, str], list_fields: list[str], request: HttpRequest
    ) -> dict[str, Any]:
        if any("\0" in value for _, values in data.lists() for value in values):
            raise HttpError(400, "A parameter has a NUL character.")
        return super().parse_querydict(data, list_fields, request)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)

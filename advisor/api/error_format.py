"""The format of all errors: `{"error": {"code", "message", "field"?, "problems"?}}`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from ninja import Field, NinjaAPI, Schema
from ninja.errors import HttpError, Throttled, ValidationError

from advisor.access.tokens import InvalidToken
from advisor.responses import error_body, too_large
from benchmarks.errors import ExpectedError
from tuning.errors import InvalidConfig, Problem

#: Codes of refusals that end by themselves: answered with 409.
ASK_LATER = {"probe_running", "study_running", "test_waiting"}
ASK_AGAIN_S = 10
CODES = {
    400: "bad_request",
    401: "not_authenticated",
    403: "permission_denied",
    404: "not_found",
    405: "method_not_allowed",
    429: "throttled",
}


class ErrorDetail(Schema):
    code: str = Field(description="A stable word for programs.")
    message: str = Field(description="One line for people.")
    field: str = Field("", description="Path of the request's field, such as configs[0].text.")
    problems: list[Problem] = Field([], description="Refused lines of configs.")


class Error(Schema):
    error: ErrorDetail


def error_response(status: int, code: str, message: str, **more: Any) -> JsonResponse:
    """Return an error; `more` are its field and problems, left out where empty."""
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    return JsonResponse(error_body(code, message, **more), status=status, headers=headers)


def handle_errors(api: NinjaAPI) -> None:
    """Make ninja answer every error of a request in this format; a bug stays Django's."""
    api.add_exception_handler(ExpectedError, _refused)
    api.add_exception_handler(InvalidToken, _invalid_token)
    api.add_exception_handler(ValidationError, _invalid)
    api.add_exception_handler(HttpError, _http_error)
    api.add_exception_handler(Http404, _not_found)
    api.add_exception_handler(RequestDataTooBig, _too_large)
    api.add_exception_handler(Exception, _bug)


def _refused(request: HttpRequest, error: Any) -> HttpResponse:
    problems = error.problems if isinstance(error, InvalidConfig) else ()
    is_temporary = error.code in ASK_LATER
    response = error_response(
        409 if is_temporary else 400,
        error.code,
        str(error),
        field=error.field,
        problems=[asdict(problem) for problem in problems],
    )
    if is_temporary:
        response["Retry-After"] = str(ASK_AGAIN_S)
    return response


def _invalid_token(request: HttpRequest, error: Any) -> HttpResponse:
    return error_response(401, error.code, str(error))


def _invalid(request: HttpRequest, error: Any) -> HttpResponse:
    """Name every invalid field in the message and the first one in `field`."""
    found = [(_field(one["loc"]), one["msg"]) for one in error.errors]
    message = "; ".join(f"{field}: {text}" if field else text for field, text in found)
    return error_response(400, "invalid_request", message, field=found[0][0])


def _field(location: Sequence[int | str]) -> str:
    """Return the path of a field: `("body", "body", "configs", 0, "text")` as configs[0].text.

    Ninja puts the source first. The name of the operation's argument comes after it for a body,
    and for an item of a list among parameters.
    """
    names_argument = location[0] == "body" or isinstance(location[-1], int)
    parts = location[2:] if names_argument else location[1:]
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    return path.removeprefix(".")


def _http_error(request: HttpRequest, error: Any) -> HttpResponse:
    status = error.status_code
    response = error_response(status, CODES.get(status, "error"), str(error))
    if isinstance(error, Throttled) and error.wait is not None:
        response["Retry-After"] = str(math.ceil(error.wait))
    return response


def _not_found(request: HttpRequest, error: Any) -> HttpResponse:
    return error_response(404, "not_found", str(error) or "There is no such row.")


def _too_large(request: HttpRequest, error: Any) -> HttpResponse:
    return error_response(400, "request_too_large", too_large())


def _bug(request: HttpRequest, error: Any) -> HttpResponse:
    raise error

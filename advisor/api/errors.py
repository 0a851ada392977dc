"""The format of all errors of the API: `{"error": {"code", "message", "details"?}}`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.http import UnreadablePostError
from rest_framework import exceptions
from rest_framework.renderers import JSONRenderer
from rest_framework.response import Response
from rest_framework.views import exception_handler

from advisor.responses import error_body, too_large
from benchmarks.errors import ExpectedError
from tuning.errors import InvalidConfig, InvalidRequest

# Codes of temporary refusals.
ASK_LATER = {"probe_running", "study_running", "test_waiting"}
#: Seconds after which one who was told to ask later does so.
ASK_AGAIN_S = 10


class ApiError(exceptions.APIException):
    """An error with an own code; `code` is a stable word for programs.

    `retry_after`: the seconds after which it is worth while to ask again, sent as `Retry-After`.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        details: Any = None,
        *,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message, code)
        self.status_code = status
        self.details = details
        self.wait = retry_after


def refusal(error: ExpectedError, names: Mapping[str, str] | None = None) -> ApiError:
    """A refusal of a service as an error of the request (400, or 409: try again later).

    `details` names the field as for an invalid request. `names` maps the error's field names to
    those of this request, if they differ.
    """
    faults = error.faults if isinstance(error, InvalidRequest) else [(error.field, str(error))]
    details: Any = None
    for field, reason in faults:
        named = (names or {}).get(field, field)
        if named:
            details = _with_detail(details or {}, re.findall(r"\w+", named), reason)
    if isinstance(error, InvalidConfig):
        details = {
            "problems": [
                {
                    "config": problem.source,
                    "line": problem.line,
                    "option": problem.name,
                    "reason": problem.reason,
                }
                for problem in error.problems
            ]
        }
    if error.code in ASK_LATER:
        return ApiError(409, error.code, str(error), details, retry_after=ASK_AGAIN_S)
    return ApiError(400, error.code, str(error), details)


def _with_detail(details: dict[str, Any], path: list[str], reason: str) -> dict[str, Any]:
    """The details with the reason at the path of a field."""
    first, *rest = path
    there = details.get(first)
    if not rest:
        return details | {first: [*(there if isinstance(there, list) else []), reason]}
    inner = there if isinstance(there, dict) else {}
    return details | {first: _with_detail(inner, rest, reason)}


@contextmanager
def refusals(names: Mapping[str, str]) -> Iterator[None]:
    """Make what services refuse in this block errors of the request; `names` as for `refusal`."""
    try:
        yield
    except ExpectedError as error:
        raise refusal(error, names) from error


def handle_exception(error: Exception, context: dict[str, Any]) -> Response | None:
    """Django REST framework's EXCEPTION_HANDLER; None leaves a bug to Django (status 500)."""
    if isinstance(error, ExpectedError):
        error = refusal(error)
    if isinstance(error, UnreadablePostError):
        error = ApiError(408, "request_too_slow", "The request took too long to arrive.")
    if isinstance(error, RequestDataTooBig):
        # Otherwise Django would respond with a page.
        error = ApiError(400, "request_too_large", too_large())
    response = exception_handler(error, context)
    if response is None:
        return None
    # Errors are always JSON, even if the successful response is text or YAML.
    if request := context.get("request"):
        request.accepted_renderer = JSONRenderer()
        request.accepted_media_type = JSONRenderer.media_type
    if isinstance(error, ApiError):
        response.data = error_body(_code(error), str(error.detail), error.details)
    elif isinstance(error, exceptions.ValidationError):
        response.data = error_body(
            "invalid_request", "The request has invalid fields.", response.data
        )
    elif isinstance(error, exceptions.APIException):
        response.data = error_body(_code(error), str(error.detail))
    else:
        # Django's own Http404 and PermissionDenied, which the framework translates.
        code = {404: "not_found", 403: "permission_denied"}.get(response.status_code, "error")
        response.data = error_body(code, str(response.data.get("detail", code)))
    return response


def _code(error: exceptions.APIException) -> str:
    codes = error.get_codes()
    return codes if isinstance(codes, str) else error.default_code

"""Who calls the API, and whether the rules let them: decided before the body is read."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpRequest, HttpResponse
from ninja.errors import AuthorizationError
from ninja.security import HttpBearer
from ninja.security import SessionAuth as NinjaSessionAuth

from advisor.access.callers import Refused, caller_of, check
from advisor.access.models import ApiToken
from advisor.access.passwords import MUST_CHANGE
from advisor.access.rules import rule_for
from advisor.access.tokens import InvalidToken, token_for


class TokenAuth(HttpBearer):
    """Accept `Authorization: Bearer <token>`."""

    def authenticate(self, request: HttpRequest, token: str) -> ApiToken | None:
        """Raises AuthorizationError, InvalidToken."""
        found = token_for(request.headers["Authorization"])
        if found is not None:
            request.user = found.user
            # `caller_of` reads it; ninja itself sets it after this method only.
            request.auth = found  # type: ignore[attr-defined]
            check_access(request)
        return found


class SessionAuth(NinjaSessionAuth):
    """Accept the session of a browser, with its CSRF token."""

    def __call__(self, request: HttpRequest) -> AbstractBaseUser | None:
        """Raises AuthorizationError."""
        if not request.user.is_authenticated:
            return None
        if MUST_CHANGE in request.session:
            raise AuthorizationError(message="Choose a password of your own first, on the pages.")
        # The CSRF check may read a form, so the rules come first.
        check_access(request)
        user: AbstractBaseUser | None = super().__call__(request)
        return user


def for_programs(view: Callable[[HttpRequest], HttpResponse]) -> Any:
    """Let tokens and sessions in to a view outside of the API."""

    @wraps(view)
    def checked(request: HttpRequest) -> HttpResponse:
        try:
            if TokenAuth()(request) or SessionAuth()(request):
                return view(request)
        except InvalidToken as error:
            return HttpResponse(str(error), status=401)
        except AuthorizationError as error:
            return HttpResponse(str(error), status=403)
        return HttpResponse("Send a token.", status=401)

    return checked


def check_access(request: HttpRequest) -> None:
    """Hold the request against the rule of its address and method.

    Raises AuthorizationError.
    """
    match = request.resolver_match
    rule = rule_for(match.view_name, request.method or "") if match else None
    if match is None or rule is None:
        raise AuthorizationError(message="This address is for nobody.")
    try:
        check(caller_of(request), rule, match.kwargs)
    except Refused as refused:
        raise AuthorizationError(message=str(refused)) from refused

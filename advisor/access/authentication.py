"""How the API learns who calls: by a token, or by a browser's session."""

from __future__ import annotations

from typing import Any

from django.http import QueryDict
from django.utils.datastructures import MultiValueDict
from drf_spectacular import authentication as schemes
from drf_spectacular.plumbing import build_bearer_security_scheme_object
from rest_framework import authentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from advisor.access.models import ApiToken
from advisor.access.tokens import InvalidToken, token_for


class TokenAuthentication(authentication.BaseAuthentication):
    """Read `Authorization: Bearer ...`."""

    def authenticate(self, request: Request) -> tuple[Any, ApiToken] | None:
        """Raises AuthenticationFailed."""
        try:
            token = token_for(request.META.get("HTTP_AUTHORIZATION", ""))
        except InvalidToken as error:
            raise AuthenticationFailed(str(error), error.code) from error
        return None if token is None else (token.user, token)

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class SessionAuthentication(authentication.SessionAuthentication):
    """A browser's session. The CSRF token is taken from its header only: to look for it in a
    form, the body would be read before the caller's role is known.
    """

    def enforce_csrf(self, request: Request) -> None:
        bare = request._request
        bare._post, bare._files = QueryDict(), MultiValueDict()
        super().enforce_csrf(bare)


class TokenScheme(schemes.TokenScheme):  # type: ignore[no-untyped-call]
    """The OpenAPI document's words for it; drf-spectacular finds them by the class."""

    target_class = "advisor.access.authentication.TokenAuthentication"
    match_subclasses = False
    priority = 0

    def get_security_definition(self, auto_schema: Any) -> Any:
        return build_bearer_security_scheme_object("Authorization", "Bearer")


class SessionScheme(schemes.SessionScheme):  # type: ignore[no-untyped-call]
    """The same for sessions."""

    target_class = "advisor.access.authentication.SessionAuthentication"

"""How the API learns who calls: by a token, or by a browser's session."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models import Q
from django.http import QueryDict
from django.utils import timezone
from django.utils.datastructures import MultiValueDict
from drf_spectacular import authentication as schemes
from drf_spectacular.plumbing import build_bearer_security_scheme_object
from knox.auth import TokenAuthentication as KnoxAuthentication
from knox.crypto import hash_token
from rest_framework import authentication
from rest_framework.exceptions import AuthenticationFailed, Throttled
from rest_framework.request import Request

from advisor.access.addresses import network_of
from advisor.access.limits import WRONG_TOKENS
from advisor.access.models import ApiToken

# The last use is stored to the minute: not every request writes.
USE_KNOWN_TO = timedelta(minutes=1)


class TokenAuthentication(KnoxAuthentication):
    """`Authorization: Token ...`. An expired token stays, for its user to see."""

    def authenticate(self, request: Request) -> tuple[Any, ApiToken] | None:
        """Raises AuthenticationFailed; Throttled where an address tries many wrong tokens."""
        try:
            found: tuple[Any, ApiToken] | None = super().authenticate(request)
        except AuthenticationFailed as error:
            # After the look-up, which costs little: no neighbour shuts a valid token out.
            address = network_of(request.META.get("REMOTE_ADDR", ""))
            if wait := WRONG_TOKENS.wait(address):
                raise Throttled(wait) from error
            WRONG_TOKENS.note(address)
            raise
        return found

    def authenticate_credentials(self, token: bytes) -> tuple[Any, ApiToken]:
        """Raises AuthenticationFailed."""
        digest = hash_token(token.decode("latin-1"))
        found = ApiToken.objects.select_related("user").filter(pk=digest).first()
        if found is None:
            raise AuthenticationFailed("Invalid token.")
        if found.is_expired:
            raise AuthenticationFailed("The token has expired.")
        now = timezone.now()
        is_old = Q(last_used_at=None) | Q(last_used_at__lt=now - USE_KNOWN_TO)
        if found.last_used_at is None or found.last_used_at < now - USE_KNOWN_TO:
            ApiToken.objects.filter(is_old, pk=digest).update(last_used_at=now)
        user, _ = self.validate_user(found)
        return user, found


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
        return build_bearer_security_scheme_object("Authorization", "Token")


class SessionScheme(schemes.SessionScheme):  # type: ignore[no-untyped-call]
    """The same for sessions."""

    target_class = "advisor.access.authentication.SessionAuthentication"

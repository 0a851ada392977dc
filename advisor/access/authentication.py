"""How the API learns who calls."""

from __future__ import annotations

from django.http import QueryDict
from django.utils.datastructures import MultiValueDict
from drf_spectacular import authentication as schemes
from rest_framework import authentication
from rest_framework.request import Request


class SessionAuthentication(authentication.SessionAuthentication):
    """A browser's session. The CSRF token is taken from its header only: to look for it in a
    form, the body would be read before the caller's role is known.
    """

    def enforce_csrf(self, request: Request) -> None:
        bare = request._request
        bare._post, bare._files = QueryDict(), MultiValueDict()
        super().enforce_csrf(bare)


class SessionScheme(schemes.SessionScheme):  # type: ignore[no-untyped-call]
    """The OpenAPI document's words for it; drf-spectacular finds them by the class."""

    target_class = "advisor.access.authentication.SessionAuthentication"

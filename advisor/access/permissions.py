"""The API's permission: the same rules as for pages."""

from __future__ import annotations

from typing import Any

from rest_framework.exceptions import MethodNotAllowed, PermissionDenied
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from advisor.access.callers import Refused, caller_of, check
from advisor.access.passwords import MUST_CHANGE
from advisor.access.rules import rule_for


class RolePermission(BasePermission):
    """DEFAULT_PERMISSION_CLASSES. Called before the body is read.

    Raises PermissionDenied with the reason, MethodNotAllowed.
    """

    def has_permission(self, request: Request, view: Any) -> bool:
        match = request._request.resolver_match
        rule = rule_for(match.view_name, request.method or "") if match else None
        if rule is None:
            raise MethodNotAllowed(request.method)
        if rule.needs is not None and not request.user.is_authenticated:
            return False
        if rule.needs is not None and MUST_CHANGE in request._request.session:
            raise PermissionDenied("Choose a password of your own first, on the pages.")
        try:
            check(caller_of(request), rule, view.kwargs)
        except Refused as refused:
            raise PermissionDenied(str(refused)) from refused
        return True

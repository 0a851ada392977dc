"""Makes API tokens and ends them."""

from __future__ import annotations

from datetime import timedelta
from typing import cast

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from advisor.access.models import ROLES, ApiToken, Scope
from advisor.access.roles import Role, role_of
from advisor.errors import AdvisorError

# Enough for anybody; without a limit an account could fill the database.
MAX_TOKENS = 50
MAX_DAYS = 3650
MAX_TOKEN_NAME = 100


class TokenRefused(AdvisorError):
    """The token cannot be made; `field` is what it is about."""

    def __init__(self, code: str, message: str, field: str) -> None:
        super().__init__(code, message)
        self.field = field


def allowed_scopes(user: User) -> list[Scope]:
    """The scopes that do not go beyond the user's role."""
    role = role_of(user)
    return [scope for scope, needed in ROLES.items() if role and role.reaches(needed)]


def scope_of(role: Role) -> Scope:
    return next(scope for scope, granted in ROLES.items() if granted == role)


def create_token(user: User, name: str, scope: Scope, days: int | None = None) -> str:
    """The new token, which is stored nowhere. It expires after `days`, None: never.

    Raises TokenRefused.
    """
    if scope not in allowed_scopes(user):
        raise TokenRefused(
            "scope_too_large",
            f"a token of the scope {scope.value} can do more than {user.get_username()}, "
            f"who is {role_of(user)}",
            "scope",
        )
    if not name.strip() or len(name) > MAX_TOKEN_NAME or not name.isprintable():
        text = f"the name of a token has 1 to {MAX_TOKEN_NAME} characters that can be printed"
        raise TokenRefused("invalid_name", text, "name")
    if days is not None and not 1 <= days <= MAX_DAYS:
        raise TokenRefused(
            "invalid_days", f"a token ends after 1 to {MAX_DAYS} days, or never", "days"
        )
    if ApiToken.objects.filter(user=user).count() >= MAX_TOKENS:
        raise TokenRefused("too_many", f"nobody has more than {MAX_TOKENS} tokens", "name")
    expiry = None if days is None else timedelta(days=days)
    try:
        with transaction.atomic():
            _, token = ApiToken.objects.create(user=user, expiry=expiry, name=name, scope=scope)
    except IntegrityError as error:
        text = f"there is a token {name!r} already"
        raise TokenRefused("name_taken", text, "name") from error
    return cast(str, token)

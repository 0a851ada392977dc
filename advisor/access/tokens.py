"""Make API tokens, and find the token of a request."""

from __future__ import annotations

import secrets
from datetime import timedelta
from hashlib import sha256

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone

from advisor.access.models import ApiToken
from advisor.access.roles import Role, role_of
from advisor.errors import AdvisorError

# Enough for anybody; without a limit an account could fill the database.
MAX_TOKENS = 50
MAX_DAYS = 3650
MAX_TOKEN_NAME = 100
#: Programs that look for secrets in published files find tokens by it.
PREFIX = "oltp_"
_SECRET_BYTES = 32
_SHOWN_DIGITS = 10
#: `last_used_at` is stored to the minute: not every request writes.
_USE_KNOWN_TO = timedelta(minutes=1)


class TokenRefused(AdvisorError):
    """The token cannot be made; `field` is what it is about."""

    def __init__(self, code: str, message: str, field: str) -> None:
        super().__init__(code, message)
        self.field = field


class InvalidToken(AdvisorError):
    """A request's token is not accepted: invalid_token, token_expired or account_is_off."""


def token_for(header: str) -> ApiToken | None:
    """Return the token of an `Authorization` header, None where the header has none.

    `token.user` is loaded. Raises InvalidToken.
    """
    scheme, _, secret = header.partition(" ")
    if scheme.lower() != "bearer":
        return None
    rows = ApiToken.objects.select_related("user")
    token = rows.filter(digest=_digest(secret.strip())).first()
    if token is None:
        raise InvalidToken("invalid_token", "The token is not valid.")
    if token.is_expired:
        raise InvalidToken("token_expired", "The token has expired.")
    if not token.user.is_active:
        raise InvalidToken("account_is_off", "The account of this token is switched off.")
    now = timezone.now()
    if token.last_used_at is None or token.last_used_at < now - _USE_KNOWN_TO:
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
    return token


def _digest(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()


def allowed_roles(user: User) -> list[Role]:
    """The roles that do not go beyond the user's own."""
    own = role_of(user)
    return [role for role in Role if own and own.reaches(role)]


def create_token(user: User, name: str, role: Role, days: int | None = None) -> str:
    """Return a new token, whose text is stored nowhere. It expires after `days`, None: never.

    Raises TokenRefused.
    """
    if role not in allowed_roles(user):
        raise TokenRefused(
            "role_too_large",
            f"a token of the role {role.value} can do more than {user.get_username()}, "
            f"who is {role_of(user)}",
            "role",
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
    secret = f"{PREFIX}{secrets.token_hex(_SECRET_BYTES)}"
    now = timezone.now()
    token = ApiToken(
        user=user,
        name=name,
        prefix=secret[: len(PREFIX) + _SHOWN_DIGITS],
        digest=_digest(secret),
        role=role,
        expires_at=None if days is None else now + timedelta(days=days),
    )
    try:
        with transaction.atomic():
            # A new token may have the name of one that has expired.
            ApiToken.objects.filter(user=user, name=name, expires_at__lte=now).delete()
            token.save()
    except IntegrityError as error:
        text = f"there is a token {name!r} already"
        raise TokenRefused("name_taken", text, "name") from error
    return secret

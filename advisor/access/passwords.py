"""The end of sessions after a changed password, and the first account's random password."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from advisor.access.models import ApiToken, PasswordDemand
from advisor.access.roles import Role, set_role

FIRST_NAME = "admin"
# In the session of who logged in with a password that is to be changed.
MUST_CHANGE = "must_change_password"


class EndsTokens:
    """A password validator that accepts everything: Django tells it of changed passwords."""

    def validate(self, password: str, user: Any = None) -> None:
        """Accept it."""

    def get_help_text(self) -> str:
        return "A new password revokes all API tokens of the account."

    def password_changed(self, password: str, user: Any = None) -> None:
        """End the tokens of the account; its password is its own from now on."""
        if user is None:
            return
        ApiToken.objects.filter(user=user).delete()
        PasswordDemand.objects.filter(user=user).delete()
        if user.get_username() == FIRST_NAME:
            _first_password_file().unlink(missing_ok=True)


def demand_change(user: User) -> None:
    """The password of `user` is to be changed at the next log-in."""
    PasswordDemand.objects.get_or_create(user=user)


def note_demand(request: Any, user: User, **_: Any) -> None:
    """A receiver of `user_logged_in`: the session knows that the password is to be changed."""
    if PasswordDemand.objects.filter(user=user).exists():
        request.session[MUST_CHANGE] = True


def make_first_account() -> Path | None:
    """Make the first account, an administrator, where there is no account yet.

    Returns the file that its random password is in, for this user only, until it is changed.
    Without the file there is no account either: nobody would know its password.
    """
    with transaction.atomic():
        if User.objects.exists():
            return path if (path := _first_password_file()).is_file() else None
        password = secrets.token_urlsafe(12)
        user = User.objects.create_user(FIRST_NAME, password=password)
        set_role(user, Role.ADMINISTRATOR)
        demand_change(user)
        return _write_first_password(password)


def _write_first_password(password: str) -> Path:
    path = _first_password_file()
    with suppress(FileNotFoundError):
        path.unlink()
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with open(descriptor, "w") as file:
        file.write(f"{password}\n")
    return path


def _first_password_file() -> Path:
    return Path(settings.PRIVATE_DIR / "first-password")

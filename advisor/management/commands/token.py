"""`manage.py token`: API tokens from the command line: create, list, revoke."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandParser
from django.db import transaction

from advisor.access.models import ApiToken
from advisor.access.roles import Role, role_of, set_role
from advisor.access.tokens import create_token
from advisor.errors import AdvisorError
from advisor.management.command import AdvisorCommand


class Command(AdvisorCommand):
    help = "Create, list or revoke API tokens. Exits with 1 if it is refused."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        create = actions.add_parser(
            "create",
            help="print a new token of --user, or else of an account called NAME that cannot log "
            "in with a password; that account is made if there is none",
        )
        create.add_argument("--role", required=True, choices=Role.values)
        create.add_argument("--user", default="", help="the account that the token acts for")
        create.add_argument("--days", type=int, help="days after which it expires; default: never")
        actions.add_parser("list", help="list all tokens, without the tokens themselves")
        revoke = actions.add_parser("revoke", help="end a token")
        revoke.add_argument("--user", default="", help="its account; default: NAME")
        for action in (create, revoke):
            action.add_argument("name", metavar="NAME", help="name of the token")

    def run(self, options: dict[str, Any]) -> None:
        actions = {"create": self._create, "list": self._list, "revoke": self._revoke}
        actions[options["action"]](options)

    def _create(self, options: dict[str, Any]) -> None:
        role, name = Role(options["role"]), options["name"]
        with transaction.atomic():
            user = _user(options["user"]) if options["user"] else _machine(name, role)
            token = create_token(user, name, role, options["days"])
        self.stdout.write(token)

    def _list(self, options: dict[str, Any]) -> None:
        for token in ApiToken.objects.select_related("user").order_by("user__username", "name"):
            ends = f"until {token.expires_at:%Y-%m-%d}" if token.expires_at else "no expiry"
            used = f"{token.last_used_at:%Y-%m-%d %H:%M %Z}" if token.last_used_at else "never"
            words = (token.user.get_username(), token.name, token.role, ends, f"last used {used}")
            self.stdout.write("  ".join(words))

    def _revoke(self, options: dict[str, Any]) -> None:
        user = _user(options["user"] or options["name"])
        ended, _ = ApiToken.objects.filter(user=user, name=options["name"]).delete()
        if not ended:
            raise AdvisorError("no_token", f"{user} has no token {options['name']!r}")


def _user(name: str) -> User:
    found = User.objects.filter(username=name).first()
    if found is None:
        raise AdvisorError("no_account", f"there is no account {name!r}")
    return found


def _machine(name: str, role: Role) -> User:
    """The account of a program: nobody logs in with it. An existing one keeps its role."""
    user, is_new = User.objects.get_or_create(username=name)
    if is_new:
        user.set_unusable_password()
        user.save()
        set_role(user, role)
    elif user.has_usable_password():
        raise AdvisorError(
            "account_of_a_person",
            f"{name!r} is an account with a password: name the account with --user {name}",
        )
    elif role_of(user) is None:
        raise AdvisorError("account_is_off", f"the account {name!r} is switched off")
    return user

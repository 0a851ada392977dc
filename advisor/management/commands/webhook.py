"""`manage.py webhook`: URLs notified of ended studies and gates: add, list, test, remove."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandParser
from django.db import transaction

from advisor.access.roles import Role, role_of
from advisor.errors import AdvisorError
from advisor.management.refusals import ends_when_refused
from advisor.processes.database import prepare_database
from advisor.webhooks.hooks import create_webhook, rests_because, send_test, switch
from advisor.webhooks.models import Delivery, Event, Webhook
from advisor.webhooks.posting import TIMEOUT_S
from advisor.webhooks.sending import GAPS

#: The web process looks every few seconds, and an attempt may take all of its time.
TEST_PATIENCE_S: Final = TIMEOUT_S + 20.0
_LOOK_S: Final = 0.5
_STDIN: Final = "-"


class Command(BaseCommand):
    help = (
        "Add, list, test, switch or remove webhooks, of any account. Exits with 1 if it is "
        "refused, or if a test does not arrive."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        add = actions.add_parser("add", help="notify a URL; prints the secret, or writes it")
        add.add_argument("url", metavar="URL", help="'-' reads it from standard input")
        add.add_argument(
            "--user", required=True, help="the account whose studies and gates it hears of"
        )
        add.add_argument(
            "--event",
            action="append",
            choices=Event.values,
            help="may be repeated (default: all of them)",
        )
        add.add_argument(
            "--of-everybody",
            action="store_true",
            help="also of what others started, or commands; --user is an administrator",
        )
        add.add_argument(
            "--site", help="where people find the pages, for the links in its messages"
        )
        add.add_argument(
            "--secret-file",
            type=Path,
            metavar="FILE",
            help="a new file for the secret, which only you can read (default: print it)",
        )
        actions.add_parser("list", help="all webhooks, and how the last message to each went")
        for name, text in (
            ("test", "have a message of the type webhook.test sent, and wait for the answer"),
            ("off", "send nothing; what ends meanwhile is not sent later"),
            ("on", "send again"),
            ("remove", "delete it and the list of its messages"),
        ):
            action = actions.add_parser(name, help=text)
            action.add_argument("id", type=int, metavar="ID", help="its number in the list")

    def handle(self, *args: Any, **options: Any) -> None:
        with ends_when_refused(self):
            prepare_database()
            match options["action"]:
                case "add":
                    self._add(options)
                case "list":
                    self._list()
                case "test":
                    self._test(_webhook(options["id"]))
                case "remove":
                    hook = _webhook(options["id"])
                    hook.delete()
                    self.stdout.write(f"The webhook {hook.url} is deleted.")
                case action:
                    hook = _webhook(options["id"])
                    switch(hook, on=action == "on")
                    self.stdout.write(f"Webhook {hook.pk}, {hook.url}: {_state(hook)}.")

    def _add(self, options: dict[str, Any]) -> None:
        user = _owner(options["user"], of_everybody=options["of_everybody"])
        site = _site(options["site"])
        url = sys.stdin.readline().strip() if options["url"] == _STDIN else options["url"]
        path = options["secret_file"]
        with _file_for(path) as file, transaction.atomic():
            hook, secret = create_webhook(
                user,
                url,
                {Event(one) for one in options["event"] or Event.values},
                site,
                of_everybody=options["of_everybody"],
            )
            if file is not None:
                os.write(file, f"{secret}\n".encode())
        where = "this is its secret:" if path is None else f"its secret is in {path}"
        self.stderr.write(f"Webhook {hook.pk} is notified by the web process; {where}")
        if file is None:
            self.stdout.write(secret)

    def _list(self) -> None:
        for hook in Webhook.objects.select_related("created_by").order_by("pk"):
            whose = "everybody's" if hook.of_everybody else f"{hook.created_by}'s"
            words = (
                f"{hook.pk}",
                hook.url,
                ",".join(hook.events),
                whose,
                _state(hook),
                _last(hook),
            )
            self.stdout.write("  ".join(words))

    def _test(self, hook: Webhook) -> None:
        made = send_test(hook)
        until = time.monotonic() + TEST_PATIENCE_S
        while not (made.problem or made.state != Delivery.State.WAITING):
            if time.monotonic() > until:
                raise AdvisorError(
                    "not_sent",
                    f"nobody sent it within {TEST_PATIENCE_S:.0f} s: the web process does, does "
                    "it run? While its host measures a message waits up to ten minutes",
                )
            time.sleep(_LOOK_S)
            made.refresh_from_db()
        if made.problem:
            again = f"; it is tried {len(GAPS) - made.attempts} times more"
            is_over = made.state == Delivery.State.GIVEN_UP
            raise AdvisorError("not_delivered", f"{made.problem}{'' if is_over else again}")
        self.stdout.write(f"{hook.url} answered with the status {made.status}.")


def _webhook(pk: int) -> Webhook:
    found = Webhook.objects.select_related("created_by").filter(pk=pk).first()
    if found is None:
        raise AdvisorError("not_found", f"there is no webhook {pk}")
    return found


def _owner(name: str, *, of_everybody: bool) -> User:
    """The account, if it may have such a webhook."""
    user = User.objects.filter(username=name).first()
    if user is None:
        raise AdvisorError("no_account", f"there is no account {name!r}")
    role, needed = role_of(user), Role.ADMINISTRATOR if of_everybody else Role.OPERATOR
    if role is None or not role.reaches(needed):
        what = "hears of everybody's studies" if of_everybody else "has webhooks"
        raise AdvisorError(
            "permission_denied",
            f"only an account of the role {needed.value} {what}: {name!r} "
            f"is {'switched off' if role is None else role.value}",
        )
    return user


def _site(given: str | None) -> str:
    """The address of the first page, by default what this host's settings know of it."""
    if given is None:
        origins = settings.CSRF_TRUSTED_ORIGINS
        return f"{origins[0]}/" if origins else f"http://{settings.BIND_ADDRESS}:{settings.PORT}/"
    try:
        parts = urlsplit(given)
        is_one = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        is_one = False
    longest = Webhook._meta.get_field("site").max_length or 0
    if not is_one or not given.isprintable() or len(given) > longest:
        raise AdvisorError("invalid_site", f"--site {given!r} is no http address")
    return given


@contextmanager
def _file_for(path: Path | None) -> Iterator[int | None]:
    """A new file of mode 0600, gone again if the block fails; None without a path.

    It is made before the webhook: a secret that cannot be written would be lost. Raises
    AdvisorError, also for what the block cannot write.
    """
    if path is None:
        yield None
        return
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        file = os.open(path, flags, 0o600)
        try:
            yield file
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        finally:
            os.close(file)
    except OSError as error:
        raise AdvisorError("output_not_writable", f"{path}: {error.strerror}") from error


def _state(hook: Webhook) -> str:
    why = rests_because(hook)
    return f"nothing is sent: {why}" if why else "on"


def _last(hook: Webhook) -> str:
    if hook.last_at is None:
        return "nothing sent yet"
    how = hook.last_problem or f"answered with {hook.last_status}"
    return f"last {hook.last_at:%Y-%m-%d %H:%M %Z}: {how}"

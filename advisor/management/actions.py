"""Subcommands from the table of actions: `manage.py SUBJECT ACTION ROW`."""

from __future__ import annotations

from argparse import _SubParsersAction
from typing import Any

import psutil
from django.core.management.base import BaseCommand, CommandParser
from django.db import transaction
from django.db.models import Model

from tuning.actions.action import Actor, Subject, perform, read_fields
from tuning.actions.table import actions_of, find_action
from tuning.errors import TuningError


def add_actions(parsers: _SubParsersAction[CommandParser], subject: Subject) -> None:
    """Add a subcommand for each action of the subject, with an option for each of its fields."""
    for action in actions_of(subject.name):
        parser = parsers.add_parser(action.name, help=action.help.replace("%", "%%"))
        for name, field in action.fields.model_fields.items():
            parser.add_argument(
                f"--{name.replace('_', '-')}",
                required=field.is_required(),
                help=field.description,
            )
        parser.add_argument(
            "row", metavar="ID" if subject.key == "pk" else subject.key.upper(), help=subject.noun
        )


def perform_action(command: BaseCommand, subject: Subject, options: dict[str, Any]) -> None:
    """Perform the action that the options name, and write what came of it.

    Raises TuningError, not_found or not_permitted; BadRequest; and what the action raises.
    """
    action = find_action(subject.name, options["action"])
    typed = {name: options[name] for name in action.fields.model_fields}
    given = {name: text for name, text in typed.items() if text is not None}
    fields = read_fields(action, given)
    row = find_row(subject, options["row"])
    check_may_change(row)
    caller = f"{psutil.Process().username()} on the command line"
    command.stdout.write(perform(action, row, Actor(caller), fields).sentence)


def find_row(subject: Subject, text: str) -> Any:
    """Return the row of that id or name. Raises TuningError, not_found."""
    if subject.key == "pk":
        found = subject.rows().filter(pk=int(text)).first() if text.isdecimal() else None
        known = ""
    else:
        found = subject.rows().filter(**{subject.key: text}).first()
        names = ", ".join(sorted(getattr(row, subject.key) for row in subject.rows()))
        known = f"; known: {names or 'none'}"
    if found is None:
        raise TuningError("not_found", f"there is no {subject.noun.lower()} {text!r}{known}")
    return found


def check_may_change(row: Model) -> None:
    """Raises TuningError, not_permitted, for a row that is not this host's login's to change.

    PostgreSQL does not say so: it changes no row, as if that were not in the state to be changed.
    """
    with transaction.atomic():
        rows = type(row)._default_manager.select_for_update().filter(pk=row.pk)
        if rows.values_list("pk").first() is None:
            what = f"{row._meta.verbose_name} {row}"
            raise TuningError(
                "not_permitted", f"run this where the dashboard runs: {what} is not of this host"
            )

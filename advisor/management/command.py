"""The base of the commands: how a command ends when it is refused."""

from __future__ import annotations

import json
import sys
from typing import Any, ClassVar, NoReturn

from django.core.management.base import BaseCommand
from django.db import DatabaseError

from advisor.management.request_options import error_line
from advisor.processes.database import prepare_database
from advisor.processes.unavailable import is_unavailable
from benchmarks.errors import ExpectedError
from tuning.errors import BadRequest, UnknownTemplate
from tuning.requests.fields import Request
from tuning.search_space.space_request import BadSpace

#: PostgreSQL's insufficient_privilege, also of what its row-level security refuses.
_NOT_PERMITTED = "42501"


class AdvisorCommand(BaseCommand):
    """A command that ends with `code: reason` on stderr where it is refused.

    refusal_status: its exit status then; senseless_status: that of a request that makes no sense.
    requests: the requests whose options the reason names. needs_tables: whether the database is
    brought up to date before `run`.
    """

    # Django would check the addresses of all pages: to import what is behind them takes a second.
    requires_system_checks: list[str] = []
    refusal_status: ClassVar[int] = 1
    senseless_status: ClassVar[int] = 1
    requests: ClassVar[tuple[type[Request], ...]] = ()
    needs_tables: ClassVar[bool] = True

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            if self.needs_tables:
                prepare_database()
            self.run(options)
        except DatabaseError as error:
            if why := _why_no_database(error):
                self.fail(why)
            raise
        except ExpectedError as error:
            is_senseless = isinstance(error, BadRequest | BadSpace | UnknownTemplate)
            self.fail(
                f"{error.code}: {self.reason(error)}",
                self.senseless_status if is_senseless else self.refusal_status,
            )

    def run(self, options: dict[str, Any]) -> None:
        """Do the work. May raise ExpectedError and DatabaseError."""
        raise NotImplementedError

    def reason(self, error: ExpectedError) -> str:
        """Return the reason of a refusal, with the options that it is about."""
        return error_line(error, *self.requests) if self.requests else str(error)

    def fail(self, line: str, status: int | None = None) -> NoReturn:
        """Exit with the reason as the last line on stderr."""
        self.stderr.write(line)
        sys.exit(self.refusal_status if status is None else status)

    def write_json(self, document: Any) -> None:
        """Write a document of the API to stdout."""
        self.stdout.write(json.dumps(document, indent=2))


def _why_no_database(error: DatabaseError) -> str:
    """Return why the database cannot be used for the moment, or not with the rights of a host's
    login (docs/reference/host-role.sql); "" for a bug.
    """
    said = " ".join(str(error).split())
    if is_unavailable(error):
        return f"database_unavailable: {said}"
    if getattr(error.__cause__, "sqlstate", "") == _NOT_PERMITTED:
        return f"not_permitted: run this where the dashboard runs: {said}"
    return ""

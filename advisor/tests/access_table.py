"""Make the table of docs/reference/access.md: addresses, methods, and who may use each.

Rewrite it: .venv/bin/python -m advisor.tests.access_table
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import django
from django.urls import URLPattern, URLResolver, get_resolver

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "access.md"
BEGIN, END = "<!-- access table: begin -->\n", "<!-- access table: end -->\n"
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
CALLERS = ("nobody", "viewer", "operator", "administrator", "expired token")
YES, OWN, NO = "yes", "own", "403"


@dataclass(frozen=True)
class Address:
    """`route` is the path as in the URL conf; of Django's admin there is one for all."""

    name: str
    route: str

    @property
    def is_of_the_api(self) -> bool:
        from advisor.access.rules import is_api_operation

        # Its reference is a page for people.
        return is_api_operation(self.name)


def addresses() -> list[Address]:
    """All addresses of the program, from its URL conf."""
    # Ninja has a pattern for each operation of an address.
    return list(dict.fromkeys(_walk(get_resolver().url_patterns, "", "")))


def _walk(
    patterns: Iterable[URLPattern | URLResolver], prefix: str, space: str
) -> Iterator[Address]:
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            yield Address(f"{space}{pattern.name}", route)
        elif pattern.namespace == "admin":
            yield Address("admin:index", f"{route}...")
        else:
            yield from _walk(
                pattern.url_patterns,
                route,
                f"{space}{pattern.namespace}:" if pattern.namespace else space,
            )


def expected(address: Address, method: str) -> dict[str, str]:
    """What each caller gets, by the rules."""
    from advisor.access.roles import Role
    from advisor.access.rules import rule_for

    rule = rule_for(address.name, method)
    assert rule is not None, f"advisor/access/rules.py has no rule for {method} {address.name}"
    if rule.needs is None:
        return dict.fromkeys(CALLERS, YES)
    # Pages read no tokens: with one, expired or not, they are for nobody.
    refused = "401" if address.is_of_the_api else "log in"
    found = dict.fromkeys(CALLERS, refused)
    for role in Role:
        if not role.reaches(rule.needs):
            found[role.value] = NO
        elif rule.own and role != Role.ADMINISTRATOR:
            found[role.value] = OWN
        else:
            found[role.value] = YES
    return found


def table() -> str:
    from advisor.access.rules import rules_of

    lines = [
        f"| Address | Method | {' | '.join(CALLERS)} |\n",
        f"| --- | --- |{' --- |' * len(CALLERS)}\n",
    ]
    for address in addresses():
        alike: dict[str, list[str]] = {}
        for method in rules_of(address.name):
            cells = " | ".join(expected(address, method).values())
            alike.setdefault(cells, []).append(method)
        for cells, methods in alike.items():
            lines.append(f"| `/{_readable(address)}` | {', '.join(methods)} | {cells} |\n")
    return "".join(lines)


def _readable(address: Address) -> str:
    return re.sub(r"[<{](?:\w+:)?(\w+)[>}]", lambda found: _shown(found[1]), address.route)


def _shown(argument: str) -> str:
    return "ID" if argument == "pk" else argument.upper()


def written_table(text: str) -> tuple[str, str, str]:
    """The page in three parts: before the table, the table, after it."""
    before, rest = text.split(BEGIN)
    found, after = rest.split(END)
    return before + BEGIN, found, END + after


def main() -> None:
    before, _, after = written_table(PAGE.read_text())
    PAGE.write_text(before + table() + after)
    sys.stdout.write(f"{PAGE.name} is written.\n")


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "advisor.settings")
    django.setup()
    main()

"""What docs/how-to/fleet.md tells people to write and run, for tests that do so."""

from __future__ import annotations

import re
from collections.abc import Mapping

from advisor.tests.harness import ROOT

DOCUMENT = ROOT / "docs" / "how-to" / "fleet.md"


def block(title: str, given: Mapping[str, str]) -> list[str]:
    """The lines of the block below `<!-- title -->`, with the placeholders replaced."""
    text = DOCUMENT.read_text()
    found = re.search(rf"^<!-- {re.escape(title)} -->\n```\w*\n(.*?)^```", text, re.M | re.S)
    assert found is not None, f"{DOCUMENT} has no block {title!r}"
    lines = found[1]
    for placeholder, value in given.items():
        lines = lines.replace(placeholder, value)
    return lines.splitlines()


def variables(title: str, given: Mapping[str, str]) -> dict[str, str]:
    """The variables of an environment file."""
    return dict(line.split("=", 1) for line in block(title, given))

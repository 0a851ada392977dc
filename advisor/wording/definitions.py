"""Definitions of numbers and words, for the help page and short hints.

They are the sections of docs/reference/numbers.md: title, paragraph, and perhaps a link to more.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.conf import settings
from django.utils.text import slugify

_SECTION = re.compile(r"## (.+)\n\n(.+?)(?: More: \[.+\]\(\.\./(.+)\)\.)?\n")
# Terms that a study's page explains itself.
OF_A_STUDY = ("throughput", "p95", "path-length", "interval", "noise-floor", "confirmation")


@dataclass(frozen=True)
class Definition:
    """`key` is its anchor on the help page, `doc` the page of docs/ with the whole of it."""

    key: str
    title: str
    text: str
    doc: str


def _read() -> dict[str, Definition]:
    page = settings.BASE_DIR / "docs" / "reference" / "numbers.md"
    found = {}
    for title, text, doc in _SECTION.findall(page.read_text(encoding="utf-8")):
        key = slugify(re.split("[,:]", title)[0])
        found[key] = Definition(key, title, text, doc)
    return found


#: In the order of the page.
BY_KEY = _read()

"""An option file in a narrow column: what is printed is a file as well, and can be typed in."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

# What fits in one of two columns on A4, in the size of letters of the style sheet.
WIDTH = 60
# How a comment begins (`tuning/export/comments.py`): an entry of a list, or a name and its text.
_BEGIN = re.compile(r"  - |[A-Z]\w+: +")


def narrowed(text: str) -> list[str]:
    """The lines of an option file of the advisor's own, its comments wrapped anew."""
    return [line for said in _joined(text) for line in _wrapped(said)]


def _joined(text: str) -> Iterator[str]:
    """The lines, but each comment in one."""
    said, rest = "", ""
    for line in text.splitlines():
        goes_on = said and line.startswith(rest) and not _BEGIN.match(line[2:])
        if goes_on and line[len(rest) :][:1].strip():
            said += f" {line[len(rest) :]}"
            continue
        if said:
            yield said
        said = line if line.startswith("# ") else ""
        rest = _rest(said)
        if not said:
            yield line
    if said:
        yield said


def _wrapped(said: str) -> list[str]:
    if not said.startswith("# "):
        return [said]
    return textwrap.wrap(
        said,
        WIDTH,
        subsequent_indent=_rest(said),
        break_on_hyphens=False,
    )


def _rest(said: str) -> str:
    """What the further lines of a comment begin with."""
    begin = _BEGIN.match(said[2:])
    return "# " + " " * (begin.end() if begin else 0)

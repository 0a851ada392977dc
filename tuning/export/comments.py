"""External text as comments, from which it cannot escape in any format."""

from __future__ import annotations

import textwrap

from benchmarks.storage.human import BEFORE_UNIT

WIDTH = 96
CNF = "#"
SQL = "--"  # followed by a space, without which MySQL reads two minus signs
# The server reads an option file in pieces of 4 KiB: the rest of a longer word would be an option.
_MAX_WORD = 400
_KEPT = "\0"  # not printable, so no text has it


def comment(text: str, *, mark: str = CNF, first: str = "", rest: str = "") -> list[str]:
    """Comment lines with `text`; `first` and `rest` are our own prefixes of its lines.

    No line ends between a number and its unit.
    """
    if not text.isprintable():
        text = "".join(letter if letter.isprintable() else " " for letter in text)
    words = [
        word[start : start + _MAX_WORD]
        for word in text.split()
        for start in range(0, len(word), _MAX_WORD)
    ]
    lines = textwrap.wrap(
        BEFORE_UNIT.sub(_KEPT, " ".join(words)),
        WIDTH,
        initial_indent=f"{mark} {first}",
        subsequent_indent=f"{mark} {rest}",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(_KEPT, " ") for line in lines]


def labelled(name: str, text: str, *, mark: str = CNF) -> list[str]:
    """A line of a header: "Device:     nvme ..."."""
    return comment(text, mark=mark, first=f"{name + ':':<12}", rest=" " * 12)


def item(text: str, *, mark: str = CNF) -> list[str]:
    """An entry of a list."""
    return comment(text, mark=mark, first="  - ", rest="    ")

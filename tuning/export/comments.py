"""External text as comments, from which it cannot escape in any format."""

from __future__ import annotations

CNF = "#"
SQL = "--"  # followed by a space, without which MySQL reads two minus signs
# Servers read an option file in pieces of 4 KiB, and the rest of a longer line would be an option.
# A letter takes up to 4 bytes.
_MAX_LETTERS = 900


def comment(text: str, mark: str = CNF) -> str:
    """Return `text` as one comment line, cut where no server would read all of it."""
    plain = " ".join("".join(one if one.isprintable() else " " for one in text).split())
    cut = plain if len(plain) <= _MAX_LETTERS else f"{plain[:_MAX_LETTERS]} ..."
    return f"{mark} {cut}".rstrip()

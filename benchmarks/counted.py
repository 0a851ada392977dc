"""How many there are of something, as people read it."""

from __future__ import annotations

WERE = ("was", "were")


def counted(number: int, what: str, verb: tuple[str, str] | None = None) -> str:
    """As "1 run" or "2 runs"; with `verb` ("was", "were"), "1 run was" or "2 runs were"."""
    text = f"{number} {what}{'' if number == 1 else 's'}"
    return text if verb is None else f"{text} {verb[number != 1]}"

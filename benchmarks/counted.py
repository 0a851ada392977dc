"""How many there are of something, as people read it."""

from __future__ import annotations


def counted(number: int, what: str) -> str:
    """As "1 run" or "2 runs"."""
    return f"{number} {what}{'' if number == 1 else 's'}"

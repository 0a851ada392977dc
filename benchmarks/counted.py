"""Numbers of things, shares and lengths of time, as people read them."""

from __future__ import annotations

WERE = ("was", "were")


def counted(number: int, what: str, verb: tuple[str, str] | None = None) -> str:
    """Return "1 run" or "2 runs"; with `verb` ("was", "were") "1 run was" or "2 runs were"."""
    text = f"{number} {plural(number, what)}"
    return text if verb is None else f"{text} {verb[number != 1]}"


def plural(number: int, what: str) -> str:
    """Return "run" for 1, "runs" for others."""
    return what if number == 1 else f"{what}s"


def percent(share: float, digits: int = 0) -> str:
    """Return "95 %" for 0.95."""
    return f"{share * 100:.{digits}f} %"


def length_text(seconds: float) -> str:
    """Return "90 s", "48 minutes" or "136 h"."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.0f} h"

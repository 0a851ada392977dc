"""The result for one option of a config: its fate, and notes on knobs that were changed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any


class Fate(StrEnum):
    """The possible fates of a line."""

    MEASURED = "measured"  # a knob: part of the config that is compared
    APPLIED = "applied"  # harmless: set in every run, so that the baseline is the user's
    KEPT = "kept"  # valid, but never set in a run; stays in the exported file
    TRANSLATED = "translated"  # a run sets `became` instead
    REMOVED = "removed"  # the target version does not have it
    REFUSED = "refused"  # no server has it, or the server refuses its value


Became = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class LineResult:
    """One line and its fate.

    number: counted from 1, 0 without a file.
    name: the option as written, with underscores and without `loose_`.
    text: the whole line as written, without its line end.
    reason: in words, "" where none is needed.
    became: the normalised values that a run sets because of it.
    value: as the server reads it, None for an option without one.
    """

    number: int
    name: str
    text: str = ""
    fate: Fate = Fate.MEASURED
    reason: str = ""
    became: Became = ()
    value: str | None = None
    group: str = ""

    def ends(self, fate: Fate, reason: str = "", became: Became = ()) -> LineResult:
        """Return the line with that fate."""
        return replace(self, fate=fate, reason=reason, became=became)

    @property
    def is_loose(self) -> bool:
        """Whether it is written with `loose_`, which lets a server ignore an unknown option."""
        return self.text.strip().replace("-", "_").startswith("loose_")

    @property
    def replacement(self) -> str:
        """Its text in an exported file: "" where the line stays or goes."""
        if self.fate is not Fate.TRANSLATED:
            return ""
        return "\n".join(f"{name} = {value}" for name, value in self.became)

    def document(self) -> dict[str, Any]:
        """The line as it is stored with a candidate."""
        return {**vars(self), "became": [list(pair) for pair in self.became]}


class Action(StrEnum):
    """The kinds of change to a knob on its way into a candidate."""

    PROPOSED = "proposed"
    KEPT = "kept"
    ADJUSTED = "adjusted"
    DROPPED = "dropped"
    HELD = "held"  # at the server's default, because a user cannot correct a preset


@dataclass(frozen=True)
class Note:
    """One remark on one knob; `detail` is a sentence for people."""

    name: str
    action: Action
    detail: str

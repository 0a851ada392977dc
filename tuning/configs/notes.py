"""Changes to a knob on its way into a candidate, all of them shown to the user."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Action(StrEnum):
    """The kinds of change to a knob."""

    PROPOSED = "proposed"
    KEPT = "kept"
    RENAMED = "renamed"
    ADJUSTED = "adjusted"
    DROPPED = "dropped"
    HELD = "held"
    REFUSED = "refused"


@dataclass(frozen=True)
class Note:
    """One remark on one knob; `detail` is a sentence for people."""

    name: str
    action: Action
    detail: str


@dataclass(frozen=True)
class Change:
    """The result of translating one setting: the normalised knobs, and why they differ from it.

    HELD: left at the server's default, because a user cannot correct a preset.
    """

    action: Action
    became: tuple[tuple[str, str], ...] = ()
    detail: str = ""

"""What taking a winner apart found, as a table for pages and terminal."""

from __future__ import annotations

from dataclasses import dataclass

from advisor.wording.spaces import knob_text
from tuning.configs.notes import Action
from tuning.results.apart import LinesEffect, TakenApart
from tuning.results.apart_texts import effect_text, shortage_text
from tuning.statistics.removal import RemovalState

ANSWERS = {
    RemovalState.MATTERS: "matters",
    RemovalState.NEEDED: "kept",
    RemovalState.UNSETTLED: "kept, undecided",
    RemovalState.UNTESTED: "kept, not tested on its own",
    RemovalState.NO_EFFECT: "no measurable effect",
    RemovalState.SAME: "the server's own value",
}
# While the study runs.
UNDECIDED_SO_FAR = "undecided so far"
_OPEN = (RemovalState.UNSETTLED, RemovalState.UNTESTED)


@dataclass(frozen=True)
class LineRow:
    """Some lines of a winner that were removed together, and what that showed."""

    lines: tuple[str, ...]
    effect: LinesEffect
    answer: str
    text: str


def line_rows(apart: TakenApart) -> list[LineRow]:
    """What matters first."""
    knobs = apart.whole.config.knobs
    return [
        LineRow(
            tuple(f"{name} = {knob_text(name, knobs[name])}" for name in one.names),
            one,
            ANSWERS[one.state] if apart.is_over or one.state not in _OPEN else UNDECIDED_SO_FAR,
            _text(one, apart),
        )
        for one in apart.effects
    ]


def _text(effect: LinesEffect, apart: TakenApart) -> str:
    if effect.state is RemovalState.UNTESTED and apart.is_over:
        # The answer has said the rest; what is known is why somebody proposed it.
        return "; ".join(_reasons(effect, apart)) or shortage_text(apart)
    return effect_text(effect, apart)


def _reasons(effect: LinesEffect, apart: TakenApart) -> list[str]:
    """Why the rules of a proposal have these lines."""
    notes = apart.whole.notes
    return [
        note["detail"]
        for note in notes
        if note["name"] in effect.names and note["action"] == Action.PROPOSED
    ]

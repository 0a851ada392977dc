"""The lines of a winner, and the results of testing each, for pages and terminal."""

from __future__ import annotations

from dataclasses import dataclass

from advisor.wording.spaces import knob_text
from tuning.configs.line import Action
from tuning.results.document import Ablation, CandidateFacts, LinesEffect
from tuning.statistics.confirmation import RemovalState

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


def changed_lines(
    candidate: CandidateFacts, baseline: CandidateFacts
) -> list[tuple[str, str, str]]:
    """Each variable that differs: name, value of the baseline, own value; "" where not set."""
    there, here = baseline.knobs, candidate.knobs
    names = sorted(name for name in {*there, *here} if there.get(name) != here.get(name))
    return [
        (name, knob_text(name, str(there.get(name, ""))), knob_text(name, str(here.get(name, ""))))
        for name in names
    ]


def line_rows(found: Ablation, whole: CandidateFacts) -> list[LineRow]:
    """Return a row for each tested line of `whole`, the winner; lines that matter come first."""
    return [
        LineRow(
            tuple(f"{name} = {knob_text(name, whole.knobs[name])}" for name in one.names),
            one,
            ANSWERS[RemovalState(one.state)]
            if found.is_over or one.state not in _OPEN
            else UNDECIDED_SO_FAR,
            _text(one, found, whole),
        )
        for one in found.effects
    ]


def _text(effect: LinesEffect, found: Ablation, whole: CandidateFacts) -> str:
    if effect.state == RemovalState.UNTESTED and found.is_over:
        # The answer has said the rest; what is known is why somebody proposed it.
        return "; ".join(_reasons(effect, whole)) or found.shortage
    return effect.text


def _reasons(effect: LinesEffect, whole: CandidateFacts) -> list[str]:
    """Why the rules of a proposal have these lines."""
    return [
        note["detail"]
        for note in whole.notes
        if note["name"] in effect.names and note["action"] == Action.PROPOSED
    ]

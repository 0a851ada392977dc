"""Translates settings from one server to another, both for presets and for users' files.

As far as the server allows, the result means what the settings meant on the original server; every
change and omission has a note. Afterwards it passes the config check like any other
config.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.servers.forbidden import why_forbidden
from tuning.catalogue.knob import Durability, SetBy
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import Origin, ServerTraits
from tuning.configs.effective.durability import leaves_out_fsync, loss
from tuning.configs.effective.variables import FLUSH_METHOD
from tuning.configs.notes import Action, Change, Note
from tuning.configs.translation.carry import carry_over
from tuning.configs.translation.redo import translate_redo
from tuning.configs.values import BadValue, fixed_default


@dataclass(frozen=True)
class Translation:
    """Normalised knobs for the target and one note per knob that was changed."""

    knobs: dict[str, str]
    notes: tuple[Note, ...]


def translate_knobs(
    knobs: Mapping[str, str],
    origin: Origin,
    target: ServerTraits,
    *,
    durability: Durability = Durability.D0,
) -> Translation:
    """Translate knobs in any spelling; "" for one that the source left empty.

    Never refuses: what the target or a study of that durability does not allow is left at the
    server's default, with a note.
    """
    redo = translate_redo(knobs, origin, target)
    found: dict[str, str] = {}
    notes: list[Note] = []
    for name, text in knobs.items():
        outcome = redo.get(name) or _published(name, text, origin, target, durability)
        # A variable that the file sets itself keeps its own value.
        found |= {new: text for new, text in outcome.became if new == name or new not in knobs}
        if outcome.action is not Action.KEPT:
            notes.append(Note(name, outcome.action, outcome.detail))
    if durability < Durability.D2 and leaves_out_fsync(found, target):
        found[FLUSH_METHOD] = "O_DIRECT"
        notes = [note for note in notes if note.name != FLUSH_METHOD]
        detail = (
            f"set to O_DIRECT: with innodb_dedicated_server {target} would choose "
            f"O_DIRECT_NO_FSYNC (class D2), but only {durability} is allowed"
        )
        notes.append(Note(FLUSH_METHOD, Action.ADJUSTED, detail))
    return Translation(found, tuple(notes))


def _published(
    name: str, text: str, origin: Origin, target: ServerTraits, durability: Durability
) -> Change:
    """One knob of a preset: left at the default if not possible, as no user can edit a preset."""
    knob = load_catalogue().get(name)
    if knob is None or knob.set_by is SetBy.ADVISOR:
        files = knob is not None or why_forbidden(name) is not None
        why = "the advisor sets the location of files" if files else "not in the catalogue"
        return Change(Action.DROPPED, (), why)
    if not text and name != FLUSH_METHOD:
        return Change(Action.DROPPED, (), "left empty in the preset: the server's default applies")
    lost = loss(knob, text, durability)
    if lost is not None and knob.exists_in(target):
        default = fixed_default(knob, target)
        at = "it" if default is None else f"the server's default ({default})"
        return Change(
            Action.HELD,
            (),
            f"at {at}: {text} may lose {lost[1]} (class {lost[0]}), but only "
            f"{durability} is allowed",
        )
    try:
        outcome = carry_over(knob, text, origin, target)
    except BadValue as bad:
        return Change(Action.HELD, (), f"at the server's default: {text} {bad}")
    if outcome.action is Action.DROPPED and knob.exists_in(target) and knob.values(target):
        return Change(Action.HELD, (), f"at the server's default: {text} {outcome.detail}")
    return outcome

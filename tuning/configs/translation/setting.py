"""Translates one setting of a file for a server, or says why it is refused."""

from __future__ import annotations

from collections.abc import Mapping

from tuning.catalogue.target import ServerTraits
from tuning.configs.effective.variables import REDO
from tuning.configs.files.lookup import Read
from tuning.configs.notes import Action
from tuning.configs.translation.absence import why_absent
from tuning.configs.translation.carry import carry_over
from tuning.configs.translation.origin import ANY_VERSION, Origin
from tuning.configs.translation.outcome import SettingOutcome
from tuning.configs.translation.redo import translate_redo
from tuning.configs.values import BadValue, normalise, server_number


def translated_redo(
    last: Mapping[str, Read], origin: Origin | None, target: ServerTraits
) -> dict[str, SettingOutcome]:
    """The translation of the redo log's knobs, whether requested or not."""
    values = {name: last[name].text for name in REDO if name in last}
    return translate_redo(values, origin or ANY_VERSION, target, server_number)


def outcome_of(
    read: Read,
    origin: Origin | None,
    target: ServerTraits,
    redo: Mapping[str, SettingOutcome],
    *,
    counts: bool = True,
) -> SettingOutcome | str:
    """The result of one setting, or the reason why it is refused.

    `counts` is False if the same knob is set again further down: servers still refuse an invalid
    value, but it has no other effect.
    """
    if read.refused:
        return read.refused
    if read.dropped or read.knob is None:
        return SettingOutcome.dropped(read.dropped)
    knob = read.knob
    try:
        if read.renamed:
            became = carry_over(knob, read.text, origin or ANY_VERSION, target).became
            detail = f"is called {knob.name} in an option file"
            return SettingOutcome(Action.RENAMED, became, detail)
        if origin is not None:
            found = redo.get(knob.name) or carry_over(knob, read.text, origin, target)
        elif not knob.exists_in(target):
            return why_absent(knob, target) + _would(read, target, redo)
        else:
            found = SettingOutcome.kept(knob.name, normalise(knob, read.text, target))
    except BadValue as bad:
        return str(bad) + (_would(read, target, redo) if origin is None else "")
    fixed = dict(found.became).get(knob.name) if knob.new_data_dir and counts else None
    if fixed is not None and fixed != (default := knob.default(target)):
        return f"is fixed when the data directory is made; the dataset has {default}"
    return found


def _would(read: Read, target: ServerTraits, redo: Mapping[str, SettingOutcome]) -> str:
    """What translation would do with a line that is refused without it."""
    if read.knob is None:
        return ""
    try:
        found = redo.get(read.knob.name) or carry_over(read.knob, read.text, ANY_VERSION, target)
    except BadValue:
        return ""
    return f"; translation {found.in_future()}"

"""One setting of a file on its way to a server: what becomes of it there, or why it is refused."""

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
    """What translation makes of the redo log's knobs, asked for or not."""
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
    """What becomes of one setting, or why it is refused.

    `counts` is False where the same is set again further down: servers still refuse what is no
    value there, but nothing else comes of it.
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
    """What translation would have done with a line that is refused without it."""
    if read.knob is None:
        return ""
    try:
        found = redo.get(read.knob.name) or carry_over(read.knob, read.text, ANY_VERSION, target)
    except BadValue:
        return ""
    return f"; translation {found.in_future()}"

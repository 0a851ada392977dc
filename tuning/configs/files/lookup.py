"""One setting of a file: which knob it means on the target, and what becomes of it there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tuning.catalogue.knob import Kind, Knob, SetBy
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ServerTraits
from tuning.configs.files.absence import why_absent
from tuning.configs.files.cnf import Setting
from tuning.configs.files.refusals import gone_since, other_name, refusal
from tuning.configs.notes import Action
from tuning.configs.translation.redo import NAMES as REDO_NAMES
from tuning.configs.translation.redo import translate_redo
from tuning.configs.translation.settled import ANY_VERSION, Origin, Settled
from tuning.configs.translation.translate import carry_over, server_number
from tuning.configs.values import BadValue, normalise

_SWITCH = re.compile(r"(skip|disable|enable)_(.+)")
_ADVISOR = "names a file or directory, and the advisor places files itself; delete this line"
_STUDY = "binary logging is chosen for the whole study, not by one config; delete this line"
#: To look for a similar name takes milliseconds, and a file may have 60,000 wrong ones.
_MOST_HINTS = 50


class _Refused(ValueError):
    """The setting cannot be used; the message is the reason."""


@dataclass(frozen=True)
class Read:
    """A setting, the knob it means and the text of its value behind switches and prefixes."""

    setting: Setting
    knob: Knob | None
    text: str | None
    settled: Settled | None = None  # when no knob has to be asked
    refused: str = ""


class Reader:
    """Finds the knob that a name means on the target, and what to say where there is none."""

    def __init__(self, target: ServerTraits, origin: Origin | None) -> None:
        self._target = target
        self._origin = origin
        self._hints = 0

    def read(self, setting: Setting) -> Read:
        """The setting with its knob, or with the reason why it is refused."""
        try:
            return self._read(setting)
        except _Refused as refused:
            return Read(setting, None, setting.value, refused=str(refused))

    def _read(self, setting: Setting) -> Read:
        catalogue = load_catalogue()
        name, text = setting.name, setting.value
        new = other_name(name)
        if self._origin is not None and new is not None:
            return self._renamed(setting, new)
        knob = catalogue.get(name)
        if knob is None and (switch := _SWITCH.fullmatch(name)) and catalogue.get(switch[2]):
            knob = catalogue.knobs[switch[2]]
            if knob.kind not in (Kind.BOOL, Kind.ENUM, Kind.FLAG):
                raise _Refused(f"{knob.name} is no switch; delete this line or give it a value")
            if text is not None:
                raise _Refused(f"has a value beside its prefix; write {switch[2]} = {text}")
            text = "ON" if switch[1] == "enable" else "OFF"
        if knob is None:
            return self._unknown(setting)
        if knob.set_by is not None:
            raise _Refused(_ADVISOR if knob.set_by is SetBy.ADVISOR else _STUDY)
        if setting.loose and not knob.exists_in(self._target) and self._origin is None:
            detail = f"{self._target} does not have it and ignores it because of its loose_ prefix"
            return Read(setting, knob, text, settled=Settled.dropped(detail))
        return Read(setting, knob, text)

    def _renamed(self, setting: Setting, new: str) -> Read:
        knob = load_catalogue().knobs[new]
        if setting.value is None:
            raise _Refused(refusal(setting.name) or "needs a value")
        try:
            became = carry_over(knob, setting.value, self._origin or ANY_VERSION, self._target)
        except BadValue as bad:
            raise _Refused(str(bad)) from None
        settled = Settled(Action.RENAMED, became.became, f"is called {new} in an option file")
        return Read(setting, knob, setting.value, settled=settled)

    def _unknown(self, setting: Setting) -> Read:
        name = setting.name
        since = gone_since(name, self._target)
        if since is not None:
            gone = f"{self._target} does not have it (removed in {since})"
            if self._origin is None:
                raise _Refused(f"{gone}; translation would drop it")
            return Read(setting, None, setting.value, settled=Settled.dropped(gone))
        known = refusal(name)
        if known is not None:
            raise _Refused(known)
        close = None
        if self._hints < _MOST_HINTS:
            self._hints += 1
            close = load_catalogue().closest(name, self._target)
        hint = f"did you mean {close}?" if close else "delete this line"
        raise _Refused(f"is not a knob that the advisor tunes; {hint}")


def translated_redo(
    last: Mapping[str, Read], origin: Origin | None, target: ServerTraits
) -> dict[str, Settled]:
    """What translation makes of the redo log's knobs, asked for or not."""
    values = {name: last[name].text for name in REDO_NAMES if name in last}
    return translate_redo(values, origin or ANY_VERSION, target, server_number)


def settle(
    read: Read,
    origin: Origin | None,
    target: ServerTraits,
    redo: Mapping[str, Settled],
    *,
    counts: bool = True,
) -> Settled | str:
    """What becomes of one setting, or why it is refused.

    `counts` is False where the same is set again further down: servers still refuse what is no
    value there, but nothing else comes of it.
    """
    if read.refused:
        return read.refused
    if read.settled is not None or read.knob is None:
        return read.settled or Settled.dropped("")
    knob = read.knob
    try:
        if origin is not None:
            found = redo.get(knob.name) or carry_over(knob, read.text, origin, target)
        elif not knob.exists_in(target):
            return why_absent(knob, target) + _would(read, target, redo)
        else:
            found = Settled.kept(knob.name, normalise(knob, read.text, target))
    except BadValue as bad:
        return str(bad) + (_would(read, target, redo) if origin is None else "")
    fixed = dict(found.became).get(knob.name) if knob.new_data_dir and counts else None
    if fixed is not None and fixed != knob.default(target):
        default = knob.default(target)
        return f"is fixed when the data directory is made; the dataset has {default}"
    return found


def _would(read: Read, target: ServerTraits, redo: Mapping[str, Settled]) -> str:
    """What translation would have done with a line that is refused without it."""
    if read.knob is None:
        return ""
    try:
        found = redo.get(read.knob.name) or carry_over(read.knob, read.text, ANY_VERSION, target)
    except BadValue:
        return ""
    return f"; translation {found.in_future()}"

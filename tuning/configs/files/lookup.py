"""Finds the knob of a setting in a file, or the reason why there is none."""

from __future__ import annotations

import re
from dataclasses import dataclass

from benchmarks.servers.forbidden import Reason
from tuning.catalogue.knob import Kind, Knob, SetBy
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ServerTraits
from tuning.configs.files.cnf import Setting
from tuning.configs.files.refusals import STUDY, gone_since, other_name, refusal

_SWITCH = re.compile(r"(skip|disable|enable)_(.+)")
#: The search for a similar name takes milliseconds, and a file may have thousands of wrong ones.
_MAX_HINTS = 50


class _Refused(ValueError):
    """The setting cannot be used; the message is the reason."""


@dataclass(frozen=True)
class Read:
    """A setting, its knob and the text of its value after switches and prefixes are resolved.

    `refused` and `dropped` are reasons why there is no value for the knob; `renamed`: the setting
    uses an old name.
    """

    setting: Setting
    knob: Knob | None
    text: str | None
    refused: str = ""
    dropped: str = ""
    renamed: bool = False

    @property
    def name(self) -> str:
        """The knob's own name, or that of the setting if it is renamed or unknown."""
        return self.knob.name if self.knob and self.is_by_name else self.setting.name

    @property
    def is_by_name(self) -> bool:
        """Whether it sets a knob under the knob's own name."""
        return self.knob is not None and not self.dropped and not self.renamed


class Reader:
    """Finds the knob of a name on the target, or the reason why there is none.

    With `translates`, names and variables of older servers are accepted as well.
    """

    def __init__(self, target: ServerTraits, *, translates: bool) -> None:
        self._target = target
        self._translates = translates
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
        if self._translates and new is not None:
            if text is None:
                raise _Refused(refusal(name) or "needs a value")
            return Read(setting, catalogue.knobs[new], text, renamed=True)
        knob = catalogue.get(name)
        if knob is None and (switched := knob_behind_switch(name)):
            knob, state = switched
            if knob.kind not in (Kind.BOOL, Kind.ENUM, Kind.FLAG):
                raise _Refused(f"{knob.name} is not a switch; delete this line or give it a value")
            if text is not None:
                raise _Refused(f"has both a prefix and a value; write {knob.name} = {text}")
            text = state
        if knob is None:
            return self._unknown(setting)
        if knob.set_by is not None:
            raise _Refused(Reason.PATH if knob.set_by is SetBy.ADVISOR else STUDY)
        if setting.loose and not knob.exists_in(self._target) and not self._translates:
            detail = f"{self._target} does not have it and ignores it because of its loose_ prefix"
            return Read(setting, knob, text, dropped=detail)
        return Read(setting, knob, text)

    def _unknown(self, setting: Setting) -> Read:
        name = setting.name
        since = gone_since(name, self._target)
        if since is not None:
            gone = f"{self._target} does not have it (removed in {since})"
            if not self._translates:
                raise _Refused(f"{gone}; translation would drop it")
            return Read(setting, None, setting.value, dropped=gone)
        known = refusal(name)
        if known is not None:
            raise _Refused(known)
        close = None
        if self._hints < _MAX_HINTS:
            self._hints += 1
            close = load_catalogue().closest(name, self._target)
        hint = f"did you mean {close}?" if close else "delete this line"
        raise _Refused(f"is not a variable that the advisor sets; {hint}")


def knob_behind_switch(name: str) -> tuple[Knob, str] | None:
    """The knob of `skip_x`, `disable_x` or `enable_x` and its new value."""
    switch = _SWITCH.fullmatch(name)
    knob = load_catalogue().get(switch[2]) if switch else None
    return (knob, "ON" if switch[1] == "enable" else "OFF") if knob and switch else None

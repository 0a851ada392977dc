"""The fate of one setting on a server: measured, applied, kept, translated, removed or refused."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tuning.catalogue.knob import Kind, Knob, SetBy
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.options import (
    Names,
    Option,
    OptionType,
    load_options,
    of_plugin,
    unknown_flags,
    why_kept,
)
from tuning.catalogue.target import Origin, ServerTraits
from tuning.configs.effective.variables import REDO
from tuning.configs.line import Fate, LineResult
from tuning.configs.notes import Action, Change
from tuning.configs.parse import Setting
from tuning.configs.translation.carry import carry_over, why_absent
from tuning.configs.translation.redo import translate_redo
from tuning.configs.values import (
    SWITCHES,
    BadValue,
    normalise,
    printable,
    shown,
)

STUDY = "is set for the whole study, not by a config"
_MAX_NAME = 80
_MAX_HINTS = 50  # a search takes milliseconds, and a file may have thousands of wrong names
_PREFIX = re.compile(r"(skip|disable|enable|maximum)_(.+)", re.IGNORECASE)
# Servers read one suffix of a whole number and nothing after it.
_NUMBER = re.compile(r"-?[0-9]+(?:[KMGTPE]|(?:\.[0-9]+)?$)", re.IGNORECASE | re.ASCII)
_FATES = {
    Action.KEPT: Fate.MEASURED,
    Action.RENAMED: Fate.TRANSLATED,
    Action.ADJUSTED: Fate.TRANSLATED,
    Action.DROPPED: Fate.REMOVED,
}


@dataclass(frozen=True)
class Named:
    """A setting under the full name of its option, "" if no server knows it.

    `value` is the text after prefixes such as `skip_` are resolved; `spelled` is how the line
    would be written today, "" if it is written so. `limits` is the option whose largest value
    the setting is; such a setting has no `name`, because it sets nothing.
    """

    setting: Setting
    name: str
    value: str | None
    limits: str = ""
    spelled: str = ""


class Judge:
    """Judges the settings of one file for a server.

    `origin` is the server that the file was written for. With None nothing is translated: what a
    run cannot set as it is written is refused.
    """

    def __init__(self, target: ServerTraits, names: Names, origin: Origin | None) -> None:
        self._target = target
        self._names = names
        self._origin = origin
        self._hints = 0

    def name(self, setting: Setting) -> Named:
        """Find the option of a setting, as servers do."""
        prefix = _PREFIX.fullmatch(setting.name)
        switched = self._names.full(prefix[2]) if prefix else None
        if prefix and switched and prefix[1].lower() != "maximum" and not _is_switch(switched):
            switched = None
        full = self._names.full(setting.name)
        if full and (self._names.has(full) or not switched):
            now = (option := load_options().options.get(full)) and option.now
            if now and self._origin is not None and not self._names.has(full):
                return Named(setting, now, setting.value, spelled=f"is now called {now}")
            spelled = "" if full == setting.name else f"means {full}; written out"
            return Named(setting, full, setting.value, spelled=spelled)
        if prefix is None or switched is None:
            return Named(setting, "", setting.value)
        word = prefix[1].lower()
        if word == "maximum":
            return Named(setting, "", setting.value, limits=switched)
        is_on = (word == "enable") == ((setting.value or "1").lower() in ("1", "on", "true"))
        return Named(setting, switched, "ON" if is_on else "OFF")

    def redo(self, last: Mapping[str, Named]) -> dict[str, Change]:
        """The translation of the redo log's knobs, which are read together."""
        if self._origin is None:
            return {}
        values = {name: last[name].value for name in REDO if name in last}
        return translate_redo(values, self._origin, self._target)

    def judge(self, named: Named, redo: Mapping[str, Change]) -> LineResult:
        """The fate of one setting."""
        found = self._judged(named, redo)
        if found.fate in (Fate.MEASURED, Fate.APPLIED) and named.spelled:
            found = replace(found, fate=Fate.TRANSLATED, reason=named.spelled)
        if self._origin is None and found.fate not in (Fate.MEASURED, Fate.APPLIED):
            return replace(found, fate=Fate.REFUSED, became=())
        return found

    def _judged(self, named: Named, redo: Mapping[str, Change]) -> LineResult:
        setting = named.setting
        if named.limits:
            return line_of(setting, Fate.KEPT, f"limits {named.limits}, and sets no value")
        if not named.name:
            return self._unknown(setting)
        knob = load_catalogue().get(named.name)
        if knob is not None:
            return self._knob(knob, named, redo)
        option = load_options().options.get(named.name) or Option(name=named.name)
        if not self._names.has(named.name):
            nobody = option.mysql is option.percona is option.mariadb is None
            # A server lists the options of a plugin only where the plugin is loaded.
            if of_plugin(named.name) and (nobody or option.has(self._target)):
                return line_of(setting, Fate.KEPT, why_kept(named.name))
            return line_of(setting, Fate.REMOVED, option.why_absent(self._target))
        return self._option(option, named)

    def _unknown(self, setting: Setting) -> LineResult:
        if of_plugin(setting.name):
            return line_of(setting, Fate.KEPT, why_kept(setting.name))
        if setting.loose:
            reason = "no server knows it, and its loose_ prefix lets a server ignore it"
            return line_of(setting, Fate.KEPT, reason)
        near = None
        if self._hints < _MAX_HINTS:
            self._hints += 1
            near = self._names.nearest(setting.name)
        hint = f"; did you mean {near}?" if near else ""
        return line_of(setting, Fate.REFUSED, f"no server knows this option{hint}")

    def _knob(self, knob: Knob, named: Named, redo: Mapping[str, Change]) -> LineResult:
        setting = named.setting
        if knob.set_by is not None:
            reason = why_kept(knob.name) if knob.set_by is SetBy.ADVISOR else STUDY
            return line_of(setting, Fate.KEPT, reason)
        try:
            found = self._carried(knob, named.value, redo)
        except BadValue as bad:
            is_here = self._origin is not None and knob.exists_in(self._target)
            if knob.kind is Kind.BOOL and named.value and is_here:
                reason = f"{shown(named.value)} is neither ON nor OFF, which servers read as OFF"
                return line_of(setting, Fate.TRANSLATED, reason, ((knob.name, "OFF"),))
            return self._refused(knob, named, bad)
        fixed = dict(found.became).get(knob.name) if knob.new_data_dir else None
        if fixed is not None and fixed != (default := knob.default(self._target)):
            reason = f"is fixed when the data directory is made; the dataset has {default}"
            return line_of(setting, Fate.KEPT, reason)
        fate = _FATES[found.action]
        if fate is Fate.REMOVED and knob.exists_in(self._target):
            fate = Fate.KEPT
        elif found.action is Action.RENAMED and not found.became:
            fate = Fate.REMOVED
        return line_of(setting, fate, found.detail, found.became)

    def _refused(self, knob: Knob, named: Named, bad: BadValue) -> LineResult:
        """The fate of a value that cannot be measured as it is written."""
        setting, text = named.setting, named.value or ""
        if self._origin is not None and text.isdecimal() and knob.kind is Kind.ENUM:
            reason = f"{text} is the number of a word, which differs between versions: write that"
            return line_of(setting, Fate.KEPT, reason)
        is_here = self._origin is not None and knob.exists_in(self._target)
        limits = knob.limits(self._target) if is_here and not self._target.mariadb else None
        if limits is not None and re.fullmatch(r"-[0-9]{1,9}", text):
            reason = f"MySQL changes {text} to the least value"
            became = ((knob.name, f"{int(limits.low)}"),)
            return line_of(setting, Fate.TRANSLATED, reason, became)
        return line_of(setting, Fate.REFUSED, str(bad))

    def _carried(self, knob: Knob, value: str | None, redo: Mapping[str, Change]) -> Change:
        if self._origin is not None:
            return redo.get(knob.name) or carry_over(knob, value, self._origin, self._target)
        if not knob.exists_in(self._target):
            raise BadValue(why_absent(knob, self._target))
        return Change(Action.KEPT, ((knob.name, normalise(knob, value, self._target)),))

    def _option(self, option: Option, named: Named) -> LineResult:
        setting, name = named.setting, option.name
        value = named.value
        if not option.applied:
            return line_of(setting, Fate.KEPT, why_kept(name))
        if value is None:
            if option.type is OptionType.NUMBER:
                return line_of(setting, Fate.REFUSED, "needs a value")
            value = "ON"
        if option.type is OptionType.SWITCH:
            if value.lower() not in SWITCHES:
                reason = f"{shown(value)} is neither ON nor OFF, which servers read as OFF"
                return line_of(setting, Fate.TRANSLATED, reason, ((name, "OFF"),))
            value = SWITCHES[value.lower()]
        if option.type is OptionType.NUMBER:
            number = _NUMBER.match(value)
            is_negative = value.startswith("-") and self._target.mariadb
            if number is None or is_negative:
                return line_of(setting, Fate.REFUSED, f"{shown(value)} is not a number")
            value = number[0]
        if option.only and not re.fullmatch(option.only, value, re.IGNORECASE):
            return line_of(setting, Fate.REFUSED, f"cannot be {shown(value)}")
        if name in load_options().flags:
            return self._flags(option, setting, value)
        if (now := _charset(name, value, self._target)) is not None and now != value:
            reason = f"{self._target} does not know {shown(value)}"
            became = ((name, now),) if now else ()
            fate = Fate.TRANSLATED if now else Fate.REMOVED
            return line_of(setting, fate, reason, became)
        if not option.harmless(value):
            reason = f"a run sets no {shown(value)}, which may need what the real server has"
            return line_of(setting, Fate.KEPT, reason)
        return line_of(setting, Fate.APPLIED, "", ((name, value),))

    def _flags(self, option: Option, setting: Setting, value: str) -> LineResult:
        strange = dict(unknown_flags(option.name, value, self._target))
        if wrong := [word for word, is_known in strange.items() if not is_known]:
            reason = f"no server knows {', '.join(map(shown, wrong))}"
            return line_of(setting, Fate.REFUSED, reason)
        if not strange:
            if not option.harmless(value):
                return line_of(setting, Fate.REFUSED, f"cannot be {shown(value)}")
            return line_of(setting, Fate.APPLIED, "", ((option.name, value),))
        left = ",".join(word for part in value.split(",") if (word := part.strip()) not in strange)
        reason = f"{self._target} does not have {', '.join(strange)}"
        return line_of(setting, Fate.TRANSLATED, reason, ((option.name, left),))


def line_of(
    setting: Setting, fate: Fate, reason: str = "", became: tuple[tuple[str, str], ...] = ()
) -> LineResult:
    """The result of a setting."""
    name = printable(setting.name, _MAX_NAME)
    return LineResult(
        setting.line, name, setting.text, fate, reason, became, setting.value, setting.group
    )


def _is_switch(name: str) -> bool:
    """Whether an option can be switched by a prefix such as `skip_`."""
    if knob := load_catalogue().get(name):
        return knob.kind in (Kind.BOOL, Kind.ENUM, Kind.FLAG)
    option = load_options().options.get(name)
    return option is None or option.type is not OptionType.NUMBER


def _charset(name: str, value: str, target: ServerTraits) -> str | None:
    """The present name of a character set or collation, "" if the target has none like it."""
    if name not in ("character_set_server", "collation_server"):
        return None
    plain = value.lower()
    if target.mariadb:
        return "" if "_0900_" in plain and target.version < (11, 4, 5) else value
    if target.version >= (8, 4, 0) and re.fullmatch(r"utf8(_.*)?", plain):
        return "utf8mb3" + plain.removeprefix("utf8")
    return value

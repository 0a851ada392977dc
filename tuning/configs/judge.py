"""Judges the options of a config for a server: each ends in one fate."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from tuning.catalogue.knob import Durability, Kind, Knob, SetBy
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
from tuning.configs.line import Action, Fate, LineResult, Note
from tuning.configs.price import leaves_out_fsync, too_unsafe
from tuning.configs.translate import carry_over, translate_redo, why_absent
from tuning.configs.values import SWITCHES, BadValue, normalise, printable, shown
from tuning.configs.variables import FLUSH_METHOD, REDO

_MAX_NAME = 80
_MAX_HINTS = 50  # a search takes milliseconds, and a file may have thousands of wrong names
_PREFIX = re.compile(r"(skip|disable|enable|maximum)_(.+)", re.IGNORECASE)
# Servers read one suffix of a whole number and nothing after it.
_NUMBER = re.compile(r"-?[0-9]+(?:[KMGTPE]|(?:\.[0-9]+)?$)", re.IGNORECASE | re.ASCII)
_SET = (Fate.MEASURED, Fate.APPLIED)
_NO_KNOB = "is not in the catalogue"


@dataclass(frozen=True)
class _Named:
    """A line whose value has prefixes such as `skip_` resolved, and its option's full name.

    option: "" if no server knows it. spelled: how it would be written today, "" if it is so.
    """

    line: LineResult
    option: str
    spelled: str = ""


class Judge:
    """Judges the options of one config for a server.

    origin: the server that it was written for. With None nothing is translated: what a run cannot
    set as it is written is refused. own: the options that the server program lists, if known.
    """

    def __init__(
        self, target: ServerTraits, origin: Origin | None, own: Collection[str] | None = None
    ) -> None:
        self._target = target
        self._origin = origin
        self._names = Names(target, own)
        self._hints = 0

    def judge(self, settings: Sequence[LineResult]) -> list[LineResult]:
        """Return the lines with their fates; of an option that is set twice, the last counts."""
        named = [self._named(one) for one in settings]
        last = {one.option: index for index, one in enumerate(named) if one.option}
        redo: Mapping[str, LineResult] = {}
        if self._origin is not None:
            sized = {name: named[last[name]].line for name in REDO if name in last}
            redo = translate_redo(sized, self._origin, self._target)
        lines = []
        for index, one in enumerate(named):
            found = self._judged(one, redo)
            if found.fate in _SET and one.spelled:
                found = found.ends(Fate.TRANSLATED, one.spelled, found.became)
            if self._origin is None and found.fate not in _SET:
                found = found.ends(Fate.REFUSED, found.reason)
            counts = last.get(one.option, index)
            if counts != index and found.fate is not Fate.REFUSED:
                reason = f"set again on line {settings[counts].number}, which counts"
                found = found.ends(Fate.KEPT, reason)
            written = settings[index].ends(found.fate, found.reason, found.became)
            lines.append(replace(written, name=printable(written.name, _MAX_NAME)))
        return lines

    def _named(self, line: LineResult) -> _Named:
        """Find the option of a line, as servers do."""
        prefix = _PREFIX.fullmatch(line.name)
        switched = self._names.full(prefix[2]) if prefix else None
        if prefix and switched and prefix[1].lower() != "maximum" and not _is_switch(switched):
            switched = None
        full = self._names.full(line.name)
        if full and (self._names.has(full) or not switched):
            now = (option := load_options().options.get(full)) and option.now
            if now and self._origin is not None and not self._names.has(full):
                return _Named(line, now, f"is now called {now}")
            return _Named(line, full, "" if full == line.name else f"means {full}; written out")
        if prefix is None or switched is None:
            return _Named(line, "")
        word = prefix[1].lower()
        if word == "maximum":
            limits = f"limits {switched}, and sets no value"
            return _Named(line.ends(Fate.KEPT, limits), "")
        is_on = (word == "enable") == ((line.value or "1").lower() in ("1", "on", "true"))
        return _Named(replace(line, value="ON" if is_on else "OFF"), switched)

    def _judged(self, named: _Named, redo: Mapping[str, LineResult]) -> LineResult:
        line, name = named.line, named.option
        if line.reason:
            return line
        if not name:
            return self._unknown(line)
        knob = load_catalogue().get(name)
        if knob is not None:
            return self._knob(line, knob, redo)
        option = load_options().options.get(name) or Option(name=name)
        if self._names.has(name):
            return self._option(line, option)
        nobody = option.mysql is option.percona is option.mariadb is None
        # A server lists the options of a plugin only where the plugin is loaded.
        if of_plugin(name) and (nobody or option.has(self._target)):
            return line.ends(Fate.KEPT, why_kept(name))
        return line.ends(Fate.REMOVED, option.why_absent(self._target))

    def _unknown(self, line: LineResult) -> LineResult:
        if of_plugin(line.name):
            return line.ends(Fate.KEPT, why_kept(line.name))
        if line.is_loose:
            reason = "no server knows it, and its loose_ prefix lets a server ignore it"
            return line.ends(Fate.KEPT, reason)
        near = None
        if self._hints < _MAX_HINTS:
            self._hints += 1
            near = self._names.nearest(line.name)
        hint = f"; did you mean {near}?" if near else ""
        return line.ends(Fate.REFUSED, f"no server knows this option{hint}")

    def _knob(self, line: LineResult, knob: Knob, redo: Mapping[str, LineResult]) -> LineResult:
        if knob.set_by is not None:
            of_study = "is set for the whole study, not by a config"
            return line.ends(
                Fate.KEPT, why_kept(knob.name) if knob.set_by is SetBy.ADVISOR else of_study
            )
        if knob.name in redo:
            return redo[knob.name]
        try:
            if self._origin is not None:
                found = carry_over(line, knob, self._origin, self._target)
            elif not knob.exists_in(self._target):
                return line.ends(Fate.REFUSED, why_absent(knob, self._target))
            else:
                value = normalise(knob, line.value, self._target)
                found = line.ends(Fate.MEASURED, "", ((knob.name, value),))
        except BadValue as bad:
            return self._corrected(line, knob) or line.ends(Fate.REFUSED, str(bad))
        default = knob.default(self._target) if knob.new_data_dir else None
        if default is not None and dict(found.became).get(knob.name, default) != default:
            reason = f"is fixed when the data directory is made; the dataset has {default}"
            return line.ends(Fate.KEPT, reason)
        return found

    def _corrected(self, line: LineResult, knob: Knob) -> LineResult | None:
        """The fate of a value that servers correct in silence; None if they refuse it."""
        text = line.value or ""
        if self._origin is None:
            return None
        if text.isdecimal() and knob.kind is Kind.ENUM:
            reason = f"{text} is the number of a word, which differs between versions: write that"
            return line.ends(Fate.KEPT, reason)
        if not knob.exists_in(self._target):
            return None
        if knob.kind is Kind.BOOL and text:
            return _read_as_off(line, knob.name)
        limits = None if self._target.mariadb else knob.limits(self._target)
        if limits is not None and re.fullmatch(r"-[0-9]{1,9}", text):
            reason = f"MySQL changes {text} to the least value"
            return line.ends(Fate.TRANSLATED, reason, ((knob.name, f"{int(limits.low)}"),))
        return None

    def _option(self, line: LineResult, option: Option) -> LineResult:
        name, value = option.name, line.value
        if not option.applied:
            return line.ends(Fate.KEPT, why_kept(name))
        if value is None and option.type is OptionType.NUMBER:
            return line.ends(Fate.REFUSED, "needs a value")
        value = "ON" if value is None else value
        if option.type is OptionType.SWITCH:
            if value.lower() not in SWITCHES:
                return _read_as_off(line, name)
            value = SWITCHES[value.lower()]
        if option.type is OptionType.NUMBER:
            number = _NUMBER.match(value)
            if number is None or (value.startswith("-") and self._target.mariadb):
                return line.ends(Fate.REFUSED, f"{shown(value)} is not a number")
            value = number[0]
        if option.only and not re.fullmatch(option.only, value, re.IGNORECASE):
            return line.ends(Fate.REFUSED, f"cannot be {shown(value)}")
        if name in load_options().flags:
            return self._flags(line, option, value)
        if (now := _charset(name, value, self._target)) != value:
            reason = f"{self._target} does not know {shown(value)}"
            fate = Fate.TRANSLATED if now else Fate.REMOVED
            return line.ends(fate, reason, ((name, now),) if now else ())
        if not option.harmless(value):
            reason = f"a run sets no {shown(value)}, which may need what the real server has"
            return line.ends(Fate.KEPT, reason)
        return line.ends(Fate.APPLIED, "", ((name, value),))

    def _flags(self, line: LineResult, option: Option, value: str) -> LineResult:
        strange = dict(unknown_flags(option.name, value, self._target))
        if wrong := [word for word, is_known in strange.items() if not is_known]:
            return line.ends(Fate.REFUSED, f"no server knows {', '.join(map(shown, wrong))}")
        if not strange and not option.harmless(value):
            return line.ends(Fate.REFUSED, f"cannot be {shown(value)}")
        if not strange:
            return line.ends(Fate.APPLIED, "", ((option.name, value),))
        left = ",".join(word for part in value.split(",") if (word := part.strip()) not in strange)
        reason = f"{self._target} does not have {', '.join(strange)}"
        return line.ends(Fate.TRANSLATED, reason, ((option.name, left),))


def _read_as_off(line: LineResult, name: str) -> LineResult:
    reason = f"{shown(line.value or '')} is neither ON nor OFF, which servers read as OFF"
    return line.ends(Fate.TRANSLATED, reason, ((name, "OFF"),))


def _is_switch(name: str) -> bool:
    """Whether an option can be switched by a prefix such as `skip_`."""
    if knob := load_catalogue().get(name):
        return knob.kind in (Kind.BOOL, Kind.ENUM, Kind.FLAG)
    option = load_options().options.get(name)
    return option is None or option.type is not OptionType.NUMBER


def _charset(name: str, value: str, target: ServerTraits) -> str:
    """The present name of a character set or collation, "" if the target has none like it."""
    if name not in ("character_set_server", "collation_server"):
        return value
    plain = value.lower()
    if target.mariadb:
        return "" if "_0900_" in plain and target.version < (11, 4, 5) else value
    if target.version >= (8, 4, 0) and re.fullmatch(r"utf8(_.*)?", plain):
        return "utf8mb3" + plain.removeprefix("utf8")
    return value


def setters(lines: Sequence[LineResult]) -> dict[str, int]:
    """The index of the line that sets each variable: its own name counts more than another's."""
    ranked = sorted(range(len(lines)), key=lambda at: lines[at].fate is not Fate.TRANSLATED)
    found = {name: at for at in ranked for name, _ in lines[at].became}
    return dict(sorted(found.items(), key=lambda pair: pair[1]))


def translate_knobs(
    knobs: Mapping[str, str],
    origin: Origin,
    target: ServerTraits,
    *,
    durability: Durability = Durability.D0,
) -> tuple[dict[str, str], tuple[Note, ...]]:
    """Return knobs that no user can edit as the target has them, and a note per changed one.

    knobs: of a preset or a stored config; "" for one that the source left empty.
    Never refuses: what the target or a study of that durability does not allow is left at the
    server's default.
    """
    settings = [LineResult(0, name, value=text) for name, text in knobs.items()]
    lines = Judge(target, origin).judge(settings)
    catalogued = load_catalogue().knobs
    sets = {name: at for name, at in setters(lines).items() if name in catalogued}
    found = {name: dict(lines[at].became)[name] for name, at in sets.items()}
    actions = {Fate.TRANSLATED: Action.ADJUSTED, Fate.REMOVED: Action.DROPPED}
    notes = {
        line.name: Note(line.name, actions.get(line.fate, Action.HELD), line.reason or _NO_KNOB)
        for line in lines
        if line.fate is not Fate.MEASURED
    }
    for name, reason in too_unsafe(found, durability):
        del found[name]
        detail = f"at the server's default: {reason}"
        notes[name] = Note(name, Action.HELD, detail)
    if durability < Durability.D2 and leaves_out_fsync(found, target):
        found[FLUSH_METHOD] = "O_DIRECT"
        detail = (
            f"set to O_DIRECT: with innodb_dedicated_server {target} would choose "
            f"O_DIRECT_NO_FSYNC (class D2), but only {durability} is allowed"
        )
        notes[FLUSH_METHOD] = Note(FLUSH_METHOD, Action.ADJUSTED, detail)
    return found, tuple(notes.values())

"""The gate: only knobs of the catalogue, with values the target really takes, get through.

This is its first stage (names, types, units, ranges, version, durability) and the rules across
knobs that need no host. What the server itself makes of a config is read back after its start
(`tuning.configs.readback`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tuning.catalogue.knob import Durability, Facts, Kind, Knob, SetBy
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.timeline import reached
from tuning.configs.cnf import Setting
from tuning.configs.notes import Action, Note
from tuning.configs.refusals import refusal
from tuning.configs.rules import broken_rules
from tuning.configs.target import FLAVOUR_NAMES, ServerTraits, Version
from tuning.configs.values import BadValue, normalise
from tuning.errors import InvalidConfig, Problem

_SWITCH = re.compile(r"(skip|disable|enable)_(.+)")
_ADVISOR = "names a file or directory, and the advisor places files itself; delete this line"
_STUDY = "binary logging is chosen for the whole study, not by one config; delete this line"


@dataclass(frozen=True)
class Checked:
    """Normalised knobs (lower case, bytes as numbers, ON/OFF) and what is worth knowing."""

    knobs: dict[str, str]
    notes: tuple[Note, ...] = ()


class _Refused(ValueError):
    """The setting cannot be used; the message is the reason."""


def check(
    settings: Iterable[Setting],
    target: ServerTraits,
    *,
    source: str = "my.cnf",
    durability: Durability = Durability.D0,
) -> Checked:
    """Check the settings of a my.cnf; raises InvalidConfig with every problem found.

    A key that is set twice counts as the server counts it: the last one wins, and a note says so.
    """
    problems: list[Problem] = []
    notes: list[Note] = []
    found: dict[str, list[tuple[Setting, str]]] = {}
    for setting in settings:
        try:
            knob, text = _resolve(setting, target)
            if knob is None:
                notes.append(_ignored(setting, target))
                continue
            value = _value(knob, text, target)
            found.setdefault(knob.name, []).append((setting, value))
        except (_Refused, BadValue) as refused:
            problems.append(Problem(source, setting.line, setting.name, str(refused)))
    lines = {name: occurrences[-1][0].line for name, occurrences in found.items()}
    knobs = {name: occurrences[-1][1] for name, occurrences in found.items()}
    for name, reason in [*_too_unsafe(knobs, durability), *broken_rules(knobs, target)]:
        problems.append(Problem(source, lines[name], name, reason))
    if problems:
        raise InvalidConfig(sorted(problems, key=lambda problem: problem.line or 0))
    notes += [_duplicate(name, [s.line for s, _ in o]) for name, o in found.items() if len(o) > 1]
    notes += [note for name in knobs if (note := _remark(name, target)) is not None]
    return Checked(knobs, tuple(notes))


def check_knobs(
    knobs: Mapping[str, str | None],
    target: ServerTraits,
    *,
    source: str,
    durability: Durability = Durability.D0,
) -> Checked:
    """The same gate for knobs that come from no file (presets, translations)."""
    settings = [Setting(name, value, line=0) for name, value in knobs.items()]
    try:
        return check(settings, target, source=source, durability=durability)
    except InvalidConfig as refused:
        raise InvalidConfig(
            Problem(p.source, None, p.name, p.reason) for p in refused.problems
        ) from None


def durability_of(knobs: Mapping[str, str]) -> Durability:
    """The class of a set of normalised knobs: that of its least safe value."""
    return max((given for given, _ in _losses(knobs).values()), default=Durability.D0)


def _resolve(setting: Setting, target: ServerTraits) -> tuple[Knob | None, str | None]:
    """The knob a setting means and the text of its value; None where the server ignores it."""
    catalogue = load_catalogue()
    name, text = setting.name, setting.value
    knob = catalogue.get(name)
    if knob is None and (switch := _SWITCH.fullmatch(name)) and catalogue.get(switch[2]):
        knob = catalogue.knobs[switch[2]]
        if knob.kind not in (Kind.BOOL, Kind.ENUM, Kind.FLAG):
            raise _Refused(f"{knob.name} is no switch; delete this line or give it a value")
        if text is not None:
            raise _Refused(f"has a value beside its prefix; write {switch[2]} = {text}")
        text = "ON" if switch[1] == "enable" else "OFF"
    if knob is None:
        raise _Refused(_why_unknown(name, target))
    if knob.set_by is not None:
        raise _Refused(_ADVISOR if knob.set_by is SetBy.ADVISOR else _STUDY)
    if not knob.exists_in(target):
        if setting.loose:
            return None, text
        raise _Refused(why_absent(knob, target))
    return knob, text


def _value(knob: Knob, text: str | None, target: ServerTraits) -> str:
    value = normalise(knob, text, target)
    if knob.new_data_dir and value != knob.default(target):
        raise _Refused(
            f"is fixed when the data directory is made; the dataset has {knob.default(target)}"
        )
    return value


def _why_unknown(name: str, target: ServerTraits) -> str:
    known = refusal(name)
    if known is not None:
        return known
    close = load_catalogue().closest(name, target)
    hint = f"did you mean {close}?" if close else "delete this line"
    return f"is not a knob that the advisor tunes; {hint}"


def why_absent(knob: Knob, target: ServerTraits) -> str:
    """Why the target does not have a catalogued variable, and what it has instead."""
    facts = knob.facts(target)
    successor = load_catalogue().get(facts.successor) if facts.successor else None
    instead = f"; use {successor.name}" if successor and successor.exists_in(target) else ""
    return f"{target} does not have it{_history(knob, facts, target.version)}{instead}"


def _history(knob: Knob, facts: Facts, version: Version) -> str:
    if reached(version, facts.removed):
        return f" (removed in {_text(facts.removed[0])})"
    if facts.default and facts.added:
        return f" (it came with {', '.join(_text(release) for release in facts.added)})"
    owners = [FLAVOUR_NAMES[flavour] for flavour, other in knob.flavours.items() if other.default]
    return f" (only {' and '.join(owners)} {'has' if len(owners) == 1 else 'have'} it)"


def _text(version: Version) -> str:
    return ".".join(str(number) for number in version)


def _losses(knobs: Mapping[str, str]) -> dict[str, tuple[Durability, str]]:
    found: dict[str, tuple[Durability, str]] = {}
    for name, value in knobs.items():
        knob = load_catalogue().get(name)
        for rule in knob.durability if knob else ():
            if rule.matches(value, knobs):
                found[name] = (rule.durability, rule.loses)
    return found


def _too_unsafe(knobs: Mapping[str, str], allowed: Durability) -> list[tuple[str, str]]:
    return [
        (name, f"{knobs[name]} gives up {loses}: class {given}, but this study is {allowed}")
        for name, (given, loses) in _losses(knobs).items()
        if given > allowed
    ]


def _ignored(setting: Setting, target: ServerTraits) -> Note:
    detail = f"{target} does not have it and ignores it because of its loose_ prefix"
    return Note(setting.name, Action.DROPPED, detail)


def _duplicate(name: str, lines: list[int]) -> Note:
    places = f"{', '.join(str(line) for line in lines[:-1])} and {lines[-1]}"
    return Note(name, Action.KEPT, f"set on lines {places}: the last one counts")


def _remark(name: str, target: ServerTraits) -> Note | None:
    facts = load_catalogue().knobs[name].facts(target)
    if reached(target.version, facts.ignored):
        return Note(name, Action.KEPT, f"accepted by {target}, but without effect")
    if reached(target.version, facts.deprecated):
        instead = f"; its successor is {facts.successor}" if facts.successor else ""
        return Note(name, Action.KEPT, f"deprecated in {target}{instead}")
    return None

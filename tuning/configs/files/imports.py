"""Any my.cnf, told line by line: what was kept, renamed, adjusted, dropped or refused, and why.

Without translation a file is taken as it is or refused; what translation would do is said. The
gate (`tuning.configs.gate.check`) is the same pass over settings that come from no file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tuning.catalogue.knob import Durability
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ServerTraits
from tuning.catalogue.timeline import reached
from tuning.configs.files.cnf import Setting, older_group, scan_cnf, server_group
from tuning.configs.files.lookup import Read, Reader, settle, translated_redo
from tuning.configs.gate.circumstances import UNKNOWN, Circumstances
from tuning.configs.gate.effects import remarks
from tuning.configs.gate.rules import broken_rules
from tuning.configs.gate.safety import too_unsafe
from tuning.configs.gate.workload import fit_to_workload
from tuning.configs.notes import Action, Note
from tuning.configs.translation.settled import ANY_VERSION, AnyVersion, Origin, Settled
from tuning.errors import Problem

__all__ = [
    "ANY_VERSION",
    "AnyVersion",
    "ImportReport",
    "ImportedLine",
    "Origin",
    "import_cnf",
    "import_settings",
]

_LONGEST_GIVEN = 200


@dataclass(frozen=True)
class ImportedLine:
    """One line of the file for people: `given` None for a bare option, `line` 0 for no file.

    `became` has the normalised knobs that the line puts into the config.
    """

    line: int
    name: str
    given: str | None
    action: Action
    became: tuple[tuple[str, str], ...] = ()
    detail: str = ""


@dataclass(frozen=True)
class ImportReport:
    """All that is to say of a file; its `knobs` may be used when there are no `problems`.

    `value_problems` are those of single lines, `rule_problems` those of lines together.
    """

    source: str
    target: ServerTraits
    lines: tuple[ImportedLine, ...]
    knobs: dict[str, str]
    notes: tuple[Note, ...]
    value_problems: tuple[Problem, ...] = ()
    rule_problems: tuple[Problem, ...] = ()

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Every problem, in the order of the lines."""
        return _sorted([*self.value_problems, *self.rule_problems])


def import_cnf(
    data: bytes,
    source: str,
    target: ServerTraits,
    *,
    translate_from: Origin | None = None,
    durability: Durability = Durability.D0,
    circumstances: Circumstances = UNKNOWN,
) -> ImportReport:
    """Read the bytes of a my.cnf for a server; never raises, whatever they are.

    `translate_from` is the server that the file was written for (ANY_VERSION: an older one, nobody
    knows which); None takes the file as it is. Values below the study's `durability` are refused
    either way.
    """
    reader = translate_from if isinstance(translate_from, ServerTraits) else target
    file = scan_cnf(data, source, lambda group: _reads(group, target, translate_from))
    problems = list(file.problems)
    if not file.settings and not problems:
        others = ", ".join(_group(group) for group in file.other_groups[:20])
        groups = f"; it has only {others}" if others else ""
        reason = f"sets nothing that {reader} reads{groups}; options go under [mysqld]"
        problems.append(Problem(source, None, "", reason))
    report = import_settings(
        file.settings,
        target,
        source=source,
        translate_from=translate_from,
        durability=durability,
        circumstances=circumstances,
    )

    def unread(group: str) -> str:
        blank = f"; it takes the blank for a part of the name: write {_group(group.strip())}"
        return f"a group that {reader} does not read{blank if group != group.strip() else ''}"

    lines = [
        *(ImportedLine(p.line or 0, p.name, None, Action.REFUSED, (), p.reason) for p in problems),
        *(
            ImportedLine(n, _group(g), None, Action.DROPPED, (), unread(g))
            for n, g in file.skipped
        ),
        *report.lines,
    ]
    groups_left = [
        Note(_group(group), Action.DROPPED, unread(group)) for group in file.other_groups
    ]
    return ImportReport(
        source=source,
        target=target,
        lines=tuple(sorted(lines, key=lambda line: line.line)),
        knobs=report.knobs,
        notes=(*groups_left, *report.notes),
        value_problems=_sorted([*problems, *report.value_problems]),
        rule_problems=report.rule_problems,
    )


def import_settings(
    settings: Iterable[Setting],
    target: ServerTraits,
    *,
    source: str,
    translate_from: Origin | None = None,
    durability: Durability = Durability.D0,
    circumstances: Circumstances = UNKNOWN,
    fit: bool = True,
) -> ImportReport:
    """The same for settings that have been read already.

    A key that is set twice counts as the server counts it: the last one wins, and a note says so.
    `fit` raises what the workload needs and the settings leave at a lower default.
    """
    reader = Reader(target, translate_from)
    read = [reader.read(setting) for setting in settings]
    last = {r.knob.name: r for r in read if r.knob is not None and r.settled is None}
    redo = translated_redo(last, translate_from, target)
    again = _set_again(read)
    settled = [
        settle(r, translate_from, target, redo, counts=place not in again)
        for place, r in enumerate(read)
    ]
    knobs, holders = _merge(settled, again)

    refused = {place: what for place, what in enumerate(settled) if isinstance(what, str)}
    for name, reason in too_unsafe(knobs, durability, target):
        refused.setdefault(holders[name], reason)
    values = [_problem(source, read[place].setting, why) for place, why in refused.items()]
    line_of = {name: read[place].setting for name, place in holders.items()}
    fitted = fit_to_workload(knobs, target, circumstances) if fit else None
    usable = {**knobs, **(fitted.knobs if fitted else {})}
    rules = [
        Problem(source, line_of[name].line if name in line_of else None, name, reason)
        for name, reason in broken_rules(usable, target, circumstances)
    ]
    return ImportReport(
        source=source,
        target=target,
        lines=_lines(read, settled, refused, holders, again),
        knobs=usable,
        notes=(
            *_notes(read, settled, target, again),
            *(fitted.notes if fitted else ()),
            *remarks(usable, target, circumstances),
        ),
        value_problems=_sorted(values),
        rule_problems=_sorted(rules),
    )


def _reads(group: str, target: ServerTraits, origin: Origin | None) -> bool:
    """Which groups count: those that the server read which the file was written for."""
    if origin is None:
        return server_group(group, target)
    if isinstance(origin, ServerTraits):
        return server_group(group, origin)
    return older_group(group, target)


def _set_again(read: list[Read]) -> dict[int, int]:
    """For each setting whose knob is set again, the place of the last one, which counts.

    It counts as well where it is dropped: the server that the file was for had that value.
    """
    last = {_name_of(one): place for place, one in enumerate(read)}
    return {
        place: last[_name_of(one)]
        for place, one in enumerate(read)
        if last[_name_of(one)] != place
    }


def _name_of(one: Read) -> str:
    """The knob's own name, or that of the setting where it is renamed or not known."""
    return one.setting.name if one.knob is None or one.settled else one.knob.name


def _merge(
    settled: list[Settled | str], again: Mapping[int, int]
) -> tuple[dict[str, str], dict[str, int]]:
    """The knobs of the config and the place of the setting that each comes from.

    The last line counts, and what is set by its own name counts before what is renamed to it.
    """
    knobs: dict[str, str] = {}
    holders: dict[str, int] = {}
    for renamed in (True, False):
        for place, what in enumerate(settled):
            if isinstance(what, str) or (what.action is Action.RENAMED) is not renamed:
                continue
            if place in again:
                continue
            for name, value in what.became:
                knobs[name] = value
                holders[name] = place
    in_order = sorted(knobs, key=lambda name: holders[name])
    return {name: knobs[name] for name in in_order}, holders


def _lines(
    read: list[Read],
    settled: list[Settled | str],
    refused: Mapping[int, str],
    holders: Mapping[str, int],
    again: Mapping[int, int],
) -> tuple[ImportedLine, ...]:
    found = []
    for place, (one, what) in enumerate(zip(read, settled, strict=True)):
        line = one.setting.line
        name, given = shown_name(one.setting.name), _shown_value(one.setting.value)
        if place in refused:
            found.append(ImportedLine(line, name, given, Action.REFUSED, (), refused[place]))
        elif isinstance(what, str):
            continue  # refused, so it is there already
        elif place in again or (
            what.became and all(holders[new] != place for new, _ in what.became)
        ):
            counts = again[place] if place in again else holders[what.became[0][0]]
            other = read[counts].setting.line
            detail = f"set again on line {other}, which counts"
            found.append(ImportedLine(line, name, given, Action.DROPPED, (), detail))
        else:
            found.append(ImportedLine(line, name, given, what.action, what.became, what.detail))
    return tuple(found)


def _notes(
    read: list[Read],
    settled: list[Settled | str],
    target: ServerTraits,
    again: Mapping[int, int],
) -> list[Note]:
    """One note per knob that is not simply kept, then what is worth knowing of those that are."""
    changed: dict[str, Note] = {}
    places: dict[str, list[int]] = {}
    names: list[str] = []
    for place, (one, what) in enumerate(zip(read, settled, strict=True)):
        if isinstance(what, str):
            continue
        name = _name_of(one)
        if one.settled is None and one.knob is not None:
            places.setdefault(one.knob.name, []).append(one.setting.line)
        if place in again:
            continue
        if what.action is not Action.KEPT:
            changed[name] = Note(shown_name(name), what.action, what.detail)
        names += [new for new, _ in what.became if new not in names]
    twice = [_duplicate(name, lines) for name, lines in places.items() if len(lines) > 1]
    known = [note for name in names if (note := _remark(name, target)) is not None]
    return [*changed.values(), *twice, *known]


def _problem(source: str, setting: Setting, reason: str) -> Problem:
    return Problem(source, setting.line, shown_name(setting.name), reason)


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


def _sorted(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    return tuple(sorted(problems, key=lambda problem: problem.line or 0))


def shown_name(name: str) -> str:
    """A name for a message: without control characters, not too long."""
    return name if name.isprintable() and len(name) <= 80 else repr(name[:77] + "...")


def _group(name: str) -> str:
    return shown_name(f"[{name}]")


def _shown_value(value: str | None) -> str | None:
    if value is None or (value.isprintable() and len(value) <= _LONGEST_GIVEN):
        return value
    return repr(value if len(value) <= _LONGEST_GIVEN else value[: _LONGEST_GIVEN - 3] + "...")

"""The gate: accepts only knobs of the catalogue with values that the target really accepts.

These are its first two stages (names, types, units, ranges, version, durability; rules across
knobs), reported line by line: what was kept, renamed, adjusted, dropped or refused, and why. The
server itself is asked by a trial start and a read-back (`benchmarks.servers.trial`,
`tuning.configs.gate.stages`).

Without translation a file is used unchanged or refused; messages say what translation would do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tuning.catalogue.knob import Durability
from tuning.catalogue.target import ServerTraits
from tuning.configs.effective.durability import too_unsafe
from tuning.configs.effective.expected import Expected
from tuning.configs.effective.host import UNKNOWN, HostFacts
from tuning.configs.files.cnf import Setting, older_group, scan_cnf, server_group
from tuning.configs.files.lookup import Read, Reader
from tuning.configs.gate.remarks import remarks
from tuning.configs.gate.report import ImportedLine, ImportReport, Passage, in_order, shown_name
from tuning.configs.gate.rules import broken_rules
from tuning.configs.gate.workload import fit_to_workload
from tuning.configs.notes import Action, Note
from tuning.configs.translation.origin import Origin
from tuning.configs.translation.outcome import SettingOutcome
from tuning.configs.translation.setting import outcome_of, translated_redo
from tuning.errors import Problem


def import_cnf(
    data: bytes,
    source: str,
    target: ServerTraits,
    *,
    translate_from: Origin | None = None,
    durability: Durability = Durability.D0,
    host: HostFacts = UNKNOWN,
) -> ImportReport:
    """Read the bytes of a my.cnf for a server; never raises.

    `translate_from` is the server that the file was written for (ANY_VERSION: an unknown older
    one); with None the file is used unchanged. Values below the study's `durability` are refused
    in both cases.
    """
    reader = translate_from if isinstance(translate_from, ServerTraits) else target
    file = scan_cnf(data, source, lambda group: _reads(group, target, translate_from))
    problems = list(file.problems)
    if not file.settings and not problems:
        others = ", ".join(_group(group) for group in file.other_groups[:20])
        groups = f"; its only groups are {others}" if others else ""
        reason = f"sets nothing that {reader} reads{groups}; options belong under [mysqld]"
        problems.append(Problem(source, None, "", reason))
    report = import_settings(
        file.settings,
        target,
        source=source,
        translate_from=translate_from,
        durability=durability,
        host=host,
    )

    def unread(group: str) -> str:
        blank = f"; the blank is part of the name: write {_group(group.strip())}"
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
    if file.more_skipped:
        more = f"{file.more_skipped} more groups that {reader} does not read"
        groups_left.append(Note("[...]", Action.DROPPED, more))
        last = file.skipped[-1][0]
        lines.append(ImportedLine(last, "[...]", None, Action.DROPPED, (), more))
    return replace(
        report,
        lines=tuple(sorted(lines, key=lambda line: line.line)),
        notes=(*groups_left, *report.notes),
        value_problems=in_order([*problems, *report.value_problems]),
    )


def check_knobs(
    knobs: Mapping[str, str | None],
    target: ServerTraits,
    *,
    source: str,
    durability: Durability = Durability.D0,
    host: HostFacts = UNKNOWN,
    raises_set: bool = False,
) -> ImportReport:
    """The gate for knobs that do not come from a file (presets, translations).

    With `raises_set`, limits that are too low for the workload are raised even if they are set.
    Raises InvalidConfig with every problem found.
    """
    return import_settings(
        [Setting(name, value, line=0) for name, value in knobs.items()],
        target,
        source=source,
        durability=durability,
        host=host,
        raises_set=raises_set,
    ).accepted()


def import_settings(
    settings: Iterable[Setting],
    target: ServerTraits,
    *,
    source: str,
    translate_from: Origin | None = None,
    durability: Durability = Durability.D0,
    host: HostFacts = UNKNOWN,
    raises_set: bool = False,
) -> ImportReport:
    """The gate for settings that have already been read; line 0 means "no file".

    If a key is set twice, the last one counts, as in the server, and a note says so.
    """
    reader = Reader(target, translates=translate_from is not None)
    read = [reader.read(setting) for setting in settings]
    redo = translated_redo({r.name: r for r in read if r.is_by_name}, translate_from, target)
    again = _set_again(read)
    outcomes = [
        outcome_of(r, translate_from, target, redo, counts=index not in again)
        for index, r in enumerate(read)
    ]
    knobs, holders = _merge(outcomes, again)
    refused = {index: what for index, what in enumerate(outcomes) if isinstance(what, str)}
    for name, reason in too_unsafe(knobs, durability, target):
        refused.setdefault(holders[name], reason)
    passage = Passage(read, outcomes, again, holders, refused)

    fitted = fit_to_workload(Expected(knobs, target, host), also_set=raises_set)
    expected = Expected({**knobs, **fitted.knobs}, target, host)
    line_of = {name: read[index].setting.line or None for name, index in holders.items()}
    return ImportReport(
        source=source,
        target=target,
        lines=tuple(passage.lines()),
        knobs=dict(expected.knobs),
        notes=(*passage.notes(target), *fitted.notes, *remarks(expected)),
        value_problems=passage.problems(source),
        rule_problems=in_order(
            Problem(source, line_of.get(name), name, reason)
            for name, reason in broken_rules(expected)
        ),
    )


def _reads(group: str, target: ServerTraits, origin: Origin | None) -> bool:
    """Whether a group counts: the server that the file was written for reads it."""
    if origin is None:
        return server_group(group, target)
    if isinstance(origin, ServerTraits):
        return server_group(group, origin)
    return older_group(group, target)


def _set_again(read: list[Read]) -> dict[int, int]:
    """For each setting whose knob is set again, the index of the last one, which counts.

    It counts even if it is dropped: the original server had that value.
    """
    last = {one.name: index for index, one in enumerate(read)}
    return {index: last[one.name] for index, one in enumerate(read) if last[one.name] != index}


def _merge(
    outcomes: list[SettingOutcome | str], again: Mapping[int, int]
) -> tuple[dict[str, str], dict[str, int]]:
    """The knobs of the config and the index of the setting that each comes from.

    The last line counts, and a knob's own name takes precedence over a renamed one.
    """
    knobs: dict[str, str] = {}
    holders: dict[str, int] = {}
    for renamed in (True, False):
        for index, what in enumerate(outcomes):
            if isinstance(what, str) or (what.action is Action.RENAMED) is not renamed:
                continue
            if index in again:
                continue
            for name, value in what.became:
                knobs[name] = value
                holders[name] = index
    in_place = sorted(knobs, key=lambda name: holders[name])
    return {name: knobs[name] for name in in_place}, holders


def _group(name: str) -> str:
    return shown_name(f"[{name}]")

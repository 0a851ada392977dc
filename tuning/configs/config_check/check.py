"""The config check: the fate of every line of a my.cnf, and rules across knobs.

These are its first two stages. The server itself is asked by a trial start and a read-back
(`benchmarks.servers.trial`, `tuning.configs.config_check.stages`): it is the judge of values.

A file is translated for the target. Knobs that do not come from a file are used unchanged or
refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from tuning.catalogue.facts import reached
from tuning.catalogue.knob import Durability
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.options import Names
from tuning.catalogue.target import ANY_VERSION, Origin, ServerTraits
from tuning.configs.config_check.remarks import remarks
from tuning.configs.config_check.rules import adjusted, broken_rules, fit_to_workload
from tuning.configs.effective.durability import too_unsafe
from tuning.configs.effective.expected import UNKNOWN, Expected, HostFacts
from tuning.configs.judge import Judge, Named
from tuning.configs.line import Fate, LineResult
from tuning.configs.notes import Action, Note
from tuning.configs.parse import Setting, decode_cnf, older_group, scan_cnf, server_group
from tuning.errors import InvalidConfig, Problem


@dataclass(frozen=True)
class ConfigReport:
    """The complete report on a config; its `knobs` may be used if there are no `problems`.

    `applied` are the harmless options of a file, which every run of its study sets.
    `rule_problems` are of combinations of knobs, or of the file as a whole.
    """

    source: str
    target: ServerTraits
    lines: tuple[LineResult, ...]
    knobs: dict[str, str]
    notes: tuple[Note, ...] = ()
    applied: dict[str, str] = field(default_factory=dict)
    rule_problems: tuple[Problem, ...] = ()

    @property
    def value_problems(self) -> tuple[Problem, ...]:
        """A problem for each refused line."""
        return tuple(
            Problem(self.source, one.number or None, one.name, one.reason)
            for one in self.lines
            if one.fate is Fate.REFUSED
        )

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Every problem, in the order of the lines."""
        return in_order([*self.value_problems, *self.rule_problems])

    def accepted(self) -> ConfigReport:
        """The report itself; raises InvalidConfig if the config has problems."""
        if self.problems:
            raise InvalidConfig(self.problems)
        return self


def in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Problems in the order of their lines."""
    return tuple(sorted(problems, key=lambda problem: problem.line or 0))


def import_cnf(
    data: bytes,
    source: str,
    target: ServerTraits,
    *,
    translate_from: Origin = ANY_VERSION,
    host: HostFacts = UNKNOWN,
) -> ConfigReport:
    """Read the bytes of a my.cnf for a server; never raises.

    `translate_from` is the server that the file was written for.
    Any durability is accepted: it is the user's own. Where the server would correct a combination
    of values, a note says so.
    """

    def reads(group: str) -> bool:
        if isinstance(translate_from, ServerTraits):
            return server_group(group, translate_from) or server_group(group, target)
        return older_group(group, target)

    file = scan_cnf(decode_cnf(data)[0], reads, f"{target}")
    if file.problem:
        problem = Problem(source, None, "", file.problem)
        return ConfigReport(source, target, (), {}, rule_problems=(problem,))
    report = _report(file.settings, target, source, host, Durability.D2, translate_from)
    lines = sorted([*file.others, *report.lines], key=lambda line: line.number)
    notes = report.notes
    if not file.settings:
        detail = f"{target} reads no option of it: a run has the server's defaults"
        notes = (Note(source, Action.KEPT, detail), *notes)
    problems = report.rule_problems
    if not lines:
        problems = (Problem(source, None, "", "has no options"),)
    return replace(report, lines=tuple(lines), notes=notes, rule_problems=problems)


def check_knobs(
    knobs: Mapping[str, str | None],
    target: ServerTraits,
    *,
    source: str,
    durability: Durability = Durability.D0,
    host: HostFacts = UNKNOWN,
    raises_set: bool = False,
) -> ConfigReport:
    """The report on knobs that do not come from a file (presets, translations).

    With `raises_set`, limits that are too low for the workload are raised even if they are set.
    """
    settings = [Setting(name, value) for name, value in knobs.items()]
    return _report(settings, target, source, host, durability, None, raises_set=raises_set)


def _report(
    settings: Iterable[Setting],
    target: ServerTraits,
    source: str,
    host: HostFacts,
    durability: Durability,
    origin: Origin | None,
    *,
    raises_set: bool = False,
) -> ConfigReport:
    """The report on settings; if one is set twice, the last counts, as in the server."""
    is_file = origin is not None
    judge = Judge(target, Names(target, host.server_options), origin)
    named = [judge.name(setting) for setting in settings]
    redo = judge.redo({one.name: one for one in named})
    lines = _last_counts(named, [judge.judge(one, redo) for one in named])
    # An option's own name beats a translated one.
    ranked = sorted(range(len(lines)), key=lambda at: lines[at].fate is not Fate.TRANSLATED)
    sets = {name: index for index in ranked for name, _ in lines[index].became}
    knobs = {
        name: value
        for index, line in enumerate(lines)
        if line.fate is not Fate.REFUSED
        for name, value in line.became
        if sets[name] == index
    }
    applied = {name: knobs.pop(name) for name in list(knobs) if name not in load_catalogue().knobs}
    for name, reason in too_unsafe(knobs, durability, target):
        lines[sets[name]] = replace(lines[sets[name]], fate=Fate.REFUSED, reason=reason)
    if is_file:
        for name, value, reason in adjusted(Expected(knobs, target, host)):
            knobs[name] = value
            if name in sets:
                lines[sets[name]] = _translated(lines[sets[name]], name, value, reason)
    else:
        knobs, applied = {**knobs, **applied}, {}

    raised, fitted = fit_to_workload(Expected(knobs, target, host), also_set=raises_set or is_file)
    for note in fitted:
        if is_file and note.name in sets:
            line, value = lines[sets[note.name]], raised[note.name]
            lines[sets[note.name]] = _translated(line, note.name, value, note.detail)
    expected = Expected({**knobs, **raised}, target, host)
    broken = broken_rules(expected, only_fatal=is_file)
    return ConfigReport(
        source=source,
        target=target,
        lines=tuple(lines),
        knobs=dict(expected.knobs),
        applied=applied,
        notes=tuple(dict.fromkeys([*_notes(lines, target), *fitted, *remarks(expected)])),
        rule_problems=in_order(
            Problem(source, lines[sets[name]].number or None if name in sets else None, name, why)
            for name, why in broken
        ),
    )


def _last_counts(named: list[Named], lines: list[LineResult]) -> list[LineResult]:
    """The lines with those kept that another line of the same option makes void."""
    last = {one.name: index for index, one in enumerate(named) if one.name}
    return [
        line
        if line.fate is Fate.REFUSED or last.get(one.name, index) == index
        else replace(
            line,
            fate=Fate.KEPT,
            became=(),
            reason=f"set again on line {lines[last[one.name]].number}, which counts",
        )
        for index, (one, line) in enumerate(zip(named, lines, strict=True))
    ]


def _translated(line: LineResult, name: str, value: str, reason: str) -> LineResult:
    became = tuple((one, value if one == name else old) for one, old in line.became)
    return replace(line, fate=Fate.TRANSLATED, reason=reason, became=became)


def _notes(lines: list[LineResult], target: ServerTraits) -> list[Note]:
    """A note per line that was changed, then remarks on knobs that were not."""
    actions = {Fate.TRANSLATED: Action.ADJUSTED, Fate.REMOVED: Action.DROPPED}
    changed = [
        Note(line.name, actions[line.fate], line.reason) for line in lines if line.fate in actions
    ]
    became = dict.fromkeys(name for line in lines for name, _ in line.became)
    known = [note for name in became if (note := _remark(name, target)) is not None]
    return [*changed, *known]


def _remark(name: str, target: ServerTraits) -> Note | None:
    knob = load_catalogue().get(name)
    if knob is None:
        return None
    facts = knob.facts(target)
    if reached(target.version, facts.ignored):
        return Note(name, Action.KEPT, f"accepted by {target}, but without effect")
    if reached(target.version, facts.deprecated):
        instead = f"; its successor is {facts.successor}" if facts.successor else ""
        return Note(name, Action.KEPT, f"deprecated in {target}{instead}")
    return None

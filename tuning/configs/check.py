"""The config check: the fate of every line, rules across knobs, and what the server says.

Its first two stages, values and rules, run when a config is read. The server itself is asked by a
trial start and a read-back (`benchmarks.servers.trial`): it is the judge of values. Nothing here
starts anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any

from benchmarks.errors import RunFailed
from tuning.catalogue.facts import reached
from tuning.catalogue.knob import Durability
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ANY_VERSION, Origin, ServerTraits
from tuning.configs.expected import UNKNOWN, Expected, HostFacts
from tuning.configs.judge import Judge, setters
from tuning.configs.line import Action, Fate, LineResult, Note
from tuning.configs.parse import decode_cnf, older_group, scan_cnf, server_group
from tuning.configs.price import too_unsafe
from tuning.configs.readback import Difference, differences
from tuning.configs.rules import adjusted, broken_rules, fit_to_workload, remarks
from tuning.errors import InvalidConfig, Problem


class Stage(StrEnum):
    """The stages of the check, in order."""

    VALUES = "values"
    RULES = "rules"
    SERVER = "server"
    READ_BACK = "read_back"


@dataclass(frozen=True)
class StageResult:
    """The result of one stage; `reached` is False if an earlier stage failed.

    `outcome` is the code of a failed start (benchmarks.outcomes.Outcome), `differences` are values
    that the server changed: shown, not a failure. `seconds` is the time of a trial start.
    """

    stage: Stage
    problems: tuple[Problem, ...] = ()
    notes: tuple[Note, ...] = ()
    differences: tuple[Difference, ...] = ()
    log_tail: str = ""
    seconds: float | None = None
    reached: bool = True
    outcome: str = ""

    @property
    def passed(self) -> bool:
        """Whether it ran and found no problem."""
        return self.reached and not self.problems

    def document(self) -> dict[str, Any]:
        """The result as it is stored with a candidate."""
        return {**asdict(self), "passed": self.passed}


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
        found = [*self.value_problems, *self.rule_problems]
        return tuple(sorted(found, key=lambda problem: problem.line or 0))

    @property
    def stages(self) -> tuple[StageResult, ...]:
        """The results of values and rules, which always run."""
        return (
            StageResult(Stage.VALUES, problems=self.value_problems, notes=self.notes),
            StageResult(Stage.RULES, problems=self.rule_problems),
        )

    def accepted(self) -> ConfigReport:
        """The report itself; raises InvalidConfig if the config has problems."""
        if self.problems:
            raise InvalidConfig(self.problems)
        return self


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
    problem = file.problem
    if not problem and not (file.settings or file.others):
        problem = "has no options"
    if problem:
        problems = (Problem(source, None, "", problem),)
        return ConfigReport(source, target, (), {}, rule_problems=problems)
    report = _report(file.settings, target, source, host, Durability.D2, translate_from)
    notes = report.notes
    if not file.settings:
        detail = f"{target} reads no option of it: a run has the server's defaults"
        notes = (Note(source, Action.KEPT, detail), *notes)
    lines = sorted([*file.others, *report.lines], key=lambda line: line.number)
    return replace(report, lines=tuple(lines), notes=notes)


def check_knobs(
    knobs: Mapping[str, str | None],
    target: ServerTraits,
    *,
    source: str,
    durability: Durability = Durability.D0,
    host: HostFacts = UNKNOWN,
) -> ConfigReport:
    """The report on knobs that do not come from a file: they are used unchanged or refused.

    Only limits that are too low for the workload are raised.
    """
    settings = [LineResult(0, name, value=value) for name, value in knobs.items()]
    return _report(settings, target, source, host, durability, None)


def _report(
    settings: Sequence[LineResult],
    target: ServerTraits,
    source: str,
    host: HostFacts,
    durability: Durability,
    origin: Origin | None,
) -> ConfigReport:
    is_file = origin is not None
    lines = Judge(target, origin, host.server_options).judge(settings)
    sets = setters(lines)
    knobs = {name: dict(lines[at].became)[name] for name, at in sets.items()}
    applied: dict[str, str] = {}
    if is_file:
        catalogued = load_catalogue().knobs
        applied = {name: knobs.pop(name) for name in list(knobs) if name not in catalogued}
    for name, reason in too_unsafe(knobs, durability, target):
        lines[sets[name]] = lines[sets[name]].ends(Fate.REFUSED, reason)
    changes = adjusted(Expected(knobs, target, host)) if is_file else []
    knobs |= {name: value for name, value, _ in changes}
    raised = fit_to_workload(Expected(knobs, target, host))
    fitted = [Note(name, Action.ADJUSTED, reason) for name, _, reason in raised]
    for name, value, reason in (*changes, *raised):
        knobs[name] = value
        if is_file and name in sets:
            line = lines[sets[name]]
            became = tuple((one, value if one == name else old) for one, old in line.became)
            lines[sets[name]] = line.ends(Fate.TRANSLATED, reason, became)
    expected = Expected(knobs, target, host)
    return ConfigReport(
        source=source,
        target=target,
        lines=tuple(lines),
        knobs=knobs,
        applied=applied,
        notes=tuple(dict.fromkeys([*_notes(lines, target), *fitted, *remarks(expected)])),
        rule_problems=tuple(
            Problem(source, lines[sets[name]].number or None if name in sets else None, name, why)
            for name, why in broken_rules(expected, only_fatal=is_file)
        ),
    )


def _notes(lines: Iterable[LineResult], target: ServerTraits) -> list[Note]:
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


def refused_stages(
    source: str, knobs: Mapping[str, str], failure: RunFailed, line_of: Mapping[str, int]
) -> list[StageResult]:
    """The results of a trial start that failed, with the line of the knob that the server names.

    `line_of` has the lines of the file that the knobs are from, if there is one.
    """
    said = f"{failure}\n{failure.log_tail}".lower().replace("-", "_")
    words = set(re.findall(r"[a-z_][a-z0-9_]+", said))
    named = [name for name in knobs if name in words]
    problem = Problem(source, None, "", str(failure))
    if len(named) == 1:
        problem = replace(problem, line=line_of.get(named[0]), name=named[0])
    server = StageResult(
        Stage.SERVER, problems=(problem,), log_tail=failure.log_tail, outcome=failure.code
    )
    return [server, StageResult(Stage.READ_BACK, reached=False)]


def started_stages(
    knobs: Mapping[str, str],
    variables: Mapping[str, str],
    target: ServerTraits,
    *,
    log_tail: str,
    seconds: float,
) -> list[StageResult]:
    """The results of a trial start after which the server read these variables back."""
    found = differences(knobs, variables, target)
    return [
        StageResult(Stage.SERVER, log_tail=log_tail, seconds=seconds),
        StageResult(Stage.READ_BACK, differences=tuple(found)),
    ]

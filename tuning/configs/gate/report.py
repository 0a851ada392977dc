"""The gate's report on a config: line by line, as problems, and as notes on knobs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ServerTraits
from tuning.catalogue.timeline import reached
from tuning.configs.files.lookup import Read
from tuning.configs.notes import Action, Note
from tuning.configs.translation.outcome import SettingOutcome
from tuning.configs.values import printable
from tuning.errors import InvalidConfig, Problem

_MAX_NAME = 80
_MAX_GIVEN = 200


@dataclass(frozen=True)
class ImportedLine:
    """One line of the file for people: `given` None for a bare option, `line` 0 for no file.

    `became` has the normalised knobs that result from the line.
    """

    line: int
    name: str
    given: str | None
    action: Action
    became: tuple[tuple[str, str], ...] = ()
    detail: str = ""


@dataclass(frozen=True)
class ImportReport:
    """The complete report on a config; its `knobs` may be used if there are no `problems`.

    `value_problems` are those of single lines, `rule_problems` those of combinations.
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
        return in_order([*self.value_problems, *self.rule_problems])

    def accepted(self) -> ImportReport:
        """The report itself; raises InvalidConfig if the config has problems."""
        if self.problems:
            raise InvalidConfig(self.problems)
        return self


@dataclass(frozen=True)
class Passage:
    """The settings of a config on their way through the gate, identified by their index.

    `outcomes` has a reason instead if the value is invalid. `set_again` maps to the last setting
    of the same knob, which counts; `holders` maps a knob of the config to the setting that it
    comes from; `refused` has all reasons.
    """

    read: list[Read]
    outcomes: list[SettingOutcome | str]
    set_again: Mapping[int, int]
    holders: Mapping[str, int]
    refused: Mapping[int, str]

    def problems(self, source: str) -> tuple[Problem, ...]:
        """A problem for each refused setting."""
        settings = {index: self.read[index].setting for index in self.refused}
        return in_order(
            Problem(source, settings[index].line or None, shown_name(settings[index].name), reason)
            for index, reason in self.refused.items()
        )

    def lines(self) -> Iterator[ImportedLine]:
        """The result of each setting."""
        for index, (one, outcome) in enumerate(zip(self.read, self.outcomes, strict=True)):
            line, name = one.setting.line, shown_name(one.setting.name)
            value = one.setting.value
            given = None if value is None else printable(value, _MAX_GIVEN)
            if isinstance(outcome, str) or index in self.refused:
                yield ImportedLine(line, name, given, Action.REFUSED, (), self.refused[index])
            elif (counts := self._beaten_by(index, outcome)) is not None:
                detail = f"set again on line {self.read[counts].setting.line}, which counts"
                yield ImportedLine(line, name, given, Action.DROPPED, (), detail)
            else:
                yield ImportedLine(
                    line, name, given, outcome.action, outcome.became, outcome.detail
                )

    def notes(self, target: ServerTraits) -> list[Note]:
        """A note per knob that was changed, then remarks on those that were kept."""
        changed: dict[str, Note] = {}
        lines: dict[str, list[int]] = {}
        became: dict[str, None] = {}
        for index, (one, outcome) in enumerate(zip(self.read, self.outcomes, strict=True)):
            if isinstance(outcome, str):
                continue
            if one.is_by_name:
                lines.setdefault(one.name, []).append(one.setting.line)
            if index in self.set_again:
                continue
            if outcome.action is not Action.KEPT:
                changed[one.name] = Note(shown_name(one.name), outcome.action, outcome.detail)
            became |= {name: None for name, _ in outcome.became}
        twice = [_set_twice(name, found) for name, found in lines.items() if len(found) > 1]
        known = [note for name in became if (note := _remark(name, target)) is not None]
        return [*changed.values(), *twice, *known]

    def _beaten_by(self, index: int, outcome: SettingOutcome) -> int | None:
        """The index of the setting that counts instead, None if this one does."""
        if index in self.set_again:
            return self.set_again[index]
        holders = [self.holders[name] for name, _ in outcome.became]
        return holders[0] if holders and index not in holders else None


def in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Problems in the order of their lines."""
    return tuple(sorted(problems, key=lambda problem: problem.line or 0))


def shown_name(name: str) -> str:
    """A name for a message: without control characters, not too long."""
    return printable(name, _MAX_NAME)


def _set_twice(name: str, lines: list[int]) -> Note:
    numbers = f"{', '.join(str(line) for line in lines[:-1])} and {lines[-1]}"
    return Note(name, Action.KEPT, f"set on lines {numbers}: the last one counts")


def _remark(name: str, target: ServerTraits) -> Note | None:
    facts = load_catalogue().knobs[name].facts(target)
    if reached(target.version, facts.ignored):
        return Note(name, Action.KEPT, f"accepted by {target}, but without effect")
    if reached(target.version, facts.deprecated):
        instead = f"; its successor is {facts.successor}" if facts.successor else ""
        return Note(name, Action.KEPT, f"deprecated in {target}{instead}")
    return None

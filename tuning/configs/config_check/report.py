"""The report on a config: the fate of each line, problems, and notes on knobs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tuning.catalogue.target import ServerTraits
from tuning.configs.line import Fate, LineResult
from tuning.configs.notes import Note
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

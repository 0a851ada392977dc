"""A checked my.cnf as the pages show it: one sentence, then line by line."""

from __future__ import annotations

from dataclasses import dataclass

from advisor.wording.words import summary_of
from tuning.configs.line import Fate, LineResult, Note
from tuning.creation.config_check import CheckedText
from tuning.errors import Problem

# A longer page is of no use and takes seconds to lay out; the API has all lines.
MAX_LINES = 500


@dataclass(frozen=True)
class CheckView:
    """One file's result; `rule_problems` and `notes` are not about a single line.

    For a long file, refused `lines` come first; `lines_left` are not shown.
    """

    name: str
    checked: CheckedText
    summary: str
    lines: list[LineResult]
    lines_left: int
    rule_problems: tuple[Problem, ...]
    notes: list[Note]

    @property
    def is_fine(self) -> bool:
        """Whether a study would accept it, as far as this is known without the server."""
        return not self.checked.report.problems


def check_view(checked: CheckedText) -> CheckView:
    """The view of a check."""
    report = checked.report
    shown_in_lines = {(line.name, line.reason) for line in report.lines}
    return CheckView(
        name=report.source,
        checked=checked,
        summary=summary_of(checked),
        lines=_shown(report.lines),
        lines_left=max(0, len(report.lines) - MAX_LINES),
        rule_problems=report.rule_problems,
        notes=[note for note in report.notes if (note.name, note.detail) not in shown_in_lines],
    )


def _shown(lines: tuple[LineResult, ...]) -> list[LineResult]:
    if len(lines) <= MAX_LINES:
        return list(lines)
    by_need = sorted(lines, key=lambda line: line.fate is not Fate.REFUSED)
    return sorted(by_need[:MAX_LINES], key=lambda line: line.number)

"""A checked my.cnf as the pages show it: one sentence, then line by line."""

from __future__ import annotations

from dataclasses import dataclass

from tuning.configs.files.imports import ImportedLine
from tuning.configs.notes import Action, Note
from tuning.errors import Problem
from tuning.studies.check import CheckedText

TRANSLATION_HELPS = "translation would"
# A page of more lines helps nobody and takes seconds to lay out; the API has them all.
MOST_LINES = 500


@dataclass(frozen=True)
class CheckView:
    """One file's result; `rule_problems` are not about a single line, `notes` neither.

    Of a long file the refused `lines` come first; `lines_left` are not shown.
    """

    name: str
    checked: CheckedText
    summary: str
    lines: list[ImportedLine]
    lines_left: int
    rule_problems: tuple[Problem, ...]
    notes: list[Note]
    lines_helped: int

    @property
    def is_fine(self) -> bool:
        """Whether a study would take it, as far as it can be said without the server."""
        return not self.checked.report.problems


def check_view(checked: CheckedText) -> CheckView:
    """What is to be shown of a check."""
    report = checked.report
    told = {(line.name, line.detail) for line in report.lines}
    return CheckView(
        name=report.source,
        checked=checked,
        summary=summary_of(checked),
        lines=_shown(report.lines),
        lines_left=max(0, len(report.lines) - MOST_LINES),
        rule_problems=report.rule_problems,
        notes=[note for note in report.notes if (note.name, note.detail) not in told],
        lines_helped=sum(TRANSLATION_HELPS in problem.reason for problem in report.problems),
    )


def _shown(lines: tuple[ImportedLine, ...]) -> list[ImportedLine]:
    if len(lines) <= MOST_LINES:
        return list(lines)
    by_need = sorted(lines, key=lambda line: line.action is not Action.REFUSED)
    return sorted(by_need[:MOST_LINES], key=lambda line: line.line)


def summary_of(checked: CheckedText) -> str:
    """One plain sentence: "2 lines are refused, 1 is dropped; 7 variables would be set"."""
    report, target = checked.report, checked.target
    counts = {action: _count(report.lines, action) for action in Action}
    refused, rules = counts[Action.REFUSED], len(report.rule_problems)
    changed = [
        f"{_lines(counts[action])} {word}"
        for action, word in (
            (Action.RENAMED, "renamed"),
            (Action.ADJUSTED, "adjusted"),
            (Action.DROPPED, "dropped"),
            (Action.HELD, "held back"),
        )
        if counts[action]
    ]
    tail = f" {', '.join(changed)}." if changed else ""
    if report.problems:
        said = [f"{_lines(refused)} refused"] if refused else []
        if rules:
            said.append(f"{rules} rule{_s(rules)} across lines broken")
        said = said or ["nothing in it can be used"]
        return f"Not usable on {target} as it is: {', '.join(said)}.{tail}"
    knobs = len(report.knobs)
    return f"Fine for {target}: {knobs} variable{_s(knobs)} would be set.{tail}"


def _count(lines: tuple[ImportedLine, ...], action: Action) -> int:
    return sum(line.action is action for line in lines)


def _lines(count: int) -> str:
    return f"{count} line{_s(count)}"


def _s(count: int) -> str:
    return "" if count == 1 else "s"

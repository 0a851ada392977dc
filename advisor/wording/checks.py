"""A checked my.cnf in one sentence."""

from __future__ import annotations

from tuning.configs.gate.report import ImportedLine
from tuning.configs.notes import Action
from tuning.export.words import plural
from tuning.studies.check import CheckedText


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
            said.append(f"{rules} rule{plural(rules)} across lines broken")
        said = said or ["nothing in it can be used"]
        return f"Not usable on {target} as it is: {', '.join(said)}.{tail}"
    knobs = len(report.knobs)
    return f"Fine for {target}: {knobs} variable{plural(knobs)} would be set.{tail}"


def _count(lines: tuple[ImportedLine, ...], action: Action) -> int:
    return sum(line.action is action for line in lines)


def _lines(count: int) -> str:
    return f"{count} line{plural(count)}"

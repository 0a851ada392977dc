"""A checked my.cnf in one sentence."""

from __future__ import annotations

from benchmarks.counted import counted
from tuning.configs.gate.report import ImportedLine
from tuning.configs.notes import Action
from tuning.creation.config_check import CheckedText


def summary_of(checked: CheckedText) -> str:
    """One sentence: "Accepted for MySQL 8.4: sets 7 variables. 1 line dropped."."""
    report, target = checked.report, checked.target
    counts = {action: _count(report.lines, action) for action in Action}
    refused, rules = counts[Action.REFUSED], len(report.rule_problems)
    changed = [
        f"{counted(counts[action], 'line')} {word}"
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
        said = [f"{counted(refused, 'line')} refused"] if refused else []
        if rules:
            said.append(f"{counted(rules, 'rule')} across lines violated")
        said = said or ["no usable line"]
        return f"Cannot be used on {target}: {', '.join(said)}.{tail}"
    knobs = len(report.knobs)
    return f"Accepted for {target}: sets {counted(knobs, 'variable')}.{tail}"


def _count(lines: tuple[ImportedLine, ...], action: Action) -> int:
    return sum(line.action is action for line in lines)

"""A checked my.cnf in one sentence."""

from __future__ import annotations

from collections import Counter

from benchmarks.counted import counted
from tuning.configs.line import Fate
from tuning.creation.config_check import CheckedText


def summary_of(checked: CheckedText) -> str:
    """Return one sentence: "Accepted for MySQL 8.4: 7 lines measured, 2 kept."."""
    report = checked.report
    counts = Counter(line.fate for line in report.lines)
    fates = [
        f"{counts[fate]} {fate}" if number else f"{counted(counts[fate], 'line')} {fate}"
        for number, fate in enumerate(fate for fate in Fate if counts[fate])
    ]
    said = ", ".join(fates) or "no lines"
    if report.rule_problems:
        said += f"; {counted(len(report.rule_problems), 'rule')} across lines violated"
    verdict = "Cannot be used on" if report.problems else "Accepted for"
    return f"{verdict} {checked.target}: {said}."

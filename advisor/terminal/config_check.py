"""A checked my.cnf in the terminal."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from advisor.wording.checks import summary_of
from tuning.configs.line import Fate
from tuning.configs.values import printable
from tuning.creation.config_check import CheckedText

_LONGEST = 120
_STYLES = {Fate.REFUSED: "bold red", Fate.REMOVED: "yellow", Fate.TRANSLATED: "cyan"}


def print_check(checked: CheckedText, console: Console) -> None:
    """Print one line for each option, what is not about a line, and the result."""
    table = Table(box=box.SIMPLE, show_edge=False)
    table.add_column("Line", justify="right")
    for title in ("Option", "Fate", "Reason"):
        table.add_column(title, overflow="fold")
    for line in checked.report.lines:
        reason = line.reason
        if line.replacement:
            reason = f"{', '.join(line.replacement.splitlines())} ({reason})"
        table.add_row(
            f"{line.number}",
            Text(printable(" ".join(line.text.split()), _LONGEST)),
            Text(line.fate, style=_STYLES.get(line.fate, "")),
            Text(reason),
        )
    console.print(table)
    for problem in checked.report.rule_problems:
        console.print(Text(f"{problem}"))
    console.print(Text(summary_of(checked)))

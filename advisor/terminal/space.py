"""The search space as text, before the start."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table

from advisor.wording.searches import missed_before_text, warm_start_text
from advisor.wording.spaces import space_lines
from benchmarks.counted import counted
from tuning.creation.search import PlannedSearch


def print_space(found: PlannedSearch, console: Console) -> None:
    """A line per knob, then the pinned ones, then what the search begins with."""
    space = found.space
    table = Table(box=box.SIMPLE, collapse_padding=True, pad_edge=False)
    table.add_column("knob", no_wrap=True)
    for title in ("values", "default", "reason for the range"):
        table.add_column(title, overflow="fold")
    for line in space_lines(space):
        table.add_row(line.name, line.values, line.default, line.source)
    console.print(f"A search changes {counted(len(space.dimensions), 'variable')}:", style="bold")
    console.print(table)
    if found.model is not None:
        console.print(found.model.note_on_sizes, markup=False)
    if space.pinned:
        console.print("Set in every config of the search:", style="bold")
        for name, value in space.pinned.items():
            console.print(f"{name} = {value}", markup=False)
    if begins := warm_start_text(found.warm_start):
        console.print(begins, markup=False)
    if missed := missed_before_text(found.missed_before.study, found.missed_before.limits):
        console.print(missed, markup=False)

"""The space of a search as a person reads it before the start."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table

from advisor.wording.spaces import space_lines
from tuning.strategy.search.space import Space


def print_space(space: Space, console: Console) -> None:
    """A line per knob; what is pinned stands below."""
    table = Table(box=box.SIMPLE, collapse_padding=True, pad_edge=False)
    table.add_column("knob", no_wrap=True)
    for title in ("values", "default", "why this range"):
        table.add_column(title, overflow="fold")
    for line in space_lines(space):
        table.add_row(line.name, line.values, line.default, line.source)
    console.print(f"A search changes {len(space.dimensions)} knobs:", style="bold")
    console.print(table)
    if space.pinned:
        console.print("The same in every config of the search:", style="bold")
        for name, value in space.pinned.items():
            console.print(f"{name} = {value}", markup=False)

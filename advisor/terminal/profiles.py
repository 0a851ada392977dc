"""A profile of a server in the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from tuning.models import ServerProfile
from tuning.server_profile.compare import Comparison
from tuning.server_profile.figures import figures_of
from tuning.studies.server_profiles import profile_of


def print_profile(row: ServerProfile, console: Console) -> None:
    """Print the figures, and what was kept."""
    profile = profile_of(row)
    console.print(f"Profile {row.pk}, {row.name}: {profile.target}, read over {profile.seconds} s")
    table = Table("Figure", "Between the readings", "Since the start")
    for one in figures_of(profile):
        table.add_row(one.title, one.text, one.ever)
    console.print(table)
    console.print(
        f"Kept: {len(profile.variables)} variables and {len(profile.second)} counters. Dropped: "
        f"{profile.dropped_variables} variables and {profile.dropped_status} counters."
    )


def print_comparison(found: Comparison, console: Console) -> None:
    """Print the settings and figures that differ, and what that does not prove."""
    for name, (before, after) in found.settings.items():
        console.print(f"{name}: {before} -> {after}", markup=False, highlight=False)
    table = Table("Figure", "Before", "After", "Change", "For each statement")
    for one in found.figures:
        table.add_row(
            one.before.title,
            one.before.text,
            one.after.text,
            _change(one.change),
            _change(one.per_statement),
        )
    console.print(table)
    for limit in found.limits:
        console.print(limit, markup=False)


def _change(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio - 1:+.0%}"

"""Tables in the terminal: hosts, studies, a search space, a checked my.cnf, profiles."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.utils import timezone
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from advisor.wording.hosts import STATE_WORDS
from advisor.wording.searches import warm_start_text
from advisor.wording.spaces import space_lines
from advisor.wording.words import summary_of
from benchmarks.counted import counted, percent
from tuning.configs.line import Fate
from tuning.configs.values import printable
from tuning.creation.config_check import CheckedText
from tuning.creation.search import PlannedSearch
from tuning.hosts.known import KnownHost
from tuning.models import ServerProfile, Study
from tuning.server_profile.compare import ProfileComparison
from tuning.server_profile.figures import figures_of
from tuning.studies.progress import study_progress
from tuning.studies.server_profiles import profile_of
from tuning.studies.waiting import mark_waiting


def print_hosts(known: Iterable[KnownHost], console: Console) -> None:
    """One line for each: what it does, what waits for it, what is wrong."""
    rows = [
        (
            one.host.name,
            STATE_WORDS[one.state],
            _job(one),
            str(len(one.studies) + len(one.probes) or ""),
            _moment(one.host.worker_seen_at),
            "; ".join(problem.text for problem in one.problems),
        )
        for one in known
    ]
    _print(("Host", "State", "Now", "Waiting", "Worker seen", "Problems"), rows, console)


def print_studies(studies: Iterable[Study], console: Console) -> None:
    """One line for each: where, in which state and how far it is."""
    studies = list(studies)
    mark_waiting(studies)
    rows = [
        (
            str(one.pk),
            one.host.name,
            one.name,
            one.shown_state,
            _moment(one.created_at),
            one.reason if one.is_finished else _progress(one),
        )
        for one in studies
    ]
    _print(("Study", "Host", "Name", "State", "Created", "Progress"), rows, console)


def _job(known: KnownHost) -> str:
    if known.job is None:
        return ""
    study = f"study {known.job.study}: " if known.job.study else ""
    return f"{study}{known.job.what}"


def _progress(study: Study) -> str:
    state = study_progress(study)
    return f"{percent(state.fraction)} {state.text}"


def _moment(at: datetime | None) -> str:
    return f"{timezone.localtime(at):%Y-%m-%d %H:%M:%S %Z}" if at else "never"


def _print(titles: Iterable[str], rows: Iterable[tuple[str, ...]], console: Console) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in titles:
        table.add_column(title, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)


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


def print_comparison(found: ProfileComparison, console: Console) -> None:
    """Print the settings and figures that differ, and what that does not prove."""
    for name, (before, after) in found.shown_settings.items():
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

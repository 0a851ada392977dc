"""Hosts and studies as tables in the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.utils import timezone
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from advisor.wording.hosts import STATE_WORDS
from benchmarks.counted import percent
from tuning.hosts.known import KnownHost
from tuning.models import Study
from tuning.studies.progress import study_progress
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

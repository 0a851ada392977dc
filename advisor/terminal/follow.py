"""Follows a study to its end with a progress bar on stderr."""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from tuning.models import Study
from tuning.statistics.aim import FULL_NAMES
from tuning.studies.glance import glance
from tuning.studies.pausing import pause_text
from tuning.studies.progress import StudyProgress, study_progress

POLL_SECONDS = 2.0
# If stderr is not a terminal, a line is written this often, so that a CI log shows progress.
LOG_SECONDS = 15.0


def follow(
    study: Study, console: Console, check: Callable[[], None], *, until_paused: bool = False
) -> Study:
    """Show progress until the study ends; `check` is called at each look (watch the processes).

    It reports a pause and waits, or returns if `until_paused`.
    """
    with Progress(
        TextColumn("[bold]{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[eta]}"),
        console=console,
        disable=not console.is_terminal,
        # Nothing moves between two looks, and drawing ten times a second takes a measurable part
        # of a processor that is being measured.
        auto_refresh=False,
    ) as bar:
        task = bar.add_task("starting", total=1.0, eta="")
        logged = 0.0
        was_paused = False
        seen = ""
        while True:
            check()
            if (now := glance(study.pk)) == seen:
                time.sleep(POLL_SECONDS)
                continue
            seen = now
            study.refresh_from_db()
            state = study_progress(study)
            bar.update(
                task, completed=state.fraction, description=_lines(state), eta=_eta(study, state)
            )
            bar.refresh()
            if study.is_paused != was_paused:
                was_paused = study.is_paused
                console.print(_pause_text(study), markup=False, soft_wrap=True)
            if study.is_finished or (until_paused and was_paused):
                return study
            if not console.is_terminal and time.monotonic() - logged > LOG_SECONDS:
                where = f", on {state.device}" if state.device else ""
                found = searched_text(state)
                tried = f"; {found};" if found else ""
                console.print(
                    f"{state.fraction:4.0%} {state.text}{where}{tried} {_eta(study, state)}",
                    markup=False,
                    soft_wrap=True,
                )
                logged = time.monotonic()
            time.sleep(POLL_SECONDS)


def _pause_text(study: Study) -> str:
    if study.is_finished:
        return f"Study {study.pk} has ended."
    if not study.is_paused:
        return f"Study {study.pk} was resumed."
    return (
        f"Study {study.pk} is {pause_text(study)}. Resume it on its page, through the API or "
        f"with `manage.py study resume {study.pk}`."
    )


def _lines(state: StudyProgress) -> str:
    """What is measured, then the device and a search so far, each on a line of its own: one line
    would be too wide.
    """
    lines = [state.text]
    if state.device:
        lines.append(f"on {state.device}")
    if found := searched_text(state):
        lines.append(found)
    return escape("\n".join(lines))


def searched_text(state: StudyProgress) -> str:
    """As `12 configs tried, best so far search-4 (+31.0 % tpmP)`; "" for other studies."""
    found = state.searched
    if found is None or not found.tried:
        return ""
    text = f"{found.tried} config{'s' if found.tried > 1 else ''} tried"
    if found.ratio is not None:
        change = f"{(found.ratio - 1) * 100:+.1f} % {FULL_NAMES[found.metric]}"
        text += f", best so far {found.best} ({change})"
    return text


def _eta(study: Study, state: StudyProgress) -> str:
    if state.eta_s is None:
        return ""
    minutes, seconds = divmod(int(state.eta_s), 60)
    # A race that is decided early takes less time, and so does a study without a winner.
    word = "at most" if study.races or study.confirms else "about"
    return f"{word} {minutes} min {seconds:02d} s left" if minutes else f"{word} {seconds} s left"

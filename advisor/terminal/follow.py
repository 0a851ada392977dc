"""Follows studies to their end with a progress bar on stderr."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from importlib import import_module
from math import inf

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from advisor.processes.unavailable import Patience
from advisor.wording.formatting import percent_change
from benchmarks.counted import counted, percent
from benchmarks.jobs.versions import code_version
from tuning.models import Study
from tuning.results.document import StudyDocument
from tuning.statistics.aim import FULL_NAMES
from tuning.stored_documents import document_of
from tuning.studies.progress import StudyProgress, study_progress
from tuning.studies.revision import progress_mark
from tuning.studies.waiting import absence_text, pause_text

POLL_SECONDS = 2.0
# If stderr is not a terminal, a line is written this often, so that a CI log shows progress.
LOG_SECONDS = 15.0
# A worker that is being updated and started again is away for less.
ABSENT_SECONDS = 60.0


Leaves = Callable[[Study, StudyProgress], bool]


def follow_all(
    studies: Sequence[Study],
    console: Console,
    check: Callable[[], None],
    *,
    leaves: Leaves | None = None,
) -> None:
    """Show progress until all studies have ended, or until `leaves` says so of one.

    `check` is called at each look (watch the processes). It reports a pause and waits. Where a
    host takes no work, it says after a minute what to do. It outlasts a database that is away, as
    what is measured does.
    """

    def say(text: str) -> None:
        console.print(text, markup=False, soft_wrap=True)

    import_module("scipy.special")  # for the first standing; then it would be beside a run
    patience = Patience(say)
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
        lines = [_Line(study, console, bar, names_host=len(studies) > 1) for study in studies]
        while True:
            with patience.outlasts():
                check()
                seen = [(line, state) for line in lines if (state := line.look()) is not None]
                if all(study.is_finished for study in studies):
                    return
                if leaves is not None and any(leaves(line.study, state) for line, state in seen):
                    return
                for line, state in seen:
                    line.log(state)
            time.sleep(POLL_SECONDS)


class _Line:
    """One of the studies that are followed."""

    def __init__(self, study: Study, console: Console, bar: Progress, *, names_host: bool) -> None:
        self.study = study
        self._console = console
        self._bar = bar
        self._task = bar.add_task("starting", total=1.0, eta="")
        self._host = f"{study.host}: " if names_host else ""
        self._logged = 0.0
        self._was_paused = False
        self._seen = ""
        self._standing: list[str] = []
        self._absent_since: float | None = None

    def look(self) -> StudyProgress | None:
        """Return the study's news; None if there is none."""
        if self.study.is_finished or (now := progress_mark(self.study.pk)) == self._seen:
            return None
        self._seen = now
        self.study.refresh_from_db()
        state = study_progress(self.study)
        self._standing = standing_texts(document_of(self.study))
        self._bar.update(
            self._task,
            completed=state.fraction,
            description=_lines(state, self._standing, self._host),
            eta=_eta(self.study, state),
        )
        self._bar.refresh()
        if self.study.is_paused != self._was_paused:
            self._was_paused = self.study.is_paused
            self._say(_pause_text(self.study))
        self._look_for_the_worker()
        return state

    def log(self, state: StudyProgress) -> None:
        """Print a line now and then if stderr is no terminal."""
        if self._console.is_terminal or time.monotonic() - self._logged <= LOG_SECONDS:
            return
        where = f", on {state.device}" if state.device else ""
        parts = [f"{state.text}{where}", *self._standing, _eta(self.study, state)]
        text = "; ".join(part for part in parts if part)
        self._say(f"{self._host}{percent(state.fraction):>5} {text}")
        self._logged = time.monotonic()

    def _look_for_the_worker(self) -> None:
        """Say what to do if no worker has taken work for a minute."""
        study = self.study
        why = "" if study.is_finished or study.is_paused else absence_text(study.host)
        if not why:
            self._absent_since = None
        elif self._absent_since is None:
            self._absent_since = time.monotonic()
        elif time.monotonic() - self._absent_since > ABSENT_SECONDS:
            self._absent_since = inf  # the absence is reported once
            self._say(_absence(study, why))

    def _say(self, text: str) -> None:
        self._console.print(text, markup=False, soft_wrap=True)


def _absence(study: Study, why: str) -> str:
    if study.host.idle_reason:
        todo = (
            f"Stop its worker, or the `serve` that started it, and start it with this version, "
            f"{code_version()}"
        )
    else:
        todo = "Start its worker there (`manage.py worker`)"
    return f"Study {study.pk} waits: {why}. {todo}; the study goes on then."


def _pause_text(study: Study) -> str:
    if study.is_finished:
        return f"Study {study.pk} has ended."
    if not study.is_paused:
        return f"Study {study.pk} was resumed."
    return (
        f"Study {study.pk} is {pause_text(study)}. Resume it on its page, through the API or "
        f"with `manage.py study resume {study.pk}`."
    )


def _lines(state: StudyProgress, standing: Sequence[str], host: str) -> str:
    """Lines of the present run, its device and the findings so far; `host` stands before them."""
    lines = [f"{host}{state.text}"]
    if state.device:
        lines.append(f"on {state.device}")
    return escape("\n".join([*lines, *standing]))


def standing_texts(document: StudyDocument) -> list[str]:
    """Describe the findings so far: configs tried, the leader, and limits that are missed."""
    misses = document.search.misses if document.search else ()
    texts = [", ".join(filter(None, (_searched_text(document), _leader_text(document))))]
    texts += [f"the baseline itself misses {one}" for one in misses]
    return [text for text in texts if text]


def _searched_text(document: StudyDocument) -> str:
    """Return `12 configs tried, best so far search-4 (+31.0 % throughput)`; "" for other studies.

    A race decides by new runs, so the short runs then no longer say which config is best.
    """
    found = document.search
    if found is None or not found.tried:
        return ""
    text = f"{counted(len(found.tried), 'config')} tried"
    if found.raced:
        return f"{text}, {found.raced} in the race"
    if found.best:
        name = document.candidate[found.best[-1].candidate_id].name
        change = f"{percent_change(found.best[-1].ratio)} {FULL_NAMES[found.metric]}"
        text += f", best so far {name} ({change})"
    return text


def _leader_text(document: StudyDocument) -> str:
    """Return `search-30 leads (+61.0 % throughput in 3 blocks)`; "" while nothing is ahead."""
    raced = [board for board in document.boards if board.is_raced and board.advice.standings]
    if not raced:
        return ""
    metric, first = raced[-1].advice.metric, raced[-1].advice.standings[0]
    if first.ratio is None or not metric.is_better(first.ratio, 1.0):
        return ""
    name = document.candidate[first.candidate_id].name
    change = f"{percent_change(first.ratio)} {FULL_NAMES[metric]}"
    return f"{name} leads ({change} in {counted(first.blocks, 'block')})"


def _eta(study: Study, state: StudyProgress) -> str:
    if state.eta_s is None:
        return ""
    minutes, seconds = divmod(int(state.eta_s), 60)
    word = "at most" if study.may_end_early else "about"
    return f"{word} {minutes} min {seconds:02d} s left" if minutes else f"{word} {seconds} s left"

"""The progress of a study and its remaining time, from its rows and its finished runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models.functions import Now

from benchmarks.models import RunState
from tuning.models import SlotPurpose, Study, StudyState
from tuning.results.study_rows import SlotRow, StudyRows, read_studies
from tuning.studies.budget import PlaceBudget, StudyBudget
from tuning.studies.crash_tests import running_crash_test
from tuning.studies.scheduler import is_under_way
from tuning.studies.waiting import absence_text, busy_text, drain_text, pause_text, waiting_text

# The preparation is this share of the bar; the runs are the rest.
PREPARATION_SHARE = 0.15


@dataclass(frozen=True)
class StudyProgress:
    """`fraction` is 0..1; `eta_s` seconds to the end, None while nothing is known.

    `text` says what is done now, of which config and in which step. `candidate` is that config;
    `device` the current device if the study has several or it is emulated.
    `runs_total` and `eta_s` are upper limits: a race that is decided early needs less.
    `runs_to_confirm` of the runs in `runs_total` are only measured for a winner.
    `waits_for`: what keeps a study that has begun from going on, though nobody paused it; or "".
    `absent`: why its host is not heard of or takes no work while a job of the study is under way.
    """

    fraction: float
    text: str
    candidate: str = ""
    runs_done: int = 0
    runs_total: int = 0
    runs_to_confirm: int = 0
    eta_s: float | None = None
    device: str = ""
    waits_for: str = ""
    absent: str = ""


def progress_of(studies: Sequence[Study]) -> list[StudyProgress]:
    """Return the progress of several studies, whose rows are read together."""
    return [_progress(rows) for rows in read_studies(studies)]


def study_progress(study: Study) -> StudyProgress:
    """Return the progress of one study."""
    return _progress(StudyRows(study))


def _progress(rows: StudyRows) -> StudyProgress:
    study, total = rows.study, len(rows.slots)
    done = sum(slot.run.is_done for slot in rows.slots)
    if study.is_finished:
        fraction = 1.0 if study.state == StudyState.FINISHED else done / max(total, 1)
        text = str(StudyState(study.state).label)
        return StudyProgress(fraction, text, runs_done=done, runs_total=total)
    progress = _unfinished(rows, done)
    if study.is_paused:
        why, text = "", pause_text(study)
    else:
        why = drain_text(study.host) or absence_text(study.host)
        why = why or ("" if progress.candidate else waiting_text(study) or busy_text(study))
        if not why:
            return progress
        text = f"waiting: {why}"
    if is_under_way(study):
        text = f"{progress.text}; {text}"
        return replace(progress, text=text, eta_s=None, absent=absence_text(study.host))
    return replace(progress, text=text, eta_s=None, waits_for=why if study.has_begun else "")


def _unfinished(rows: StudyRows, done: int) -> StudyProgress:
    study, budget = rows.study, StudyBudget(rows)
    left_s = max(budget.seconds, 0.0)
    counted = StudyProgress(
        fraction=0.0,
        text="waiting for the host",
        runs_done=done,
        runs_total=done + budget.runs,
        runs_to_confirm=budget.runs_to_confirm,
    )
    if not study.has_begun:
        return counted
    if study.state == StudyState.PREPARING and done == 0:
        share, eta_s = study.preparing_fraction, None
        if share > 0:
            spent_s = _seconds_since(study.started_at)
            eta_s = spent_s / share - spent_s + left_s
        text = study.preparing_text or "loading the dataset"
        return replace(counted, fraction=PREPARATION_SHARE * share, text=text, eta_s=eta_s)
    fraction = PREPARATION_SHARE + (1.0 - PREPARATION_SHARE) * budget.done_share
    counted = replace(counted, fraction=fraction, text="between two runs", eta_s=left_s)
    if study.state == StudyState.PREPARING:
        text = study.preparing_text or "trying new configs on the server"
        return replace(counted, text=text)
    for current in rows.slots:
        if current.state == RunState.RUNNING:
            return _measuring(study, current, budget, counted)
    if test := running_crash_test(study):
        name = test.slot.candidate.name
        spent_s = min(_seconds_since(test.started_at), budget.crash_tests.each_s)
        text = f"crash recovery: {name}, {test.step or 'starting'}"
        return replace(counted, candidate=name, text=text, eta_s=max(left_s - spent_s, 0.0))
    return counted


def _seconds_since(since: datetime | None) -> float:
    """Return the seconds since then by the database's clock, which also wrote `since`.

    Never below 0: a clock may have been set.
    """
    if since is None:
        return 0.0
    now = Study.objects.values_list(Now(), flat=True)[0]
    return max((now - since).total_seconds(), 0.0)


def _measuring(
    study: Study, current: SlotRow, budget: StudyBudget, counted: StudyProgress
) -> StudyProgress:
    here = budget.at(current.place)
    place = here.place
    most_s = place.expected_s + current.run.measure_s - place.workload.measure_s
    spent_s = min(_seconds_since(current.run.started_at), most_s)
    several = len(budget.rows.devices) > 1
    name = f"{current.name}{' (replicate)' if current.replicate else ''}"
    return replace(
        counted,
        candidate=current.name,
        text=f"{_part(study, current, here)}: {name}, {current.run.step or 'starting'}",
        eta_s=max(budget.seconds - spent_s, 0.0),
        device=str(place.device) if several or place.device.emulation_label else "",
    )


def _part(study: Study, current: SlotRow, here: PlaceBudget) -> str:
    """Name the part of the study that is measured; each counts its blocks from 1."""
    blocks = sorted({slot.block for slot in here.slots if slot.purpose == current.purpose})
    number, count = blocks.index(current.block) + 1, len(blocks)
    match current.purpose:
        case SlotPurpose.CONFIRMATION:
            return f"confirmation, pair {number} of {count}"
        case SlotPurpose.GATE:
            return f"pair {number} of at most {study.blocks}"
        case SlotPurpose.REDUCED:
            return f"measuring the reduced config, round {number} of {count}"
        case SlotPurpose.ABLATION:
            return f"testing lines, block {number}"
        case SlotPurpose.SEARCH:
            return f"search, round {number}"
        case _ if study.search is not None:
            return f"race, block {number}"
    return f"block {number} of {max(study.blocks, blocks[-1])}"

"""The progress of a study and its remaining time, from its rows and its finished runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models.functions import Now

from benchmarks.models import CrashTest, RunState
from tuning.models import SlotPurpose, Study, StudyState
from tuning.results.study_rows import SlotRow, StudyRows, read_studies
from tuning.studies.budget import StudyBudget
from tuning.studies.crash_tests import running_crash_test
from tuning.studies.scheduler import is_under_way
from tuning.studies.waiting import absence_text, busy_text, drain_text, pause_text, waiting_text

# The preparation is this share of the bar; the runs are the rest.
PREPARATION_SHARE = 0.15


@dataclass(frozen=True)
class StudyProgress:
    """`fraction` is 0..1; `eta_s` seconds to the end, None while nothing is known.

    `runs_total` and `eta_s` are upper limits: a race that is decided early needs less.
    While a winner is confirmed `pair` of `pairs` is measured; else both are 0. `device` is the
    current device if the study has several or it is emulated.
    `runs_to_confirm` of the runs in `runs_total` are only measured for a winner.
    `ablates`: whether a variant of the winner is measured, or the winner beside it.
    `waits_for`: what keeps a study that has begun from going on, though nobody paused it; or "".
    `absent`: why its host is not heard of or takes no work while a job of the study is under way.
    """

    fraction: float
    text: str
    candidate: str = ""
    block: int = 0
    blocks: int = 0
    step: str = ""
    runs_done: int = 0
    runs_total: int = 0
    runs_to_confirm: int = 0
    eta_s: float | None = None
    pair: int = 0
    pairs: int = 0
    device: str = ""
    ablates: bool = False
    waits_for: str = ""
    absent: str = ""


def progress_of(studies: Sequence[Study]) -> list[StudyProgress]:
    """Return the progress of several studies, whose rows are read together."""
    return [_progress(rows) for rows in read_studies(studies)]


def study_progress(study: Study) -> StudyProgress:
    """Return the progress of one study."""
    return _progress(StudyRows(study))


def _progress(rows: StudyRows) -> StudyProgress:
    study, slots = rows.study, rows.slots
    done = sum(slot.run.is_done for slot in slots)
    counted = StudyProgress(
        fraction=0.0,
        text="waiting for the host",
        blocks=_blocks(study, slots),
        runs_done=done,
        runs_total=len(slots),
    )
    if study.is_finished:
        is_whole = study.state == StudyState.FINISHED
        fraction = 1.0 if is_whole else done / max(len(slots), 1)
        return replace(counted, fraction=fraction, text=str(StudyState(study.state).label))
    progress = _unfinished(rows, counted)
    why = "" if study.is_paused else _why_it_waits(study, progress)
    if not why and not study.is_paused:
        return progress
    text = f"waiting: {why}" if why else pause_text(study)
    if is_under_way(study):
        text = f"{progress.text}; {text}"
        return replace(progress, text=text, eta_s=None, absent=absence_text(study.host))
    return replace(progress, text=text, eta_s=None, waits_for=why if study.has_begun else "")


def _why_it_waits(study: Study, progress: StudyProgress) -> str:
    """Return why the host, or its load host, begins nothing; "" if it does."""
    why = drain_text(study.host) or absence_text(study.host)
    return why or ("" if progress.candidate else waiting_text(study) or busy_text(study))


def _unfinished(rows: StudyRows, counted: StudyProgress) -> StudyProgress:
    study, budget, done = rows.study, StudyBudget(rows), counted.runs_done
    counted = replace(
        counted, runs_total=done + budget.runs, runs_to_confirm=budget.runs_to_confirm
    )
    if study.state != StudyState.RUNNING and study.started_at is None:
        return counted
    left_s = max(budget.seconds, 0.0)
    if study.state == StudyState.PREPARING and done == 0:
        share, eta_s = study.preparing_fraction, None
        if study.started_at is not None and share > 0:
            spent_s = _seconds_since(study, study.started_at)
            eta_s = spent_s / share - spent_s + left_s
        text = study.preparing_text or "loading the dataset"
        fraction = PREPARATION_SHARE * share
        return replace(counted, fraction=fraction, text=text, step="loading", eta_s=eta_s)
    fraction = PREPARATION_SHARE + (1.0 - PREPARATION_SHARE) * budget.done_share
    counted = replace(counted, fraction=fraction, eta_s=left_s)
    if study.state == StudyState.PREPARING:
        text = study.preparing_text or "trying new configs on the server"
        return replace(counted, text=text, step="trying")
    current = next((slot for slot in rows.slots if slot.state == RunState.RUNNING), None)
    if current is not None:
        return _measuring(study, current, budget, counted)
    if test := running_crash_test(study):
        return _killing(study, test, budget, counted)
    return replace(counted, text="between two runs")


def _blocks(study: Study, slots: Sequence[SlotRow]) -> int:
    """How many blocks are planned; a race has more when dropped candidates leave their runs."""
    begun = {slot.block for slot in slots if slot.purpose == SlotPurpose.BLOCK}
    if study.search is not None:  # its race may have as many as the budget allows
        return len(begun)
    return max([study.blocks, *begun])


def _seconds_since(study: Study, since: datetime | None) -> float:
    """Return the seconds since then by the database's clock, which also wrote `since`.

    Never below 0: a clock may have been set.
    """
    if since is None:
        return 0.0
    now = Study.objects.filter(pk=study.pk).values_list(Now(), flat=True).get()
    return max((now - since).total_seconds(), 0.0)


def _killing(
    study: Study, test: CrashTest, budget: StudyBudget, counted: StudyProgress
) -> StudyProgress:
    name, step = test.slot.candidate.name, test.step or "starting"
    spent_s = min(_seconds_since(study, test.started_at), budget.crash_tests.each_s)
    return replace(
        counted,
        candidate=name,
        step=step,
        text=f"crash recovery: {name}, {step}",
        eta_s=max(budget.seconds - spent_s, 0.0),
    )


def _measuring(
    study: Study, current: SlotRow, budget: StudyBudget, counted: StudyProgress
) -> StudyProgress:
    (here,) = (one for one in budget.places if one.place.key == current.place)
    place = here.place
    most_s = place.expected_s + current.run.measure_s - place.workload.measure_s
    spent_s = min(_seconds_since(study, current.run.started_at), most_s)
    several = len({one.place.device.pk for one in budget.places}) > 1
    progress = replace(
        counted,
        candidate=current.name,
        block=current.block,
        step=current.run.step,
        eta_s=max(budget.seconds - spent_s, 0.0),
        device=str(place.device) if several or place.device.emulation_label else "",
    )
    # Each part of a study counts its blocks from 1.
    same = [slot for slot in here.slots if slot.purpose == current.purpose]
    blocks = sorted({slot.block for slot in same})
    number, count = blocks.index(current.block) + 1, len(blocks)
    name = f"{current.name}{' (replicate)' if current.replicate else ''}"
    match current.purpose:
        case SlotPurpose.CONFIRMATION:
            progress = replace(progress, pair=number, pairs=count)
            text = f"confirmation, pair {number} of {count}: {name}"
        case SlotPurpose.GATE:
            progress = replace(progress, pair=current.block, pairs=counted.blocks)
            text = f"pair {current.block} of at most {counted.blocks}: {name}"
        case SlotPurpose.REDUCED:
            progress = replace(progress, ablates=True)
            text = f"measuring the reduced config, round {number} of {count}: {name}"
        case SlotPurpose.ABLATION:
            progress = replace(progress, ablates=True)
            in_block = [slot.order for slot in same if slot.block == current.block]
            position = f"{in_block.index(current.order) + 1} of {len(in_block)}"
            text = f"testing lines: {name} ({position}), block {number}"
        case SlotPurpose.SEARCH:
            progress = replace(progress, block=number)
            text = f"search, round {number}: {name}"
        case _ if study.search is not None:
            progress = replace(progress, block=number)
            text = f"race, block {number}: {name}"
        case _:
            text = f"block {current.block} of {counted.blocks}: {name}"
    return replace(progress, text=f"{text}, {current.run.step or 'starting'}")

"""The progress of a study and its remaining time, from its rows and its finished runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models.functions import Now

from benchmarks.models import CrashTest, RunState
from tuning.models import VARIANT_PURPOSES, SlotPurpose, Study, StudyState
from tuning.results.run_lines import SlotRow
from tuning.results.study_result import StudyResult
from tuning.statistics.aim import Aim
from tuning.studies.absence import absence_text
from tuning.studies.budget import StudyBudget
from tuning.studies.crash_tests import running_crash_test
from tuning.studies.holds import drain_text, pause_text
from tuning.studies.leader import Leader, leader_of
from tuning.studies.load_hosts import waiting_text
from tuning.studies.scheduler import is_under_way
from tuning.studies.searched import Searched, searched_so_far
from tuning.studies.waiting import busy_text

# Loading counts as this share of the bar until the first runs are done.
LOADING_SHARE = 0.15


@dataclass(frozen=True)
class StudyProgress:
    """`fraction` is 0..1; `eta_s` seconds to the end, None while nothing is known.

    `runs_total` and `eta_s` are upper limits: a race that is decided early needs less.
    While a winner is confirmed `pair` of `pairs` is measured; else both are 0. `device` is the
    current device if the study has several or it is emulated. `searched` is of a search.
    `runs_to_confirm` of the runs in `runs_total` are only measured for a winner.
    `takes_apart`: whether a variant of the winner is measured, or the winner beside it.
    `waits_for`: what keeps a study that has begun from going on, though nobody paused it; or "".
    `absent`: why its host is not heard of or takes no work while a job of the study is under way.
    `leader`: which config leads the blocks so far, None while none is ahead of the baseline.
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
    searched: Searched | None = None
    takes_apart: bool = False
    leader: Leader | None = None
    waits_for: str = ""
    absent: str = ""


def study_progress(
    study: Study, slots: Sequence[SlotRow] | None = None, *, with_leader: bool = True
) -> StudyProgress:
    """The progress, from the study's rows; `slots` if already read.

    `with_leader`: False for who does not show it, which is cheaper with hundreds of runs.
    """
    slots = StudyResult(study).slots if slots is None else slots
    done = sum(slot.run.is_done for slot in slots)
    counted = StudyProgress(
        fraction=0.0,
        text="waiting for the host",
        blocks=_blocks(study, slots),
        runs_done=done,
        runs_total=len(slots),
        searched=_searched(study, slots),
        leader=leader_of(slots, Aim.from_json(study.search or {})) if with_leader else None,
    )
    if study.is_finished:
        is_whole = study.state == StudyState.FINISHED
        fraction = 1.0 if is_whole else done / max(len(slots), 1)
        return replace(counted, fraction=fraction, text=str(StudyState(study.state).label))
    progress = _unfinished(study, slots, counted)
    why = "" if study.is_paused else _why_it_waits(study, progress)
    if not why and not study.is_paused:
        return progress
    text = f"waiting: {why}" if why else pause_text(study)
    if is_under_way(study):
        text = f"{progress.text}; {text}"
        return replace(progress, text=text, eta_s=None, absent=absence_text(study.host))
    return replace(progress, text=text, eta_s=None, waits_for=why if study.has_begun else "")


def _searched(study: Study, slots: Sequence[SlotRow]) -> Searched | None:
    if study.search is None:
        return None
    return searched_so_far(slots, Aim.from_json(study.search))


def _why_it_waits(study: Study, progress: StudyProgress) -> str:
    """What keeps the host, or its load host, from beginning anything; "" if nothing does."""
    why = drain_text(study.host) or absence_text(study.host)
    return why or ("" if progress.candidate else waiting_text(study) or busy_text(study))


def _unfinished(study: Study, slots: Sequence[SlotRow], counted: StudyProgress) -> StudyProgress:
    budget, done = StudyBudget(study, slots), counted.runs_done
    counted = replace(
        counted, runs_total=done + budget.runs, runs_to_confirm=budget.runs_to_confirm
    )
    if study.state != StudyState.RUNNING and study.started_at is None:
        return counted
    is_again = study.state == StudyState.PREPARING and done > 0
    if study.state == StudyState.PREPARING and not is_again:
        return replace(
            counted,
            fraction=LOADING_SHARE * study.preparing_fraction,
            text=study.preparing_text or "loading the dataset",
            step="loading",
            eta_s=_preparing_eta(study, budget.seconds),
        )
    fraction = LOADING_SHARE + (1.0 - LOADING_SHARE) * budget.done_share
    counted = replace(counted, fraction=fraction)
    current = next((slot for slot in slots if slot.state == RunState.RUNNING), None)
    if is_again:
        text = study.preparing_text or "trying new configs on the server"
        return replace(counted, text=text, step="trying", eta_s=max(budget.seconds, 0.0))
    if current is None and (test := running_crash_test(study)):
        return _killing(study, test, budget, counted)
    if current is None:
        return replace(counted, text="between two runs", eta_s=max(budget.seconds, 0.0))
    return _measuring(study, current, budget, counted)


def _blocks(study: Study, slots: Sequence[SlotRow]) -> int:
    """How many blocks are planned; a race has more when dropped candidates leave their runs."""
    begun = {slot.block for slot in slots if slot.purpose == SlotPurpose.BLOCK}
    if study.search is not None:  # its race may have as many as the budget allows
        return len(begun)
    return max([study.blocks, *begun])


def _now(study: Study) -> datetime:
    """By the database's clock, which also wrote when things began."""
    return Study.objects.filter(pk=study.pk).values_list(Now(), flat=True).get()


def _spent_s(study: Study, since: datetime | None, most: float) -> float:
    """Seconds since then, at most those: a clock may have been set, in either direction."""
    if since is None:
        return 0.0
    return min(max((_now(study) - since).total_seconds(), 0.0), most)


def _killing(
    study: Study, test: CrashTest, budget: StudyBudget, counted: StudyProgress
) -> StudyProgress:
    name, step = test.slot.candidate.name, test.step or "starting"
    spent = _spent_s(study, test.started_at, budget.crash_tests.each_s)
    return replace(
        counted,
        candidate=name,
        step=step,
        text=f"crash recovery: {name}, {step}",
        eta_s=max(budget.seconds - spent, 0.0),
    )


def _measuring(
    study: Study, current: SlotRow, budget: StudyBudget, counted: StudyProgress
) -> StudyProgress:
    here = next(one for one in budget.places if one.place.key == current.place)
    place = here.place
    most = place.expected_s + current.run.measure_s - place.workload.measure_s
    seconds = budget.seconds - _spent_s(study, current.run.started_at, most)
    several = len({one.place.device.pk for one in budget.places}) > 1
    current_run = replace(
        counted,
        candidate=current.name,
        block=current.block,
        step=current.run.step,
        eta_s=max(seconds, 0.0),
        device=str(place.device) if several or place.device.emulation_label else "",
    )
    step = current.run.step or "starting"
    if current.purpose == SlotPurpose.CONFIRMATION:
        there = here.slots
        pairs = sorted({one.block for one in there if one.purpose == SlotPurpose.CONFIRMATION})
        pair = pairs.index(current.block) + 1
        text = f"confirmation, pair {pair} of {len(pairs)}: {current.name}, {step}"
        return replace(current_run, text=text, pair=pair, pairs=len(pairs))
    if current.purpose == SlotPurpose.GATE:
        text = f"pair {current.block} of at most {counted.blocks}: {current.name}, {step}"
        return replace(current_run, text=text, pair=current.block, pairs=counted.blocks)
    again = " (replicate)" if current.replicate else ""
    if current.purpose in VARIANT_PURPOSES:
        text = _ablation_text(current, here.slots)
        return replace(current_run, text=f"{text}, {step}", takes_apart=True)
    if counted.searched is not None:
        number = _number(current, here.slots)
        is_screening = current.purpose == SlotPurpose.SEARCH
        phase = "search, round" if is_screening else "race, block"
        text = f"{phase} {number}: {current.name}{again}, {step}"
        return replace(current_run, block=number, text=text)
    text = f"block {current.block} of {counted.blocks}: {current.name}{again}, {step}"
    return replace(current_run, text=text)


def _number(current: SlotRow, there: Sequence[SlotRow]) -> int:
    """The rounds of a search and the blocks of its race are counted apart, each from 1."""
    same = {slot.block for slot in there if slot.purpose == current.purpose}
    return sorted(same).index(current.block) + 1


def _preparing_eta(study: Study, seconds: float) -> float | None:
    if study.started_at is None or study.preparing_fraction <= 0:
        return None
    spent = max((_now(study) - study.started_at).total_seconds(), 0.0)
    return spent / study.preparing_fraction - spent + seconds


def _ablation_text(current: SlotRow, there: Sequence[SlotRow]) -> str:
    """As `taking the winner apart: advisor without redo log (3 of 7), block 2`.

    `there` are the slots of the place. What is numbered are the configs of the block, in the
    order in which they run.
    """
    same = [slot for slot in there if slot.purpose == current.purpose]
    blocks = sorted({slot.block for slot in same})
    number = blocks.index(current.block) + 1
    if current.purpose == SlotPurpose.REDUCED:
        return f"measuring the reduced config, round {number} of {len(blocks)}: {current.name}"
    in_block = [slot.order for slot in same if slot.block == current.block]
    position = f"{in_block.index(current.order) + 1} of {len(in_block)}"
    again = " (replicate)" if current.replicate else ""
    return f"taking the winner apart: {current.name}{again} ({position}), block {number}"

"""How far a study is and how long it will still take, from its rows and its finished runs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.utils import timezone

from benchmarks.models import RunState
from tuning.models import BULKY_OF_A_RUN, Slot, SlotPurpose, Study, StudyState
from tuning.studies.forecast import expected_s, forecast
from tuning.studies.pausing import is_under_way, pause_text

# Loading counts as this share of the bar until the first runs are done.
LOADING_SHARE = 0.15


@dataclass(frozen=True)
class StudyProgress:
    """`fraction` is 0..1; `eta_s` seconds to the end, None when nothing is known yet.

    `runs_total` and `eta_s` are upper ends: a race that is decided early needs less.
    While a winner is confirmed `pair` of `pairs` is measured; else both are 0. `device` names the
    one that is measured where the study has several or it is emulated.
    """

    fraction: float
    text: str
    candidate: str = ""
    block: int = 0
    blocks: int = 0
    step: str = ""
    runs_done: int = 0
    runs_total: int = 0
    eta_s: float | None = None
    pair: int = 0
    pairs: int = 0
    device: str = ""


def study_progress(study: Study) -> StudyProgress:
    found = study.slots.select_related("run", "run__workload", "candidate")
    slots = list(found.defer(*BULKY_OF_A_RUN))
    done = [slot for slot in slots if slot.run.is_finished]
    if study.is_finished:
        total = max(len(slots), 1)
        fraction = 1.0 if study.state == StudyState.FINISHED else len(done) / total
        return StudyProgress(
            fraction=fraction,
            text=str(StudyState(study.state).label),
            blocks=_blocks(study, slots),
            runs_done=len(done),
            runs_total=len(slots),
        )
    progress = _unfinished(study, slots, done)
    if not study.is_paused:
        return progress
    text = pause_text(study)
    if is_under_way(study):
        text = f"{progress.text}; {text}"
    return replace(progress, text=text, eta_s=None)


def _unfinished(study: Study, slots: list[Slot], done: list[Slot]) -> StudyProgress:
    ahead = forecast(study, slots)
    counted = StudyProgress(
        fraction=0.0,
        text="waiting for the host",
        blocks=_blocks(study, slots),
        runs_done=len(done),
        runs_total=len(done) + sum(part.runs for part in ahead),
    )
    if study.state == StudyState.QUEUED:
        return counted
    seconds = sum(part.runs * part.run_s for part in ahead)
    if study.state == StudyState.PREPARING:
        return replace(
            counted,
            fraction=LOADING_SHARE * study.preparing_fraction,
            text=study.preparing_text or "loading the dataset",
            step="loading",
            eta_s=_preparing_eta(study, seconds),
        )
    return _measuring(study, slots, counted, seconds)


def _blocks(study: Study, slots: list[Slot]) -> int:
    """How many blocks are planned; a race has more when those that left it leave their runs."""
    begun = (slot.block for slot in slots if slot.purpose == SlotPurpose.BLOCK)
    return max([study.blocks, *begun])


def _measuring(
    study: Study, slots: list[Slot], counted: StudyProgress, seconds: float
) -> StudyProgress:
    current = next((slot for slot in slots if slot.run.state == RunState.RUNNING), None)
    if current is not None and current.run.started_at is not None:
        spent = (timezone.now() - current.run.started_at).total_seconds()
        seconds -= min(spent, expected_s(current.run))
    share = counted.runs_done / max(counted.runs_total, 1)
    pair, pairs = _pair(current, slots)
    device = current.device if current else None
    is_told = device is not None and (device.emulation_label or len(study.devices.all()) > 1)
    return replace(
        counted,
        fraction=LOADING_SHARE + (1.0 - LOADING_SHARE) * share,
        text=_describe(current, slots, counted.blocks),
        candidate=current.candidate.name if current else "",
        block=current.block if current else 0,
        step=current.run.step if current else "",
        eta_s=max(seconds, 0.0),
        pair=pair,
        pairs=pairs,
        device=str(device) if is_told else "",
    )


def _pair(current: Slot | None, slots: list[Slot]) -> tuple[int, int]:
    """Which fresh pair is measured, of how many there; (0, 0) in the blocks."""
    if current is None or current.purpose != SlotPurpose.CONFIRMATION:
        return 0, 0
    here = (current.device_id, current.workload_id)
    blocks = sorted(
        {
            slot.block
            for slot in slots
            if slot.purpose == SlotPurpose.CONFIRMATION
            and (slot.device_id, slot.workload_id) == here
        }
    )
    return blocks.index(current.block) + 1, len(blocks)


def _describe(current: Slot | None, slots: list[Slot], blocks: int) -> str:
    if current is None:
        return "between two runs"
    step = current.run.step or "starting"
    if current.purpose == SlotPurpose.CONFIRMATION:
        number, pairs = _pair(current, slots)
        return f"confirmation, pair {number} of {pairs}: {current.candidate.name}, {step}"
    again = " again" if current.twin else ""
    return f"block {current.block} of {blocks}: {current.candidate.name}{again}, {step}"


def _preparing_eta(study: Study, seconds: float) -> float | None:
    if study.started_at is None or study.preparing_fraction <= 0:
        return None
    spent = (timezone.now() - study.started_at).total_seconds()
    return spent / study.preparing_fraction - spent + seconds

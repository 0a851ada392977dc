"""How far a study is and how long it will still take, from its rows and its finished runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from statistics import median

from django.utils import timezone

from benchmarks.models import Run, RunState
from tuning.models import BULKY_OF_A_RUN, Slot, Study, StudyState

# Until a first run has shown it: what a run takes beside warm-up and measured time, in seconds.
ASSUMED_OVERHEAD_S = 10.0
# Loading counts as this share of the bar until the first runs are done.
LOADING_SHARE = 0.15


@dataclass(frozen=True)
class StudyProgress:
    """`fraction` is 0..1; `eta_s` seconds to the end, None when nothing is known yet."""

    fraction: float
    text: str
    candidate: str = ""
    block: int = 0
    blocks: int = 0
    step: str = ""
    runs_done: int = 0
    runs_total: int = 0
    eta_s: float | None = None


def study_progress(study: Study) -> StudyProgress:
    found = study.slots.select_related("run", "run__workload", "candidate")
    slots = list(found.defer(*BULKY_OF_A_RUN))
    done = [slot for slot in slots if slot.run.is_finished]
    counted = StudyProgress(
        fraction=0.0,
        text="waiting for the host",
        blocks=study.blocks,
        runs_done=len(done),
        runs_total=len(slots),
    )
    if study.is_finished:
        fraction = 1.0 if study.state == StudyState.FINISHED else len(done) / max(len(slots), 1)
        return replace(counted, fraction=fraction, text=str(StudyState(study.state).label))
    if study.state == StudyState.QUEUED:
        return counted
    overhead = _overhead(slot.run for slot in done)
    if study.state == StudyState.PREPARING:
        return replace(
            counted,
            fraction=LOADING_SHARE * study.preparing_fraction,
            text=study.preparing_text or "loading the dataset",
            step="loading",
            eta_s=_loading_eta(study, slots, overhead),
        )
    return _measuring(study, slots, counted, overhead)


def _measuring(
    study: Study, slots: list[Slot], counted: StudyProgress, overhead: float
) -> StudyProgress:
    current = next((slot for slot in slots if slot.run.state == RunState.RUNNING), None)
    left = sum(_expected_s(slot.run, overhead) for slot in slots if not slot.run.is_finished)
    total = sum(_expected_s(slot.run, overhead) for slot in slots)
    if current is not None and current.run.started_at is not None:
        spent = (timezone.now() - current.run.started_at).total_seconds()
        left -= min(spent, _expected_s(current.run, overhead))
    share = 1.0 - left / total if total else 0.0
    return replace(
        counted,
        fraction=LOADING_SHARE + (1.0 - LOADING_SHARE) * share,
        text=_describe(current, study),
        candidate=current.candidate.name if current else "",
        block=current.block if current else 0,
        step=current.run.step if current else "",
        eta_s=left,
    )


def _describe(current: Slot | None, study: Study) -> str:
    if current is None:
        return "between two runs"
    step = current.run.step or "starting"
    return f"block {current.block} of {study.blocks}: {current.candidate.name}, {step}"


def _overhead(runs: Iterable[Run]) -> float:
    seen = [
        run.overhead_seconds
        for run in runs
        if run.state == RunState.OK and run.overhead_seconds is not None
    ]
    return median(seen) if seen else ASSUMED_OVERHEAD_S


def _expected_s(run: Run, overhead: float) -> float:
    return run.workload.warmup_s + run.workload.measure_s + overhead


def _loading_eta(study: Study, slots: list[Slot], overhead: float) -> float | None:
    if study.started_at is None or study.preparing_fraction <= 0:
        return None
    spent = (timezone.now() - study.started_at).total_seconds()
    loading = spent / study.preparing_fraction - spent
    return loading + sum(_expected_s(slot.run, overhead) for slot in slots)

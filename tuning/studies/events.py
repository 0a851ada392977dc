"""Events of a study: a row of `StudyEvent` is written when something happens.

Each function here is called in the transaction that changes the rows that it is about.
"""

from __future__ import annotations

from benchmarks.counted import counted
from benchmarks.models import CrashTest, JobState, Run, RunState
from tuning.models import (
    CrashSlot,
    Elimination,
    EventKind,
    Slot,
    SlotPurpose,
    Study,
    StudyEvent,
    StudyState,
)
from tuning.studies.waiting import by_and_reason

_ENDINGS = {
    RunState.OK: EventKind.MEASURED,
    RunState.CUT_SHORT: EventKind.CUT_SHORT,
    RunState.DISTURBED: EventKind.DISTURBED,
    RunState.LOST: EventKind.LOST,
    RunState.CANCELLED: EventKind.STOPPED,
}
_OF_CRASH_TESTS = {
    JobState.RUNNING: EventKind.CRASH_TEST,
    JobState.OK: EventKind.CRASH_TEST,
    JobState.CANCELLED: EventKind.CRASH_TEST,
    JobState.LOST: EventKind.LOST,
}


def note(
    study_id: int,
    kind: EventKind,
    text: str,
    *,
    by: str = "",
    run: int | None = None,
    candidate: str = "",
) -> None:
    """Write one event. `text` loses its full stop; `by` is the user, `candidate` a name."""
    StudyEvent.objects.create(
        study_id=study_id,
        kind=kind,
        text=text.rstrip("."),
        by=by,
        run_id=run,
        candidate=candidate,
    )


def note_request(study: Study) -> None:
    """Note by whom the study was requested."""
    by = study.created_by.get_username() if study.created_by else ""
    note(study.pk, EventKind.REQUESTED, f"Requested by {by}" if by else "Requested", by=by)


def note_action(study: Study, kind: EventKind, *, by: str = "", reason: str = "") -> None:
    """Note what a user, or the advisor itself, did to the study."""
    done_by, why = by_and_reason(by, reason)
    text = f"{kind.label}{f' by {done_by}' if done_by else ''}{f': {why}' if why else ''}"
    note(study.pk, kind, text, by=done_by)


def note_end(study: Study) -> None:
    """Note how the study ended; `study` has its new state and reason."""
    why = f": {study.reason}" if study.reason else ""
    kind = EventKind.FAILED if study.state == StudyState.FAILED else EventKind.ENDED
    note(study.pk, kind, f"Study {StudyState(study.state).label.lower()}{why}")


def note_preparation(study: Study) -> None:
    """Note that a preparation was claimed for the first time, paused the study or ended it."""
    pauses = study.events.filter(kind__in=(EventKind.PAUSED, EventKind.RESUMED))
    if study.is_finished:
        note_end(study)
    elif study.is_paused and (
        (newest := pauses.first()) is None or newest.kind == EventKind.RESUMED
    ):
        note_action(study, EventKind.PAUSED, by=study.paused_by, reason=study.pause_reason)
    elif study.claimed_by and not study.events.filter(kind=EventKind.PREPARING).exists():
        begun = f"{study.host} began to load the dataset and to try the candidates"
        note(study.pk, EventKind.PREPARING, begun)


def note_run(run_id: int) -> None:
    """Note that a run was claimed or has ended, as its row says now."""
    related = "run", "candidate", "study", "device", "workload"
    slot = Slot.objects.filter(run=run_id).select_related(*related).first()
    if slot is None:
        return
    run, name = slot.run, slot.candidate.name
    if run.state == RunState.RUNNING:
        kind = EventKind.CLAIMED
        text = f"Run {run_id} began: {name}, {_part(slot)}{_where(slot)}"
    else:
        kind = _ENDINGS.get(RunState(run.state), EventKind.FAILED)
        text = f"Run {run_id} of {name}: {_ending(run)}"
    note(slot.study_id, kind, text, run=run_id, candidate=name)


def note_retry(slot: Slot) -> None:
    """Note that the slot's run is to be measured again, by a new run that the slot has now."""
    name, run = slot.candidate.name, slot.run
    text = f"Run {run.pk} is to measure {name} again, after run {run.retry_of_id}"
    note(slot.study_id, EventKind.MEASURED_AGAIN, text, run=run.pk, candidate=name)


def note_elimination(left: Elimination) -> None:
    """Note that a candidate left the race."""
    name = left.candidate.name
    text = f"{name} left the race after block {left.after_block}{_where(left)}: {left.reason}"
    note(left.study_id, EventKind.LEFT_THE_RACE, text, candidate=name)


def note_crash_test(test_id: int) -> None:
    """Note that a crash test was claimed or has ended, as its row says now."""
    slot = CrashSlot.objects.filter(test=test_id).select_related("candidate").first()
    if slot is None:
        return
    test, name = CrashTest.objects.get(pk=test_id), slot.candidate.name
    kind = _OF_CRASH_TESTS.get(JobState(test.state), EventKind.FAILED)
    text = f"Crash recovery of {name}"
    if test.state == JobState.RUNNING:
        text += " began"
    else:
        label = str(JobState(test.state).label)
        text += f": {label if test.state == JobState.OK else label.lower()}"
        text += f": {test.reason}" if test.reason else ""
    note(slot.study_id, kind, text, candidate=name)


def _part(slot: Slot) -> str:
    """Name the run's part of the study, such as "block 2" or "confirmation, block 7"."""
    purpose = SlotPurpose(slot.purpose)
    word = "block" if purpose == SlotPurpose.BLOCK else f"{purpose.label.lower()}, block"
    return f"{word} {slot.block}{' (replicate)' if slot.replicate else ''}"


def _where(place: Slot | Elimination) -> str:
    """Name the device and the connections, each only if the study has several."""
    on = f" on {place.device}" if place.study.devices.count() > 1 else ""
    load = counted(place.workload.connections, "connection")
    return on + (f" with {load}" if place.study.workloads.count() > 1 else "")


def _ending(run: Run) -> str:
    if run.state == RunState.OK and run.throughput is not None:
        p95 = "" if run.p95_ms is None else f", p95 {_milliseconds(run.p95_ms)} ms"
        return f"{run.throughput:,.0f} {run.workload.unit}{p95}"
    label = RunState(run.state).label.lower()
    return f"{label}: {run.reason}" if run.reason else label


def _milliseconds(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.1f}"

"""What happened in a study, one line each: from its rows, which have the times.

Only what nothing else keeps has rows of its own: what somebody did to it (`StudyAction`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from benchmarks.counted import counted
from benchmarks.models import ACTIVE_JOB_STATES, Device, JobState, Run, RunState, Workload
from tuning.models import (
    CrashSlot,
    SlotPurpose,
    Study,
    StudyAction,
    StudyState,
)
from tuning.studies.slot_states import MAX_VOIDED, SlotState, pair_numbers, slot_states

# A run and those that it replaced: as many as are measured again at most by default, and two more.
_CHAIN = tuple("retry_of__" * times for times in range(6))


class EventKind(StrEnum):
    """Stable words for programs."""

    REQUESTED = "requested"
    PREPARING = "preparing"
    CLAIMED = "claimed"
    MEASURED = "measured"
    CUT_SHORT = "cut_short"
    DISTURBED = "disturbed"
    LOST = "lost"
    FAILED = "failed"
    STOPPED = "stopped"
    MEASURED_AGAIN = "measured_again"
    CRASH_TEST = "crash_test"
    LEFT_THE_RACE = "left_the_race"
    PAUSED = "paused"
    RESUMED = "resumed"
    CANCELLED = "cancelled"
    CONCLUDED = "concluded"
    EXTENDED = "extended"
    TAKEN_APART = "taken_apart"
    ENDED = "ended"


#: What somebody may want to look into.
TROUBLE = (EventKind.DISTURBED, EventKind.LOST, EventKind.FAILED, EventKind.LEFT_THE_RACE)
# Of a run in one of these states a list of slots says all, unless it replaced another one.
_SAID = (RunState.RUNNING, RunState.OK)
_ENDINGS = {
    RunState.OK: EventKind.MEASURED,
    RunState.CUT_SHORT: EventKind.CUT_SHORT,
    RunState.DISTURBED: EventKind.DISTURBED,
    RunState.LOST: EventKind.LOST,
    RunState.CANCELLED: EventKind.STOPPED,
}


@dataclass(frozen=True)
class Event:
    """Something that happened at a time by the database's clock; `text` has no full stop.

    `run` is that of the event, if it is about one, `candidate` the name of its config.
    """

    at: datetime
    kind: EventKind
    text: str
    run: int | None = None
    candidate: str = ""

    @property
    def is_trouble(self) -> bool:
        return self.kind in TROUBLE


class _Facts(NamedTuple):
    """What is said of a run. A list of slots lacks what has a default."""

    pk: int
    state: str
    started_at: datetime | None
    finished_at: datetime | None
    tpmP: float | None
    p95_ms: float | None
    reason: str = ""
    queued_at: datetime | None = None
    retry_of: int | None = None


def study_events(
    study: Study, slots: Sequence[SlotState] | None = None, *, newest_runs: int | None = None
) -> list[Event]:
    """All events of a study, newest first, in four queries at most; `slots` if already read.

    With `newest_runs` only those of that many slots whose runs began last, and of their retries.
    """
    slots = slot_states(study) if slots is None else slots
    names = _Names(study)
    found = [
        *_of_study(study),
        *_of_runs(slots, newest_runs, names),
        *_eliminations(study, slots, names),
        *_crash_tests(study),
        *(Event(one.at, EventKind(one.kind), _action_text(one)) for one in study.actions.all()),
    ]
    # Of one instant that which was written first comes first in time.
    in_time = sorted(enumerate(found), key=lambda one: (one[1].at, one[0]))
    return [event for _, event in reversed(in_time)]


class _Names:
    """Words for a place, only as far as the study has several."""

    def __init__(self, study: Study) -> None:
        self._devices: Mapping[int, Device] = {one.pk: one for one in study.devices.all()}
        self._workloads: Mapping[int, Workload] = {one.pk: one for one in study.workloads.all()}

    def where(self, device: int, workload: int) -> str:
        words = []
        if len(self._devices) > 1 and device in self._devices:
            words.append(f"on {self._devices[device]}")
        if len(self._workloads) > 1 and workload in self._workloads:
            words.append(f"with {counted(self._workloads[workload].connections, 'connection')}")
        return "".join(f", {word}" for word in words)


def _of_study(study: Study) -> Iterable[Event]:
    by = f" by {study.created_by.get_username()}" if study.created_by else ""
    yield Event(study.created_at, EventKind.REQUESTED, f"Requested{by}")
    if study.started_at is not None:
        begun = f"{study.host} began to load the dataset and to try the candidates"
        yield Event(study.started_at, EventKind.PREPARING, begun)
    if study.finished_at is not None and study.is_finished:
        why = f": {study.reason}" if study.reason else ""
        label = StudyState(study.state).label
        kind = EventKind.FAILED if study.state == StudyState.FAILED else EventKind.ENDED
        yield Event(study.finished_at, kind, f"Study {label.lower()}{why}".rstrip("."))


def _of_runs(slots: Sequence[SlotState], newest: int | None, names: _Names) -> Iterable[Event]:
    begun = [slot for slot in slots if slot.started_at is not None or slot.voided]
    if newest is not None:
        begun = sorted(begun, key=lambda slot: slot.run_id)[-newest:]
    slot_of = {slot.run_id: slot for slot in begun if slot.voided or slot.state not in _SAID}
    width = len(_Facts._fields)
    times = max((slot.voided for slot in begun), default=0)
    chain = _CHAIN if times == MAX_VOIDED else _CHAIN[: times + 1]
    columns = [f"{newer}{name}" for newer in chain for name in _Facts._fields]
    pairs = pair_numbers(slots)
    found = [
        (_Facts(s.run_id, s.state, s.started_at, s.finished_at, s.tpmP, s.p95_ms), s)
        for s in begun
        if s.run_id not in slot_of
    ]
    replaced = Run.objects.filter(pk__in=slot_of).values_list(*columns) if slot_of else ()
    for row in replaced:
        there = (at for at in range(0, len(row), width) if row[at] is not None)
        found += [(_Facts(*row[at : at + width]), slot_of[row[0]]) for at in there]
    for facts, slot in sorted(found, key=lambda one: one[0].pk):
        yield from _of_run(facts, slot, _part(slot, pairs), names)


def _of_run(run: _Facts, slot: SlotState, part: str, names: _Names) -> Iterable[Event]:
    config, pk = slot.name, run.pk
    if run.retry_of is not None and run.queued_at is not None:
        again = f"Run {pk} is to measure {config} again, after run {run.retry_of}"
        yield Event(run.queued_at, EventKind.MEASURED_AGAIN, again, pk, config)
    if run.started_at is None:
        return
    what = f"{part}{names.where(*slot.place)}"
    claimed = f"Run {pk} began: {config}, {what}"
    yield Event(run.started_at, EventKind.CLAIMED, claimed, pk, config)
    if run.finished_at is None:
        return
    state = RunState(run.state)
    kind = _ENDINGS.get(state, EventKind.FAILED)
    yield Event(run.finished_at, kind, f"Run {pk} of {config}: {_ending(run)}", pk, config)


def _part(slot: SlotState, pairs: Mapping[tuple[int, int, int], int]) -> str:
    if slot.purpose == SlotPurpose.CONFIRMATION:
        return f"confirmation, pair {pairs[*slot.place, slot.block]}"
    word = {
        SlotPurpose.SEARCH: "search, round",
        SlotPurpose.APART: "taking apart, round",
        SlotPurpose.REDUCED: "reduced config, round",
    }.get(SlotPurpose(slot.purpose), "block")
    return f"{word} {slot.block}{' (replicate)' if slot.replicate else ''}"


def _milliseconds(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.1f}"


def _ending(run: _Facts) -> str:
    if run.state == RunState.OK and run.tpmP is not None:
        p95 = "" if run.p95_ms is None else f", p95 {_milliseconds(run.p95_ms)} ms"
        return f"{run.tpmP:,.0f} tpmP{p95}"
    label = RunState(run.state).label.lower()
    return f"{label}: {run.reason}".rstrip(".") if run.reason else label


def _eliminations(study: Study, slots: Iterable[SlotState], names: _Names) -> Iterable[Event]:
    """A candidate leaves when the last run of its last block has ended."""
    columns = "candidate__name", "device", "workload", "after_block", "reason"
    rows = study.eliminations.values_list(*columns)
    if not rows:
        return
    ends: dict[tuple[int, int, int], datetime] = {}
    for slot in slots:
        if slot.purpose == SlotPurpose.BLOCK and slot.finished_at is not None:
            at = (*slot.place, slot.block)
            ends[at] = max(ends.get(at, slot.finished_at), slot.finished_at)
    for name, device, workload, block, reason in rows:
        if (ended := ends.get((device, workload, block))) is not None:
            where = names.where(device, workload)
            text = f"{name} left the race after block {block}{where}: {reason}".rstrip(".")
            yield Event(ended, EventKind.LEFT_THE_RACE, text, candidate=name)


def _crash_tests(study: Study) -> Iterable[Event]:
    if not study.crash_tests:
        return
    rows = CrashSlot.objects.filter(study=study).values_list(
        "candidate__name", "test__state", "test__reason", "test__started_at", "test__finished_at"
    )
    for name, state, reason, started_at, finished_at in rows:
        if started_at is not None:
            begun = f"Crash recovery of {name} began"
            yield Event(started_at, EventKind.CRASH_TEST, begun, candidate=name)
        if finished_at is not None and state not in ACTIVE_JOB_STATES:
            label = JobState(state).label
            why = f": {reason}" if reason else ""
            ended = f"Crash recovery of {name}: {label if state == 'ok' else label.lower()}{why}"
            kind = EventKind.LOST if state == JobState.LOST else EventKind.FAILED
            kind = EventKind.CRASH_TEST if state in (JobState.OK, JobState.CANCELLED) else kind
            yield Event(finished_at, kind, ended.rstrip("."), candidate=name)


def _action_text(action: StudyAction) -> str:
    by = f" by {action.by}" if action.by else ""
    why = f": {action.reason}" if action.reason else ""
    return f"{StudyAction.Kind(action.kind).label}{by}{why}"

"""Decides what a host does next and wakes its worker.

`advance_host` may be called at any time, from anywhere, any number of times: it reads the rows,
takes the next step while it holds the study's row, so that no two calls decide at the same time,
and sends a message that may get lost or arrive twice.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now

from benchmarks.errors import NotInspected
from benchmarks.jobs.engine import AWAY
from benchmarks.jobs.heartbeat import CANCELLED, cancel_waiting
from benchmarks.jobs.inspections import InspectionKind
from benchmarks.jobs.kinds import JobKind, wake
from benchmarks.jobs.loads import LoadKind
from benchmarks.jobs.locks import host_lock
from benchmarks.jobs.probes import ProbeKind
from benchmarks.jobs.runs import CrashTestKind, RunKind
from benchmarks.models import Host, JobState, Run, RunState
from tuning.errors import NothingToRecommend, TuningError
from tuning.models import ACTIVE_STUDY_STATES, Study, StudyState
from tuning.results.answer import store_recommendations
from tuning.results.gate import store_verdict
from tuning.results.search import learn_knobs
from tuning.results.study_rows import StudyRows
from tuning.strategy.protocol import Done
from tuning.studies.continuation import Ahead, continue_study, has_to_think, think_ahead
from tuning.studies.crash_tests import (
    close_crash_tests,
    next_crash_test,
    running_crash_test,
    waiting_crash_test,
)
from tuning.studies.events import note_end
from tuning.studies.next_jobs import (
    host_of_a_turn,
    next_job,
    next_run,
    open_runs,
    retry_bounds,
    retry_interrupted,
    waiting_studies,
)
from tuning.studies.preparation import PreparationKind
from tuning.studies.revision import bump

logger = logging.getLogger(__name__)

EXECUTE = RunKind.task
PREPARE = PreparationKind.task
PROBE = ProbeKind.task
CRASH_TEST = CrashTestKind.task
LOAD = LoadKind.task


@dataclass(frozen=True)
class _Turn:
    """A study's next job; without `task` it waits, and with `passes` the next study has its turn.

    A study passes when it has ended, is paused, or waits for a load host.
    """

    passes: bool = False
    task: str = ""
    row_id: int = 0


_WAITS = _Turn()
_PASSES = _Turn(passes=True)


def advance_host(host_id: int) -> None:
    """Take the next step of the host's next study; the others wait.

    A probe goes before a study that has not begun, and waits for one that has: its effect on the
    device's caches would show in the next run. A drained host begins nothing: what was cancelled
    or has nothing left to measure still ends. A host that drives another one's server does that
    before its own work. An inspection waits for the current job only: the next run clones
    gigabytes before it measures, and what an inspection reads does not show beside that.
    """
    # While a run is measured, everything waits except studies that a user cancelled.
    host, measures, cancelled = host_of_a_turn(host_id)
    if measures and not cancelled:
        return
    inspects = _send_first(InspectionKind(), host)
    if inspects and not cancelled:
        return
    is_busy = inspects or _send_first(LoadKind(), host)
    probe = None if is_busy else next_job(ProbeKind(), host_id)
    for study, load_host_away in waiting_studies(host_id):
        if probe is not None and study.state == StudyState.QUEUED:
            break
        turn = _take_turn(study, load_host_away=load_host_away)
        if turn.task and not study.host.is_drained and not is_busy:
            wake(turn.task, turn.row_id, host)
        if not turn.passes:
            return
    if probe is not None and probe.state == JobState.QUEUED:
        wake(PROBE, probe.pk, host)


def _send_first(kind: JobKind[Any], host: Host) -> bool:
    """Wake the worker for the next job of a kind, unless another job runs.

    Return whether nothing else may begin: such a job runs or was sent. A load is waited for in
    any case, because another host measures already.
    """
    row = next_job(kind, host.pk)
    if row is None or row.state == JobState.RUNNING:
        return row is not None
    if is_measuring(host.pk):
        return kind.task == LOAD
    wake(kind.task, row.pk, host)
    return True


def is_measuring(host_id: int) -> bool:
    """Whether a job is running on the host that must not be disturbed."""
    return any(
        kind.running_on(host_id).exists()
        for kind in (RunKind(), CrashTestKind(), ProbeKind(), PreparationKind(), LoadKind())
    )


def _take_turn(study: Study, *, load_host_away: bool) -> _Turn:
    """Take one step while no other process can: two at once would act on outdated rows.

    PostgreSQL locks the study's row; on SQLite the transaction begins as the only writer
    (`transaction_mode` in the settings).
    """
    if is_prepared_or_killed(study):  # no reason to take its row; nor is a run measured
        return _WAITS
    if (study.is_paused or load_host_away) and study.stop_request != CANCELLED:
        return _WAITS if is_under_way(study) else _PASSES
    try:
        with _thinking_alone(study) as is_ours:
            if not is_ours:
                return _WAITS
            ahead = _think(study.pk) if has_to_think(study) else None
            with transaction.atomic():
                locked = Study.objects.select_for_update().filter(pk=study.pk).first()
                if locked is None:  # not ours to decide: docs/reference/host-role.sql
                    return _WAITS
                locked.host = study.host
                return _decide(locked, ahead)
    except AWAY:
        raise
    except NotInspected as missing:
        logger.warning("study %s waits: %s", study.pk, missing)
        return _WAITS
    except TuningError as error:
        return _ended(study, StudyState.FAILED, error.code, str(error))
    except Exception as bug:
        # If the study stayed active, no other study of this host would ever run.
        logger.exception("study %s: internal error", study.pk)
        return _ended(study, StudyState.FAILED, "internal_error", f"{type(bug).__name__}: {bug}")


def _thinking_alone(study: Study) -> AbstractContextManager[bool]:
    """False while another process of this host takes the turn of a study that searches.

    A second one would still be thinking when the next run is measured.
    """
    if study.search is None:
        return nullcontext(True)
    return host_lock(settings.RUN_DIR / "thinking.lock", patience_s=0)


def _think(study_id: int) -> Ahead | None:
    """Learn from a search's runs what pages show of it, then let it think of the next ones.

    Nobody holds the rows meanwhile. After a failure the process that holds them thinks once more,
    and only a second failure ends the study.
    """
    try:
        learn_knobs(StudyRows(Study.objects.get(pk=study_id)))
        bump([study_id])
    except AWAY:
        raise
    except Exception:
        logger.exception("study %s: its variables could not be judged", study_id)
    try:
        return think_ahead(Study.objects.select_related("host").get(pk=study_id))
    except (*AWAY, NotInspected):
        raise
    except Exception:
        logger.exception("study %s: thinking ahead failed", study_id)
        return None


def _decide(study: Study, ahead: Ahead | None) -> _Turn:
    if study.is_finished:
        return _PASSES
    bounds = retry_bounds()
    waited_for = RunState.QUEUED, RunState.RUNNING, *bounds
    runs = open_runs(study, waited_for)
    states = {one.state for one in runs}
    if is_prepared_or_killed(study) or RunState.RUNNING in states:
        return _WAITS
    if study.stop_request == CANCELLED:
        return _ended(study, StudyState.CANCELLED, "cancelled", "cancelled by the user")
    if study.is_paused:
        return _PASSES
    if study.state != StudyState.RUNNING and study.host.is_drained:
        return _WAITS
    if study.state == StudyState.QUEUED:
        bump([study.pk])
        Study.objects.filter(pk=study.pk).update(state=StudyState.PREPARING)
    if study.state != StudyState.RUNNING:
        return _Turn(task=PREPARE, row_id=study.pk)
    # Before anything else: a study whose last run was interrupted has not ended.
    if states & bounds.keys():
        retry_interrupted(study)
        runs = open_runs(study, waited_for)
    if study.paused_at is not None:  # because the disk was full
        return _PASSES
    if run := next_run(runs):
        return _Turn(task=EXECUTE, row_id=run)
    if test := waiting_crash_test(study):
        return _Turn(task=CRASH_TEST, row_id=test.pk)
    ends = continue_study(study, ahead)
    if study.state == StudyState.PREPARING:  # there are new candidates to be tried
        return _Turn(task=PREPARE, row_id=study.pk)
    if run := next_run(open_runs(study, waited_for)):
        return _Turn(task=EXECUTE, row_id=run)
    if test := next_crash_test(study):
        return _Turn(task=CRASH_TEST, row_id=test.pk)
    return _conclude(study, ends)


def is_under_way(study: Study) -> bool:
    """Whether a job of the study is running right now; a pause waits for it."""
    return is_prepared_or_killed(study) or study.slots.filter(run__state=RunState.RUNNING).exists()


def is_prepared_or_killed(study: Study) -> bool:
    """Whether a job of the study runs that is no run: its preparation or a crash test."""
    if study.state == StudyState.PREPARING:
        return bool(study.claimed_by)
    return study.crash_tests and running_crash_test(study) is not None


def _conclude(study: Study, ends: Iterable[Done]) -> _Turn:
    try:
        with transaction.atomic():
            if study.gate is not None:
                store_verdict(study)
            else:
                store_recommendations(study, had_finalists=any(end.unraced for end in ends))
            return _ended(study, StudyState.FINISHED)
    except NothingToRecommend as reason:
        return _ended(study, StudyState.FAILED, reason.code, str(reason))


def _ended(study: Study, state: StudyState, code: str = "", reason: str = "") -> _Turn:
    """End the study; if another process did so before, the next step is that one's."""
    return _PASSES if end_study(study, state, code, reason) else _WAITS


def end_study(study: Study, state: StudyState, code: str = "", reason: str = "") -> bool:
    """Close the study and its queued runs; True if this call did it."""
    with transaction.atomic():
        bump([study.pk])
        ended = Study.objects.filter(pk=study.pk, state__in=ACTIVE_STUDY_STATES).update(
            state=state, reason_code=code, reason=reason, finished_at=Now()
        )
        runs = Run.objects.filter(slot__study=study)
        cancel_waiting(runs, reason)
        # A concluded study does not change any more, even if a lost result turns up.
        runs.filter(state=RunState.LOST).update(claimed_by="")
        close_crash_tests(study, reason)
        if ended:
            note_end(Study.objects.get(pk=study.pk))
    return ended == 1

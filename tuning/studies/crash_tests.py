"""The crash tests of a study: which configs are killed under load, and when."""

from __future__ import annotations

from django.conf import settings

from benchmarks.jobs.cancelling import cancel_waiting
from benchmarks.models import CrashTest, JobState
from tuning.models import Candidate, CrashSlot, Study
from tuning.results.answer import advise
from tuning.results.build import build
from tuning.results.document import Board, StudyDocument
from tuning.results.study_result import StudyResult
from tuning.studies.crash_forecast import has_crash_tests, load_seconds
from tuning.studies.revision import bump


def next_crash_test(study: Study) -> CrashTest | None:
    """The next one to do, written as rows; None when there is none left.

    To be called by whoever holds the study's row, when nothing else of it is to be measured. The
    baseline and the config that would be recommended are tested on every board. Without a winner
    only a limit is a reason to test the baseline. A study whose user wants the answer now tests
    nothing, unless there is a limit.
    """
    if not has_crash_tests(study):
        return None
    result = StudyResult(study)
    has_limit = result.aim.max_recovery_s is not None
    document = build(result)
    for board in document.boards:
        for candidate_id in _to_test(document, board, has_limit=has_limit):
            candidate = result.candidates[candidate_id]
            test = _test_of(study, board, candidate)
            if not test.is_finished:
                return test
    return None


def waiting_crash_test(study: Study) -> CrashTest | None:
    """One that is queued already."""
    if not study.crash_tests:
        return None
    queued = CrashTest.objects.filter(slot__study=study, state=JobState.QUEUED)
    return queued.order_by("pk").first()


def running_crash_test(study: Study) -> CrashTest | None:
    """The one under way, with its slot and candidate."""
    there = CrashTest.objects.filter(slot__study=study, state=JobState.RUNNING)
    return there.select_related("slot__candidate").first()


def close_crash_tests(study: Study, reason: str) -> None:
    """The study has ended: queued ones never start, and a lost one stays without a figure."""
    if not study.crash_tests:
        return
    there = CrashTest.objects.filter(slot__study=study)
    cancel_waiting(there, reason)
    there.filter(state=JobState.LOST).update(claimed_by="")


def _to_test(document: StudyDocument, board: Board, *, has_limit: bool) -> list[int]:
    """Return the baseline and the config that would be recommended now, which has most to lose."""
    baseline = board.baseline_id
    advised = advise(document, board).candidate_id if board.is_raced else baseline
    if advised != baseline:
        return [baseline, advised]
    return [baseline] if has_limit else []


def _test_of(study: Study, board: Board, candidate: Candidate) -> CrashTest:
    """The candidate's newest test there, queued first or again if need be."""
    slot = study.crash_slots.filter(
        candidate=candidate, device_id=board.device_id, workload_id=board.workload_id
    ).first()
    if slot is None:
        slot = CrashSlot(
            study=study,
            candidate=candidate,
            device_id=board.device_id,
            workload_id=board.workload_id,
            test=_queued(study, board, candidate),
        )
        slot.save()
    elif slot.test.state == JobState.LOST and slot.losses < settings.LOST_RUN_RETRIES:
        _replace(slot, _queued(study, board, candidate), losses=slot.losses + 1)
    elif slot.test.state == JobState.CANCELLED:  # its worker was stopped
        _replace(slot, _queued(study, board, candidate), losses=slot.losses)
    return slot.test


def _replace(slot: CrashSlot, test: CrashTest, *, losses: int) -> None:
    # Takes the claim away, so that no late result is stored.
    CrashTest.objects.filter(pk=slot.test_id).update(claimed_by="")
    slot.test, slot.losses = test, losses
    slot.save(update_fields=["test", "losses"])


def _queued(study: Study, board: Board, candidate: Candidate) -> CrashTest:
    bump([study.pk])
    workload = study.workloads.get(pk=board.workload_id)
    return CrashTest.objects.create(
        host=study.host,
        device_id=board.device_id,
        server=study.server,
        workload=workload,
        config=candidate.config,
        seed=study.seed,
        logs_with_data=candidate.logs_with_data,
        load_s=load_seconds(workload),
    )

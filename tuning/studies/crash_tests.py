"""The crash tests of a study: which configs are killed under load, when, and for how long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from django.conf import settings

from benchmarks.jobs.heartbeat import cancel_waiting
from benchmarks.measurement.crash_test import KILLS
from benchmarks.models import ACTIVE_JOB_STATES, CrashTest, JobState, Workload
from tuning.models import Candidate, CrashSlot, Study
from tuning.requests.load import Sizes
from tuning.results.answer import advise
from tuning.results.build import build
from tuning.results.document import Board, StudyDocument
from tuning.results.study_rows import StudyRows
from tuning.statistics.aim import Aim
from tuning.studies.revision import bump

#: Seconds of load before each kill: at least the first, at most the second.
MIN_LOAD_S, MAX_LOAD_S = 30, 300
# Seconds of a test besides its load, until one has shown it: a clone, the first start, and for
# each kill a start with the files out of the page cache. MySQL 9.7 with 1 GB on a virtio disk.
_OVERHEAD_S = 10.0
_RESTART_S = 10.0


@dataclass(frozen=True)
class CrashTestsLeft:
    """`done` tests have ended, `left` may follow at most; `each_s` are the seconds of one.

    is_under_way: one is queued or running; nothing else is measured then.
    """

    done: int = 0
    left: int = 0
    each_s: float = 0.0
    is_under_way: bool = False

    @property
    def seconds(self) -> float:
        return self.left * self.each_s


def has_crash_tests(study: Study) -> bool:
    """Whether any may follow. A study whose user wants the answer now tests only for a limit."""
    if not study.crash_tests or study.concluded_at is None:
        return study.crash_tests
    return Aim.from_json(study.search or {}).max_recovery_s is not None


def load_seconds(sizes: Workload | Sizes) -> int:
    """Return the seconds of load before each kill."""
    return min(max(sizes.warmup_s + sizes.measure_s, MIN_LOAD_S), MAX_LOAD_S)


def crash_test_s(sizes: Workload | Sizes) -> float:
    """Return the estimated seconds of a test, before another has shown it."""
    return _OVERHEAD_S + KILLS * (load_seconds(sizes) + _RESTART_S)


def crash_tests_left(
    study: Study, workloads: Sequence[Workload], *, winners: int, confirmed: int
) -> CrashTestsLeft:
    """Return the tests that may follow: on each place of the baseline and of every winner.

    workloads: one per place. winners: the most on all places. confirmed: the winners with pairs.
    No winner appears after the first test.
    """
    if not has_crash_tests(study):
        return CrashTestsLeft()
    columns = "test__state", "test__started_at", "test__finished_at"
    tests = list(study.crash_slots.values_list(*columns))
    done = sum(state not in ACTIVE_JOB_STATES for state, *_ in tests)
    took = [
        (end - begin).total_seconds()
        for state, begin, end in tests
        if state == JobState.OK and begin is not None and end is not None
    ]
    planned = len(workloads) + (confirmed if tests and study.confirms else winners)
    return CrashTestsLeft(
        done=done,
        left=max(planned, len(tests)) - done,
        each_s=median(took) if took else fmean(map(crash_test_s, workloads)),
        is_under_way=done < len(tests),
    )


def next_crash_test(study: Study) -> CrashTest | None:
    """The next one to do, written as rows; None when there is none left.

    The caller holds the study's row, and nothing else of the study is to be measured. The
    baseline and the config that would be recommended are tested on every board. Without a winner
    only a limit is a reason to test the baseline. A study whose user wants the answer now tests
    nothing, unless there is a limit.
    """
    if not has_crash_tests(study):
        return None
    result = StudyRows(study)
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
    """Return a crash test that is queued already."""
    if not study.crash_tests:
        return None
    queued = CrashTest.objects.filter(slot__study=study, state=JobState.QUEUED)
    return queued.order_by("pk").first()


def running_crash_test(study: Study) -> CrashTest | None:
    """Return the crash test under way, with its slot and candidate."""
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
        applied=study.applied,
        load_s=load_seconds(workload),
    )

"""A study that is concluded early: what is still measured, what it answers, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db.models import QuerySet

from benchmarks.models import Run, RunState
from tuning.errors import TuningError
from tuning.models import Slot, SlotPurpose, Study, StudyState
from tuning.requests.configs import ConfigText
from tuning.results.boards import boards_of
from tuning.results.study_rows import StudyRows
from tuning.statistics.aim import Aim
from tuning.statistics.confirmation import ConfirmationState, most_pairs
from tuning.strategy.compose import strategy_for
from tuning.strategy.search.plan import SearchPlan
from tuning.strategy.search.search import CONCLUDING_BLOCKS, Effort
from tuning.strategy.search.space import Dimension, Space
from tuning.studies.commands import (
    conclude_study,
    extend_study,
    pause_study,
    resume_study,
)
from tuning.studies.progress import study_progress
from tuning.studies.scheduler import advance_host
from tuning.tests.kept import kept
from tuning.tests.test_search_rows import CAPACITY, search, step, to_the_end
from tuning.tests.test_study_race import noisy, started

__all__ = ["search"]
pytestmark = [
    pytest.mark.long,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("host_of_fakes", "sent"),
]
SPACE = Space((Dimension(CAPACITY, "number", 200, 20_000, is_log=True, default="10000"),))
GIVEN_IS_BEST = noisy({"5000": 1.3})
STRATEGY = strategy_for(races=True, confirms=True, search=SearchPlan(SPACE))


@pytest.fixture
def begun(search: Callable[..., Study]) -> Study:
    """The real search, asked for and not begun, with more runs than the tests will need."""
    study = search(STRATEGY, seed=3, blocks=60)
    stored = Aim().as_json() | {"space": SPACE.as_json()}
    Study.objects.filter(pk=study.pk).update(search=stored)
    return study


def until(study: Study, is_there: Callable[[], Any], measure: Any = GIVEN_IS_BEST) -> None:
    for _ in range(200):
        if is_there():
            return
        assert step(study, measure)
    raise AssertionError("it never comes")


def queued(study: Study) -> int:
    return study.slots.filter(run__state=RunState.QUEUED).count()


def screened(study: Study) -> int:
    return study.slots.filter(purpose=SlotPurpose.SEARCH).count()


def in_round(study: Study, number: int) -> Callable[[], bool]:
    """Whether some of a round of the search is measured and the rest is queued."""
    there = study.slots.filter(purpose=SlotPurpose.SEARCH, block=number)
    return lambda: bool(
        there.filter(run__state=RunState.OK) and there.filter(run__state=RunState.QUEUED)
    )


@pytest.fixture
def screening(begun: Study) -> Study:
    """The same in its second round."""

    def make() -> Study:
        until(begun, in_round(begun, 2))
        return begun

    return kept("a search in its second round", make)


def raced_blocks(study: Study) -> int:
    blocks = study.slots.filter(purpose=SlotPurpose.BLOCK)
    return blocks.values("block").distinct().count()


def test_a_search_stops_screening_races_its_best_and_confirms_them(screening: Study) -> None:
    before = study_progress(screening).runs_total
    conclude_study(screening)
    assert screening.is_concluding
    assert screening.shown_state == "Concluding"
    looked = screened(screening)
    progress = study_progress(screening)
    most = 5 * CONCLUDING_BLOCKS + 2 * most_pairs(screening.blocks, Effort().finalists)
    assert progress.runs_total <= progress.runs_done + most < before
    study = to_the_end(screening, GIVEN_IS_BEST)
    assert study.state == StudyState.FINISHED, study.reason
    assert screened(study) == looked
    assert 1 <= raced_blocks(study) <= CONCLUDING_BLOCKS
    answer = study.recommendations.get()
    assert answer.candidate.name == "given"
    assert answer.confirmation == ConfirmationState.CONFIRMED
    assert "The study was concluded early on request." in answer.verdict
    assert not study.slots.exclude(run__state=RunState.OK).exists()


def test_new_configs_that_were_being_tried_are_not_measured_any_more(begun: Study) -> None:
    def is_trying() -> bool:
        begun.refresh_from_db()
        return begun.state == StudyState.PREPARING and screened(begun) > 0

    until(begun, is_trying)
    looked = screened(begun)
    assert begun.runs_to_queue
    conclude_study(begun)
    study = to_the_end(begun, GIVEN_IS_BEST)
    assert study.state == StudyState.FINISHED
    assert screened(study) == looked
    assert study.recommendations.get().candidate.name == "given"


def test_a_search_that_found_nothing_by_then_says_so(begun: Study) -> None:
    worse = noisy({"": 1.5})
    until(begun, in_round(begun, 2), worse)
    conclude_study(begun)
    study = to_the_end(begun, worse)
    answer = study.recommendations.get()
    assert answer.candidate.is_baseline
    assert answer.kind == "nothing_found"
    assert "concluded early on request" in answer.verdict


def test_concluding_is_done_once_and_survives_a_crash(screening: Study) -> None:
    Study.objects.filter(pk=screening.pk).update(stop_request="cancelled")
    with pytest.raises(TuningError) as cancelled:
        conclude_study(screening)
    assert cancelled.value.code == "being_cancelled"
    Study.objects.filter(pk=screening.pk).update(stop_request="")
    conclude_study(screening)
    asked, rows = screening.concluded_at, screening.slots.count()
    with pytest.raises(TuningError) as again:
        conclude_study(screening)
    assert again.value.code == "already_concluding"
    screening.refresh_from_db()
    assert (screening.concluded_at, screening.slots.count()) == (asked, rows)
    # A worker that died takes its run with it; what it screened is not looked at again.
    last = screening.slots.filter(purpose=SlotPurpose.SEARCH).last()
    assert last is not None
    Run.objects.filter(pk=last.run_id).update(state=RunState.LOST, throughput=None)
    advance_host(screening.host_id)
    last.refresh_from_db()
    assert last.run.state == RunState.LOST
    assert to_the_end(screening, GIVEN_IS_BEST).state == StudyState.FINISHED
    with pytest.raises(TuningError) as refused:
        conclude_study(screening)
    assert refused.value.code == "already_ended"


def test_a_screening_run_that_waits_to_be_measured_again_stays_void(screening: Study) -> None:
    slot = screening.slots.filter(run__state=RunState.OK, block=2).first()
    assert slot is not None
    Run.objects.filter(pk=slot.run_id).update(state=RunState.DISTURBED, throughput=None)
    advance_host(screening.host_id)
    disturbed = slot.run_id
    slot.refresh_from_db()
    assert slot.run.retry_of_id == disturbed
    conclude_study(screening)
    slot.refresh_from_db()
    assert slot.run_id == disturbed
    assert (
        screened(screening)
        == screening.slots.exclude(run__state=RunState.QUEUED)
        .filter(purpose=SlotPurpose.SEARCH)
        .count()
    )


def test_blocks_end_and_what_leads_is_confirmed() -> None:
    study = started(blocks=40)
    effects = noisy({"5000": 1.2, "300": 0.9})
    blocks = study.slots.filter(purpose=SlotPurpose.BLOCK)
    until(study, lambda: blocks.filter(block=3, run__state=RunState.OK).exists(), effects)
    measured = blocks.exclude(run__state=RunState.QUEUED).count()
    conclude_study(study)
    assert blocks.count() == measured
    assert study.slots.filter(purpose=SlotPurpose.CONFIRMATION).count() == queued(study) > 0
    study = to_the_end(study, effects)
    answer = study.recommendations.get()
    assert (answer.candidate.name, answer.confirmation) == ("fast", "confirmed")
    assert "concluded early" in answer.verdict
    # The rest of the third block is no failure of anybody.
    (board,) = boards_of(StudyRows(study))
    assert [row.failures for row in board.judgement.ranked] == [0, 0, 0, 0]


def test_a_concluded_study_is_extended_by_as_many_blocks_as_asked_for() -> None:
    study = started(blocks=40)
    close = noisy({})
    blocks = study.slots.filter(purpose=SlotPurpose.BLOCK)
    until(study, lambda: blocks.filter(block=3, run__state=RunState.OK).exists(), close)
    conclude_study(study)
    study = to_the_end(study, close)
    before = raced_blocks(study)
    assert "concluded early" in study.recommendations.get().verdict
    extend_study(study, 2)
    study.refresh_from_db()
    assert study.shown_state == "Measuring"
    study = to_the_end(study, close)
    assert raced_blocks(study) == before + 2
    assert "concluded early" not in study.recommendations.get().verdict
    extend_study(study, 30)
    study.refresh_from_db()
    conclude_study(study)
    assert to_the_end(study, close).state == StudyState.FINISHED
    assert raced_blocks(study) <= before + 3
    assert "concluded early" in study.recommendations.get().verdict


def pairs_of(study: Study) -> QuerySet[Slot]:
    found = study.slots.filter(purpose=SlotPurpose.CONFIRMATION)
    return found.select_related("candidate")


def test_what_was_not_begun_on_another_device_is_left_out() -> None:
    study = started(
        connections=[4, 8],
        blocks=40,
        configs=[ConfigText.of("fast", b"[mysqld]\ninnodb_io_capacity=5000\n")],
    )
    effects = noisy({"5000": 1.2})
    until(study, lambda: study.slots.filter(block=3, run__state=RunState.OK).exists(), effects)
    conclude_study(study)
    study = to_the_end(study, effects)
    assert study.state == StudyState.FINISHED
    assert [one.workload.connections for one in study.recommendations.all()] == [4]


@pytest.mark.parametrize(
    ("result_of", "code"), [("nobody", "the baseline"), ("the baseline", "any other config")]
)
def test_without_anything_to_compare_it_is_refused(result_of: str, code: str) -> None:
    study = started()
    advance_host(study.host_id)
    if result_of == "the baseline":
        step(study)
        ok = study.slots.filter(candidate__is_baseline=True).values("run")
        Run.objects.filter(pk__in=ok).update(state=RunState.OK, throughput=1.0)
    with pytest.raises(TuningError, match=f"no result of {code} yet") as refused:
        conclude_study(study)
    assert refused.value.code == "nothing_measured"
    study.refresh_from_db()
    assert study.concluded_at is None


def test_a_paused_study_concludes_when_it_is_resumed(screening: Study) -> None:
    pause_study(screening)
    conclude_study(screening)
    assert screening.is_paused
    assert queued(screening) == 0
    resume_study(screening)
    assert to_the_end(screening, GIVEN_IS_BEST).state == StudyState.FINISHED

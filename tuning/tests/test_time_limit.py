"""A study with an end, such as `first-answer`: it stops measuring again in time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from benchmarks.drivers.workloads import tpcc
from benchmarks.measurement.plan import Plan
from benchmarks.measurement.result import Measurement
from benchmarks.models import Run, RunState
from tuning.creation.create import create_study
from tuning.creation.plan import plan_of
from tuning.creation.preview import end_minutes
from tuning.models import SlotPurpose, Study, StudyState
from tuning.requests.configs import ConfigText
from tuning.requests.load import Sizes
from tuning.requests.study import StudyRequest
from tuning.results.answer import time_sentence
from tuning.results.document import Board, BoardRow, RunFacts, StudyDocument
from tuning.studies.commands import extend_study
from tuning.tests.test_disturbed_runs import disturbed
from tuning.tests.test_search_rows import to_the_end
from tuning.tests.test_study_race import cnf, noisy, started

RUN_S = 20
MINUTES = 10
PAIRS_S = 10 * RUN_S


def each_run_is_disturbed_once(plan: Plan, **values: Any) -> Measurement:
    """The second attempt counts; the candidate is 20 % faster."""
    if Run.objects.get(pk=int(plan.name.removeprefix("run-"))).retry_of_id is None:
        return disturbed()
    return noisy({"5000": 1.2})(plan, **values)


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("host_of_fakes", "sent")
def test_a_noisy_host_has_fewer_blocks_and_a_confirmed_answer_in_time() -> None:
    configs = [ConfigText.of("fast", cnf(5000))]
    study = started(configs=configs, warmup_s=RUN_S // 2, measure_s=RUN_S // 2)
    Study.objects.filter(pk=study.pk).update(minutes=MINUTES)
    study = to_the_end(study, each_run_is_disturbed_once)
    assert study.state == StudyState.FINISHED, study.reason
    assert Run.objects.count() * RUN_S <= MINUTES * 60 + PAIRS_S
    blocks = study.slots.filter(purpose=SlotPurpose.BLOCK)
    begun = blocks.values("block").distinct().count()
    assert 2 <= begun < study.blocks == 6
    found = study.recommendations.get()
    assert (found.candidate.name, found.confirmation) == ("fast", "confirmed")
    assert (
        f"Its 10 minutes were not enough for all: {begun} of 6 blocks were measured"
    ) in found.verdict
    assert found.verdict.count("Extend the study to measure more.") == 1

    # Who extends it has the time for that.
    extend_study(study, 1)
    void = blocks.filter(run__state=RunState.DISTURBED).count()
    study = to_the_end(study, each_run_is_disturbed_once)
    assert blocks.filter(run__state=RunState.DISTURBED).count() == void
    assert blocks.values("block").distinct().count() == begun + 1
    assert "were not enough for all" not in study.recommendations.get().verdict


def made(part: Any, **values: Any) -> Any:
    """Return a part of a document that has only these fields."""
    return part.model_construct(**values)


@pytest.mark.parametrize(
    ("earlier", "is_said"),
    [
        ([RunState.DISTURBED], True),
        ([RunState.LOST, RunState.DISTURBED], True),
        ([RunState.DISTURBED, RunState.DISTURBED], False),
    ],
)
def test_only_what_would_have_been_measured_again_was_left_out(
    earlier: list[RunState], is_said: bool, settings: Any
) -> None:
    settings.DISTURBED_RUN_RETRIES = 2
    states = (*earlier, RunState.DISTURBED)
    runs = tuple(
        made(
            RunFacts,
            id=number,
            order=1,
            block=1,
            purpose=SlotPurpose.BLOCK,
            candidate_id=1,
            device_id=1,
            workload_id=1,
            state=state,
            replaced_by=number + 1 if number + 1 < len(states) else None,
        )
        for number, state in enumerate(states)
    )
    document = made(StudyDocument, runs=runs)
    row = made(BoardRow, candidate_id=1, left=None)
    board = made(Board, device_id=1, workload_id=1, rows=(row,))
    said = time_sentence(Study(minutes=MINUTES, blocks=1), document, board)
    assert ("1 disturbed run was not measured again" in said) is is_said


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("host_of_fakes", "sent")
def test_the_first_answer_ends_after_ten_minutes_and_later_where_more_is_asked_for() -> None:
    assert create_study(StudyRequest()).minutes == 10
    plan = plan_of(StudyRequest())

    def minutes(configs: int = 5, devices: int = 1, **sizes: Any) -> int | None:
        usual: dict[str, Any] = {
            "workload": tpcc(10),
            "connections": (8,),
            "warmup_s": 4,
            "measure_s": 8,
            "blocks": 3,
        }
        asked = Sizes(**usual | sizes)
        changed = replace(plan, sizes=asked, devices=plan.devices * devices)
        return end_minutes(changed, configs)

    assert (minutes(), minutes(configs=3), minutes(blocks=2)) == (10, 10, 10)
    assert (minutes(devices=2), minutes(workload=tpcc(20)), minutes(connections=(4, 8))) == (
        20,
    ) * 3
    assert minutes(measure_s=30) == 20
    assert minutes(blocks=6) == 17
    assert end_minutes(plan_of(StudyRequest(template="compare")), 9) is None

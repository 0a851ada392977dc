"""What a strategy proposes becomes rows: once, in order, for what the gate let through."""

from __future__ import annotations

import pytest

from tuning.models import Slot, SlotPurpose, Study
from tuning.requests.configs import ConfigText
from tuning.strategy.protocol import PlannedRun, Proposal
from tuning.strategy.racing import Race
from tuning.studies.budget import places
from tuning.studies.commands import extend_study
from tuning.studies.continuation import write_proposal
from tuning.studies.progress import study_progress
from tuning.studies.strategy_history import history_of
from tuning.tests.fakes import run_to_the_end
from tuning.tests.test_study_race import EFFECTS, cnf, noisy, started

pytestmark = [
    pytest.mark.long,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("host_of_fakes", "sent"),
]


def rows(study: Study) -> list[tuple[str, int, int, str]]:
    return list(
        study.slots.order_by("order").values_list(
            "candidate__name", "block", "replicate", "purpose"
        )
    )


def test_a_proposal_that_is_written_again_after_a_crash_changes_nothing() -> None:
    study = started()
    (place,) = places(study)
    Slot.objects.all().delete()
    answer = Race().propose(history_of(study, place))
    assert isinstance(answer, Proposal)
    write_proposal(study, place, answer)
    written = rows(study)
    assert written == [(run.candidate, 1, run.replicate, "block") for run in answer.runs]
    write_proposal(study, place, answer)
    assert rows(study) == written


def test_a_run_of_an_unknown_candidate_is_a_bug_and_nothing_is_written() -> None:
    study = started()
    (place,) = places(study)
    before = rows(study)
    runs = (PlannedRun("guess", 2), PlannedRun("server-default", 2))
    with pytest.raises(ValueError, match="guess"):
        write_proposal(study, place, Proposal(runs))
    assert rows(study) == before


def test_the_history_of_a_finished_race_says_all_that_its_rows_say() -> None:
    study = run_to_the_end(started(), noisy(EFFECTS))
    (place,) = places(study)
    found = history_of(study, place)
    assert found.candidates == ("server-default", "fast", "slow", "same")
    assert found.left == ("server-default", "fast")
    assert "measurably below" in found.dropped["slow"]
    slots = study.slots.filter(purpose=SlotPurpose.BLOCK)
    assert (found.budget.runs_spent, found.blocks) == (slots.count(), 5)
    assert found.budget.runs_left == 6 * 5 - slots.count()
    (group,) = found.groups
    assert len(group.observations) == slots.count()
    assert {pair.candidate for pair in group.pairs} == {"fast"}
    assert all(pair.is_whole and not pair.is_earlier for pair in group.pairs)
    extend_study(study, 3)
    extended = history_of(study, place)
    assert (found.owed_blocks, extended.owed_blocks) == (0, 2)  # the first is queued
    assert all(pair.is_earlier for pair in extended.groups[0].pairs)
    run_to_the_end(study, noisy(EFFECTS))
    added = study.slots.filter(purpose=SlotPurpose.BLOCK, order__gt=study.extended_after)
    assert set(added.values_list("candidate__name", flat=True)) == {"server-default", "fast"}
    assert added.count() == 3 * 3
    assert found.last_block == found.blocks + len(group.pairs)


@pytest.mark.parametrize("races", [True, False])
def test_an_extension_by_many_blocks_writes_one_at_a_time(races: bool) -> None:
    study = started(
        blocks=2, races=races, confirms=False, configs=[ConfigText.of("same", cnf(4000))]
    )
    study = run_to_the_end(study, noisy({}))
    before = study.slots.count()
    assert before == 6
    extend_study(study, 1000)
    study.refresh_from_db()
    assert study.slots.count() == before + 3
    assert (study.blocks, study_progress(study).runs_total) == (1002, 1002 * 3)

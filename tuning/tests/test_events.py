"""What happens in a study is kept as it happens, by the scheduler and the jobs themselves."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.measurement.result import Measurement
from benchmarks.models import RunState
from tuning.creation.create import create_study
from tuning.hosts.overview import overview
from tuning.models import TROUBLE, EventKind, Study, StudyState
from tuning.requests.configs import ConfigText
from tuning.requests.study import StudyRequest
from tuning.studies.commands import extend_study
from tuning.studies.scheduler import advance_host
from tuning.tests.fakes import begin, run_to_the_end
from tuning.tests.test_disturbed_runs import disturb, first, study
from tuning.tests.test_study_race import EFFECTS, cnf, noisy, started
from tuning.tests.work import execute_run, next_run

__all__ = ["study"]
pytestmark = [pytest.mark.long, pytest.mark.django_db(transaction=True)]


def happened(study: Study, *kinds: EventKind) -> list[tuple[str, str]]:
    """Kind and text of the study's events, oldest first; `kinds`: only these."""
    rows = study.events.filter(kind__in=kinds or list(EventKind)).order_by("pk")
    return list(rows.values_list("kind", "text"))


def test_a_study_from_its_request_to_its_end_and_on(study: Study) -> None:
    run_to_the_end(study, disturb(first(1)))
    kinds = [kind for kind, _ in happened(study)]
    assert kinds[:3] == [EventKind.REQUESTED, EventKind.PREPARING, EventKind.CLAIMED]
    assert kinds[-2:] == [EventKind.MEASURED, EventKind.ENDED]
    assert kinds.count(EventKind.CLAIMED) == 7
    assert kinds.count(EventKind.MEASURED) == 6
    [void] = study.events.filter(kind=EventKind.DISTURBED)
    assert void.kind in TROUBLE
    assert (void.candidate, void.run and void.run.state) == ("mine", RunState.DISTURBED)
    assert void.text.startswith(f"Run {void.run_id} of mine: disturbed: other programs used")
    again = study.events.get(kind=EventKind.MEASURED_AGAIN)
    assert again.run is not None
    assert again.run.retry_of_id == void.run_id
    extend_study(study, 1, by="ann")
    assert happened(study)[-1] == (EventKind.EXTENDED, "Extended by ann: 1 more block")


def test_a_run_that_is_given_back_again_and_again_loses_no_event(study: Study) -> None:
    begin(study)

    def stopped(*_: Any, **__: Any) -> Measurement:
        raise SystemExit

    for _ in range(7):
        run = next_run(study)
        assert run is not None
        with pytest.raises(SystemExit):
            execute_run(run, measure=stopped)
        advance_host(study.host_id)
    assert len(happened(study, EventKind.CLAIMED)) == 7
    assert len(happened(study, EventKind.STOPPED)) == 7
    assert len(happened(study, EventKind.MEASURED_AGAIN)) == 7


def test_all_trouble_of_a_run_is_counted_however_often_it_was_measured_again(
    study: Study, settings: Any
) -> None:
    settings.DISTURBED_RUN_RETRIES = 6
    run_to_the_end(study, disturb(first(6)))
    assert study.state == StudyState.FINISHED
    [troubled] = overview().troubled
    assert (troubled.study, troubled.states) == (study.pk, [(RunState.DISTURBED, 6)])


@pytest.mark.usefixtures("host_of_fakes", "sent")
def test_who_leaves_a_race_and_what_is_measured_is_told() -> None:
    configs = [ConfigText.of("fast", cnf(5000)), ConfigText.of("slow", cnf(4000))]
    study = create_study(StudyRequest(template="compare", configs=configs, blocks=6, seed=7))
    run_to_the_end(study, noisy({"5000": 1.2, "4000": 0.8}))
    [(_, left)] = happened(study, EventKind.LEFT_THE_RACE)
    assert left.startswith("slow left the race after block ")
    begun = [text for _, text in happened(study, EventKind.CLAIMED)]
    assert sum("fast, confirmation, block " in text for text in begun) == 5


@pytest.mark.usefixtures("host_of_fakes", "sent")
def test_a_run_that_begins_names_its_place_if_the_study_has_several() -> None:
    study = started(connections=[4, 8], blocks=1, races=False, confirms=False)
    device = study.devices.get()
    device.pk, device.data_dir = None, "/srv/other"
    device.save()
    study.devices.add(device)
    run_to_the_end(study, noisy(EFFECTS))
    begun = [text for _, text in happened(study, EventKind.CLAIMED) if " began: fast" in text]
    assert [text.partition("block 1 on ")[2] for text in begun] == [
        f"{there} with {number} connections"
        for there in study.devices.order_by("pk")
        for number in (4, 8)
    ]

"""What shows a study asks as little of the database for 100 slots as for 18."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from advisor.tests import claimed, factories
from benchmarks.models import Run, RunState
from tuning.models import Study, StudyState
from tuning.results.boards import boards_of
from tuning.results.study_rows import StudyRows
from tuning.studies.progress import study_progress
from tuning.studies.revision import progress_mark

pytestmark = [pytest.mark.long, pytest.mark.django_db]
Shown = dict[str, Callable[[Study], object]]


def small_study() -> Study:
    """18 slots of five candidates on one device with one workload."""
    return _with_all_that_happens(
        claimed.claimed_study({"nvme": claimed.AS_PUBLISHED}, blocks=3), recommended=1
    )


def large_study() -> Study:
    """112 slots of six candidates on two devices with two workloads each."""
    levels = {
        "nvme": claimed.AS_PUBLISHED | {"mine": 50_000.0},
        "hdd": claimed.ON_A_HARD_DISK | {"mine": 500.0},
    }
    study = claimed.claimed_study(levels, blocks=4, connections=(16, 64))
    return _with_all_that_happens(study, recommended=4)


def _with_all_that_happens(study: Study, recommended: int) -> Study:
    """Failed and disturbed runs of a tenth of its slots, and a recommendation of each board."""
    slots = list(study.slots.exclude(candidate__is_baseline=True))
    # Spread over the study: what is said of single runs is said of the newest.
    for at, slot in enumerate(slots[::5]):
        if at % 2:
            factories.disturb(slot)
        else:
            factories.fail(slot.run)
    for board in boards_of(StudyRows(study)):
        factories.recommend(study, board)
    assert study.recommendations.count() == recommended
    return study


@pytest.fixture
def shown(client: Client, admin_user: User) -> Shown:
    client.force_login(admin_user)

    def get(path: str) -> Callable[[Study], object]:
        def answer(study: Study) -> object:
            found = client.get(path.format(study.pk, mark=progress_mark(study.pk)))
            assert found.status_code in (200, 204)
            return found

        return answer

    return {
        "page": get("/studies/{}/"),
        "page by p95": get("/studies/{}/?by=p95&p95=100"),
        "live": get("/studies/{}/live/"),
        "same": get("/studies/{}/live/?mark={mark}"),
        "charts": get("/studies/{}/charts.json"),
        "study": get("/api/v1/studies/{}/"),
        "document": get("/api/v1/studies/{}/document/"),
        "progress": lambda study: study_progress(Study.objects.get(pk=study.pk)),
    }


def queries(answer: Callable[[Study], object], study: Study) -> int:
    with CaptureQueriesContext(connection) as asked:
        answer(study)
        return len(asked)


def under_way(study: Study) -> Study:
    """The same study as if its last run was being measured, the only one on its host."""
    Run.objects.filter(state=RunState.RUNNING).update(state=RunState.LOST)
    last = study.slots.order_by("-order")[0]
    Run.objects.filter(pk=last.run_id).update(state=RunState.RUNNING, finished_at=None)
    Study.objects.filter(pk=study.pk).update(state=StudyState.RUNNING, finished_at=None)
    study.refresh_from_db()
    return study


# What each may ask for at most, session and user included, with a document that is built anew.
MAX_QUERIES = {
    "page": 31,
    "page by p95": 31,
    "live": 32,
    "same": 9,
    "charts": 17,
    "study": 13,
    "document": 20,
    "progress": 11,
}


def test_a_larger_study_takes_no_more_queries(
    shown: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What follows from the clock is not worked out anew in between.
    monkeypatch.setattr("tuning.studies.revision.REFRESH_S", 1e10)
    studies = small, large = small_study(), large_study()
    assert (small.slots.count(), large.slots.count()) == (18, 112)
    for state in (lambda study: study, under_way):
        few, many = (
            {name: queries(answer, state(study)) for name, answer in shown.items()}
            for study in studies
        )
        assert few == many
        assert {name: n for name, n in many.items() if n > MAX_QUERIES[name]} == {}

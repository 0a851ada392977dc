"""An ablation as page, charts, terminal, files and API show it."""

from __future__ import annotations

import io

import pytest
from django.db.models.functions import Now
from django.test import Client
from rich.console import Console

from advisor.terminal.report import print_study
from advisor.tests.drawn import study_charts, study_page
from tuning.models import SlotPurpose, Study, StudyState
from tuning.stored_documents import document_of
from tuning.tests.test_ablation import before, ended

pytestmark = [
    pytest.mark.long,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("host_of_fakes", "sent"),
]


LINES_CHART = "What each line of the winner contributes"


@pytest.fixture
def study() -> Study:
    """To be asked for before any user."""
    return ended()


@pytest.fixture
def whole() -> Study:
    """A study whose winner is to be tested line by line; also to be asked for before any user."""
    return before(SlotPurpose.ABLATION)


def test_a_study_that_ended_before_its_winner_was_ablated_has_no_chart_of_lines(
    whole: Study, admin_client: Client
) -> None:
    study = whole
    assert LINES_CHART in study_page(admin_client, study)
    study.slots.filter(purpose=SlotPurpose.ABLATION).delete()
    Study.objects.filter(pk=study.pk).update(state=StudyState.FINISHED, finished_at=Now())
    shown = study_page(admin_client, study)
    assert LINES_CHART not in shown
    assert "Every run" in shown


def test_every_way_to_show_a_study_says_which_lines_matter(
    study: Study, admin_client: Client
) -> None:
    client = admin_client
    shown = study_page(client, study)
    assert "Which lines of fast matter" in shown
    assert "no measurable effect" in shown
    assert "Files for" in shown
    assert LINES_CHART in shown
    assert "4 configs made to test lines of a winner" in shown
    charts = study_charts(client, study)
    (lines,) = (chart for key, chart in charts.items() if key.endswith("-lines"))
    (points,) = lines["data"]
    assert len(points["x"]) == 3
    assert lines["layout"]["yaxis"]["ticktext"][0] == "innodb_io_capacity + 1"

    found = study.recommendations.get()
    file = f"/studies/{study.pk}/recommendations/{found.pk}/my.cnf"
    assert "\n# table_open_cache = 3000\n" in client.get(file).content.decode()

    output = io.StringIO()
    print_study(document_of(study), Console(file=output, width=200))
    assert "What the lines of fast contribute" in output.getvalue()
    assert "table_open_cache = 3000: no measurable effect: " in output.getvalue()

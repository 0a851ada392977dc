"""Runs that put their flushing off are named on the page, in terminal, API and files."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from rich.console import Console

from advisor.terminal.report import print_study
from advisor.tests import factories
from benchmarks.models import Run
from benchmarks.telemetry.write_debt import DebtReading, WriteDebt
from tuning.models import Study
from tuning.results.answer import store_recommendations
from tuning.results.study_rows import StudyRows
from tuning.stored_documents import document_of
from tuning.tests.export_cases import exported

pytestmark = pytest.mark.django_db

MB = 1_000_000
WINNER = "whitepaper-3"


def debt(age: int, seconds: float = 12.0, redo: int = 120 * MB) -> dict[str, Any]:
    """With a redo log of 1,000 MB of which `redo` was written; `age` in bytes at the end."""
    start, end = DebtReading(0, 0, 0, 0, 0, 0), DebtReading(redo, age, 0, 40, redo, 100)
    return WriteDebt(start, end, seconds, redo_capacity_bytes=1000 * MB).as_json()


def owe(study: Study, name: str, age: int, **values: Any) -> list[int]:
    """Make the runs of a candidate end with that checkpoint age; their keys."""
    runs = Run.objects.filter(slot__study=study, slot__candidate__name=name)
    found = list(runs.values_list("pk", flat=True))
    runs.update(write_debt=debt(age, **values), debt_grew=True)
    return found


@pytest.fixture
def study() -> Study:
    study = factories.raced_study()
    owe(study, WINNER, 90 * MB)
    store_recommendations(study)
    return study


SAID = "postponed until after the measurement"


def test_page_terminal_and_files_say_it(study: Study, admin_client: Client) -> None:
    text = admin_client.get(reverse("study-detail", args=[study.pk])).content.decode()
    assert SAID in text
    assert "with growing write debt" in text
    result, out = StudyRows(study), StringIO()
    print_study(document_of(study), Console(file=out, width=200))
    # Once below the ranking, once in the verdict.
    assert out.getvalue().count(SAID) == 2
    [recommendation] = result.recommendations
    assert SAID in json.loads(exported(recommendation.study, "json"))["recommendation"]["sentence"]


def test_a_run_shows_both_ends(study: Study, admin_client: Client) -> None:
    run = Run.objects.filter(debt_grew=True)[0]
    text = admin_client.get(reverse("run-detail", args=[run.pk])).content.decode()
    assert "growing write debt" in text
    assert "90.0\N{NO-BREAK SPACE}MB" in text
    assert "75 % of the redo written" in text
    Run.objects.filter(pk=run.pk).update(write_debt=None, debt_grew=False)
    text = admin_client.get(reverse("run-detail", args=[run.pk])).content.decode()
    assert "Write debt" not in text

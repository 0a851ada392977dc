"""A run that was cut short, as people and programs see it: a bound, no figure, no failure."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from advisor.tests import factories
from advisor.tests.drawn import study_page
from benchmarks.models import Run, RunState
from tuning.models import Study

pytestmark = pytest.mark.django_db

REASON = "31 % of the baseline's throughput after 7 s"


@pytest.fixture
def study() -> Study:
    """whitepaper-1 was cut short in every block."""
    study = factories.measured_study()
    runs = Run.objects.filter(slot__study=study, slot__candidate__name="whitepaper-1")
    figures = dict.fromkeys(["throughput", "p95_ms", "p99_ms", "max_ms", "completed"])
    runs.update(state=RunState.CUT_SHORT, reason=REASON, throughput_at_most=3060.0, **figures)
    return study


def test_the_page_of_the_study_shows_the_bound_and_no_failure(
    admin_client: Client, study: Study
) -> None:
    page = study_page(admin_client, study)
    assert re.search(r"at most \S\d\d", page)
    assert "Cut short" in page
    assert "Runs without a result" not in page
    assert "at most 3,060" in page

"""The page of a study whose document is stored asks the database for little else."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from advisor.access.roles import Role
from advisor.tests import factories
from benchmarks.models import Run, RunState
from tuning.models import Study, StudyState

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def documents_are_built() -> None:
    """Use stored documents here, other than in the rest of these tests."""


def queries(client: Client, study: Study) -> list[str]:
    """Return the queries of the second view; session and user are not counted."""
    address = reverse("study-detail", args=[study.pk])
    client.get(address)
    with CaptureQueriesContext(connection) as asked:
        assert client.get(address).status_code == 200
    texts = [one["sql"] for one in asked.captured_queries]
    return [text for text in texts if '"django_session"' not in text and "auth_user" not in text]


def test_a_study_that_has_ended_is_its_row_its_document_its_events_and_its_logs(
    admin_client: Client,
) -> None:
    study = factories.measured_study(fails=["whitepaper-1"], recommended=False)
    assert study.slots.count() == 18
    asked = queries(admin_client, study)
    assert len(asked) <= 4, asked


def test_a_recommendation_adds_its_variables_and_its_request(admin_client: Client) -> None:
    study = factories.raced_study()
    factories.fail(study.slots.filter(candidate__is_baseline=False)[0].run)
    asked = queries(admin_client, study)
    assert len(asked) <= 6, asked


def test_a_study_that_has_not_begun_asks_for_little(admin_client: Client) -> None:
    study = factories.make_study(state=StudyState.QUEUED)
    asked = queries(admin_client, study)
    assert len(asked) <= 16, asked


def test_home_asks_for_no_more_after_years_of_studies(
    client: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    client.force_login(factories.make_user("vera", Role.VIEWER))
    study = factories.measured_study(blocks=1)
    run = study.slots.order_by("order")[0].run_id
    Run.objects.filter(pk=run).update(state=RunState.LOST, finished_at=timezone.now())
    factories.begin(factories.make_study(blocks=1, state=StudyState.RUNNING))
    client.get(reverse("home"))  # stores the documents
    with django_assert_max_num_queries(27) as one:
        client.get(reverse("home"))
    most = len(one)
    for number in range(3):
        host = factories.make_host(f"host-{number}")
        device = factories.make_device(host=host, data_dir=f"/data/{number}")
        factories.measured_study(blocks=1, device=device)
        factories.begin(factories.make_study(blocks=1, device=device, state=StudyState.RUNNING))
    client.get(reverse("home"))
    with django_assert_max_num_queries(most):
        client.get(reverse("home"))

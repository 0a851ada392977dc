"""A run's page: its figures with units, its variables, and how it failed."""

from __future__ import annotations

import re

import pytest
from django.template.defaultfilters import capfirst
from django.test import Client
from django.urls import reverse

from advisor.pages.runs.measures import measures_of
from advisor.tests import factories
from benchmarks.models import Run, RunState
from tuning.models import StudyState


def page(client: Client, run: Run) -> str:
    return client.get(reverse("run-detail", args=[run.pk])).content.decode()


@pytest.fixture
def run() -> Run:
    """A measured run of a candidate that sets variables."""
    study = factories.measured_study(blocks=1, samples=True)
    return study.slots.filter(candidate__is_baseline=False)[0].run


@pytest.mark.django_db
def test_the_page_shows_identity_figures_and_provenance(admin_client: Client, run: Run) -> None:
    text = page(admin_client, run)
    assert run.slot.candidate.name in text
    for expected in (
        "tpmP",
        "Mcycles/transaction",
        "MySQL 9.7.4",
        "SATA SSD at /srv/mysql",
        "8 connections",
        "tpcc-mysql 1ec1c5e",
        "3d1a557c0ffe",
        "AMD EPYC 7B13",
        "cloning the dataset",
        "Overhead 9.4 s",
        "data device: kind",
    ):
        assert expected in text, expected


@pytest.mark.django_db
def test_variables_are_compared_with_what_the_server_reads_back(
    admin_client: Client, run: Run
) -> None:
    text = page(admin_client, run)
    assert text.count(">differs<") == 1
    assert re.search(r"innodb_page_cleaners <span[^>]*>differs<", text)
    assert "4 other variables" in text


@pytest.mark.django_db
def test_a_failed_run_shows_its_outcome_reason_and_log_and_no_figures(
    admin_client: Client,
) -> None:
    study = factories.make_study(blocks=1)
    run = factories.fail(study.slots.all()[0].run, RunState.OUT_OF_MEMORY)
    text = page(admin_client, run)
    assert "Out of memory" in text
    assert f"<p>{capfirst(run.reason)}</p>" in text
    assert "Aborting" in text
    assert 'id="measures"' not in text
    assert ">differs<" not in text, "a server that never answered did not differ"
    assert "data-chart=" not in text


@pytest.mark.django_db
def test_a_run_that_is_not_over_polls_and_a_finished_one_does_not(
    admin_client: Client, run: Run
) -> None:
    study = factories.make_study(blocks=1, state=StudyState.RUNNING)
    current = factories.sure(factories.begin(study, step="warming up"))
    text = page(admin_client, current)
    assert 'hx-trigger="every 2s, refresh"' in text
    assert "warming up" in text
    assert "hx-trigger" not in page(admin_client, run)


def test_figures_that_were_not_measured_have_no_line() -> None:
    run = Run(throughput=6000.0, p95_ms=12.34, data_read_iops=None, failed=0)
    lines = [measure for group in measures_of(run, "tpmP") for measure in group.measures]
    assert [(line.name, line.value, line.unit) for line in lines] == [
        ("Throughput", "6,000", "tpmP"),
        ("p95 response time of transactions", "12.3", "ms"),
        ("Transactions failed", "0", ""),
    ]
    assert measures_of(Run(), "tpmP") == []

"""Where each line of a proposal comes from is shown: page, terminal, API."""

from __future__ import annotations

import io

import pytest
from django.test import Client
from rich.console import Console

from advisor.terminal.report import print_study
from advisor.tests import factories
from tuning.models import Study
from tuning.results.stored_documents import document_of

REASON = "holds the 1.0 GB of data 4.0 times, for its growth (Percona)"

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    study = factories.measured_study(blocks=2)
    candidate = study.candidates.get(name="whitepaper-a")
    candidate.source = "Proposal of the advisor: rules of several sources."
    candidate.notes = [
        {"name": "innodb_buffer_pool_size", "action": "proposed", "detail": REASON},
        {"name": "performance_schema", "action": "held", "detail": "OFF costs observability"},
    ]
    candidate.save()
    return study


def test_the_page_has_the_reason_of_each_line_apart_from_other_notes(
    admin_client: Client, study: Study
) -> None:
    text = admin_client.get(f"/studies/{study.pk}/").content.decode()
    _, _, after = text.partition("Reason and source of each line")
    reasons, _, notes = after.partition("Notes for")
    assert f"<code>innodb_buffer_pool_size</code>: {REASON}" in reasons
    assert "OFF costs observability" in notes.partition("</table>")[0]
    assert REASON not in notes.partition("</table>")[0]


def test_the_terminal_lists_the_lines_with_their_reasons(study: Study) -> None:
    text = io.StringIO()
    print_study(document_of(study), Console(file=text, width=80))
    shown = " ".join(text.getvalue().split())
    assert "whitepaper-a, Proposal of the advisor: rules of several sources." in shown
    assert f"innodb_buffer_pool_size = 128M: {REASON}" in shown

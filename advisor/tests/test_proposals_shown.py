"""Where each line of a proposal comes from is shown: page, terminal, API."""

from __future__ import annotations

import pytest
from django.test import Client

from advisor.tests import factories
from tuning.models import Study

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

"""What a config costs beside durability stands beside its figures: page, API, terminal, check."""

from __future__ import annotations

import pytest
from django.test import Client

from advisor.tests import factories
from benchmarks.models import Config
from tuning.configs.values import config_hash
from tuning.models import Study

SAID = "performance_schema and sys: statement digests"

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    study = factories.measured_study(blocks=2)
    winner = study.candidates.get(name="whitepaper-a")
    knobs = winner.config.knobs | {"performance_schema": "OFF"}
    winner.config, _ = Config.objects.get_or_create(
        hash=config_hash(knobs), defaults={"knobs": knobs}
    )
    winner.save()
    return study


def test_the_page_shows_it_with_the_candidate_and_with_the_recommendation(
    admin_client: Client, study: Study
) -> None:
    text = admin_client.get(f"/studies/{study.pk}/").content.decode()
    card, _, rest = text.partition('id="study-candidates"')
    for part in (card, rest):
        assert '<span class="badge warn">observability</span>' in part
        assert SAID in part
    assert "less insight into what the server does" in card, "in the price of the answer"
    assert "Other costs allowed" not in text
    study.request["allow"] = ["observability", "recovery-time"]
    study.save()
    text = admin_client.get(f"/studies/{study.pk}/").content.decode()
    assert "<dt>Other costs allowed</dt><dd>observability, recovery time</dd>" in text

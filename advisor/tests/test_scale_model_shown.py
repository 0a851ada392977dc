"""What is shown of proportions: of a scale model both values, of every study what it measured."""

from __future__ import annotations

import html
import re

import pytest
from django.test import Client
from django.urls import reverse

from advisor.tests import factories
from tuning.models import Recommendation
from tuning.scale_model.model import ScaleModel
from tuning.scale_model.sizes import GB, MB

pytestmark = pytest.mark.django_db
MIB, GIB = 1024**2, 1024**3
MODEL = ScaleModel(200 * GB, 48 * GB, 10, 558 * MB)


@pytest.fixture
def modelled() -> Recommendation:
    """A recommendation of a scale model whose pool has 70 % of the model's memory."""
    found: Recommendation = factories.measured_study(blocks=1).recommendations.get()
    config, study = found.candidate.config, found.study
    config.knobs = {**config.knobs, "innodb_buffer_pool_size": f"{160 * MIB}"}
    config.save()
    for slot in study.slots.select_related("run").filter(candidate=found.candidate):
        slot.run.variables |= {"innodb_buffer_pool_size": f"{160 * MIB}"}
        slot.run.save()
    study.scale_model = MODEL.as_json()
    study.save()
    return found


def page_of(client: Client, found: Recommendation) -> str:
    return html.unescape(client.get(f"/studies/{found.study_id}/").content.decode())


def test_the_page_shows_both_values(admin_client: Client, modelled: Recommendation) -> None:
    text = page_of(admin_client, modelled)
    answer = text[text.index('id="study-verdict"') : text.index('id="study-recommendations"')]
    assert re.search(r"innodb_buffer_pool_size</th>\s*<td[^>]*><strong>31G</strong>", answer)
    assert "in the scale model</td>" in answer
    assert "innodb_buffer_pool_size = 160M" not in admin_client.get("/").content.decode()
    assert text.count(MODEL.sentence) >= 2, "in the card and with the study's design"
    assert "innodb_buffer_pool_size = 31G" in text
    where = reverse("study-my-cnf", args=[modelled.study_id, modelled.pk])
    assert "= 31G" in admin_client.get(where).content.decode()


def test_a_study_without_a_statement_says_what_it_measured(admin_client: Client) -> None:
    found: Recommendation = factories.measured_study(blocks=1).recommendations.get()
    assert "of memory for" not in page_of(admin_client, found), "an old study did not store it"
    found.study.memory_bytes = 24 * GB
    found.study.save()
    text = page_of(admin_client, found)
    assert "24 GB of memory for" in text
    assert "times the data" in text
    where = reverse("study-my-cnf", args=[found.study_id, found.pk])
    assert ". 24 GB of memory for" in admin_client.get(where).content.decode()

"""Pages and terminal say the confidence of an interval as the result document has it."""

from __future__ import annotations

import io
import re

import pytest
from django.test import Client
from django.urls import reverse
from rich.console import Console

from advisor.terminal.report import print_study
from advisor.tests import factories
from advisor.tests.drawn import flat
from advisor.wording.answers import answer_of, answer_sentence
from advisor.wording.formatting import change_range, confidence_text
from tuning.models import Study
from tuning.results.build import build
from tuning.results.document import StudyDocument
from tuning.results.study_rows import StudyRows
from tuning.statistics.data import Metric


@pytest.fixture
def study(db: None) -> Study:
    return factories.raced_study()


@pytest.fixture
def document(study: Study) -> StudyDocument:
    return build(StudyRows(study))


@pytest.fixture
def interval(document: StudyDocument) -> str:
    [board] = document.boards
    assert board.recommendation is not None
    effect = board.recommendation.effect
    assert effect.confidence == pytest.approx(0.96)
    assert effect.low is not None
    assert effect.high is not None
    return f"{confidence_text(effect.confidence)}: {change_range(effect.low, effect.high)}"


def test_sentences_say_the_confidence_of_a_recommendation(
    study: Study, document: StudyDocument, interval: str
) -> None:
    assert f"({interval})" in answer_of(document, document.boards[0])
    assert f"({interval})" in answer_sentence(study.recommendations.get())


def test_pages_say_the_confidence_of_a_recommendation(
    admin_client: Client, study: Study, interval: str
) -> None:
    device, page = study.devices.get(), reverse("device-list")
    addresses = [page, reverse("device-detail", args=[device.pk]), f"/studies/{study.pk}/"]
    for address in addresses:
        assert interval in flat(admin_client.get(address)), address
    home = re.sub(r"<[^>]+>", "", flat(admin_client.get("/")))
    assert interval in home


def test_a_ranking_says_the_confidence_of_its_own_intervals(
    admin_client: Client, study: Study
) -> None:
    Study.objects.filter(pk=study.pk).update(conclusions=2)
    study.refresh_from_db()
    document = build(StudyRows(study))
    ranking = document.boards[0].rankings[Metric.TPMP]
    assert ranking.confidence == pytest.approx(0.9875)
    output = io.StringIO()
    print_study(document, Console(file=output, width=120))
    assert "98.8" in output.getvalue()

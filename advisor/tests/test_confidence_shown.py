"""Pages and terminal say the confidence of an interval as the result document has it."""

from __future__ import annotations

import pytest

from advisor.tests import factories
from advisor.wording.answers import answer_of, answer_sentence
from advisor.wording.formatting import change_range, confidence_text
from tuning.models import Study
from tuning.results.build import build
from tuning.results.document import StudyDocument
from tuning.results.study_rows import StudyRows


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

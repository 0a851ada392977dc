"""The result document: made of rows, stored with its revision, never trusted over the rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from benchmarks.models import RunState
from tuning.models import StoredDocument, Study, StudyState
from tuning.results.boards import boards_of
from tuning.results.build import build
from tuning.results.document import SCHEMA_VERSION, StudyDocument
from tuning.results.study_rows import StudyRows
from tuning.statistics.data import Metric
from tuning.stored_documents import document_of
from tuning.studies.revision import bump
from tuning.tests.fakes import measure_by_config, run_to_the_end
from tuning.tests.test_study_lifecycle import study as begun

PUBLISHED = Path(settings.BASE_DIR) / "docs" / "reference" / "study-document.schema.json"

__all__ = ["begun"]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def study(begun: Study) -> Study:
    return run_to_the_end(begun, measure_by_config)


def test_it_has_the_figures_of_the_study(study: Study) -> None:
    result = StudyRows(study)
    found = build(result)
    (board,), (judged,) = found.boards, boards_of(result)
    assert found.study.state == StudyState.FINISHED
    assert [found.candidate[row.candidate_id].name for row in board.rows] == [
        line.name for line in judged.judgement.ranked
    ]
    best, line = board.rankings[Metric.THROUGHPUT].standings[0], judged.judgement.ranked[0]
    assert best.rank == 1
    assert best.estimate == line.estimate
    assert board.rows[0].figures.throughput == line.throughput == 7200.0
    assert board.advice.verdict.sentence == judged.for_advice.verdict.sentence
    stored = study.recommendations.get()
    assert board.recommendation is not None
    assert board.recommendation.id == stored.pk
    assert board.recommendation.effect.ratio == stored.ratio_to_baseline
    assert board.recommendation.candidate_id == best.candidate_id
    assert [pair.winner for one in board.confirmations for pair in one.pairs] == [
        pair.winner for one in judged.tried for pair in judged.pairs_of(one)
    ]
    assert len(found.runs) == study.slots.count()
    assert {run.state for run in found.runs} == {RunState.OK}


def test_a_stored_interval_without_an_upper_bound_keeps_its_lower_bound(study: Study) -> None:
    study.recommendations.update(
        **{"low": 1.05, "high": None, "confidence": 0.95},
        **{"objective_ratio": 0.9, "objective_low": 0.8, "objective_high": None},
    )
    [board] = build(StudyRows(study)).boards
    assert board.recommendation is not None
    effect, gained = board.recommendation.effect, board.recommendation.objective_effect
    assert gained is not None
    assert (effect.low, effect.high, gained.low, gained.high) == (1.05, None, 0.8, None)
    assert effect.excludes_no_change
    assert not gained.excludes_no_change
    assert effect.text() == "95 % interval +5.0 % or more"


def test_it_is_the_same_after_it_was_stored(study: Study) -> None:
    built = document_of(study)
    assert (
        StudyDocument.model_validate_json(StoredDocument.objects.get(study=study).content) == built
    )
    with CaptureQueriesContext(connection) as asked:
        assert document_of(study) == built
    assert len(asked) == 1


def test_it_is_made_again_for_another_revision_or_schema(study: Study) -> None:
    document_of(study)
    study.candidates.filter(is_baseline=False).update(source="another")
    assert "another" not in {one.source for one in document_of(study).candidates}
    bump([study.pk])
    study.refresh_from_db()
    assert "another" in {one.source for one in document_of(study).candidates}
    StoredDocument.objects.update(schema_version=SCHEMA_VERSION - 1, content="{}")
    assert document_of(study).study.id == study.pk
    assert StoredDocument.objects.get().schema_version == SCHEMA_VERSION


def test_a_study_that_measures_has_what_is_known_by_then(begun: Study, sent: list[Any]) -> None:
    found = document_of(begun)
    assert (found.boards, found.runs) == ((), ())
    assert {one.name for one in found.candidates} == {"server-default", "mine"}


def test_its_schema_is_published() -> None:
    """If this fails, run `manage.py document_schema`."""
    assert json.loads(PUBLISHED.read_text()) == StudyDocument.model_json_schema(
        mode="serialization"
    )

"""The output of `advise --json`, with the keys of the API. Keys are only ever added."""

from __future__ import annotations

from typing import Any

from advisor.api.serializers.configs import CandidateSerializer
from advisor.api.serializers.rankings import ranking_of
from advisor.api.serializers.recommendations import recommendation_of
from advisor.api.serializers.results import results_of
from advisor.api.serializers.studies import StudySerializer
from tuning.results.study_result import StudyResult


def study_document(result: StudyResult) -> dict[str, Any]:
    """The whole document: `{"study", "ranking", "recommendation", "candidates", "recommendations",
    "boards", "trust", "findings"}`.

    `recommendation` is None if the study has none; if it has several it is the first of
    `recommendations`: first device, fewest connections, safest class.
    """
    recommendations = [recommendation_of(result, one) for one in result.recommendations]
    return {
        "study": StudySerializer(result.study).data,
        "ranking": ranking_of(result),
        "recommendation": recommendations[0] if recommendations else None,
        "candidates": CandidateSerializer(result.candidates.values(), many=True).data,
        "recommendations": recommendations,
        **results_of(result),
    }

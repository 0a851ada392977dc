"""What `advise --json` answers, in the words of the API. Keys only ever get added."""

from __future__ import annotations

from typing import Any

from advisor.api.serializers.configs import CandidateSerializer
from advisor.api.serializers.rankings import ranking_of
from advisor.api.serializers.recommendations import recommendation_of
from advisor.api.serializers.results import results_of
from advisor.api.serializers.studies import StudySerializer
from tuning.results.study_result import StudyResult


def study_document(result: StudyResult) -> dict[str, Any]:
    """The whole answer: `{"study", "ranking", "recommendation", "candidates", "recommendations",
    "boards", "trust", "findings"}`.

    `recommendation` is None when the study has none; where it has several it is the first of
    `recommendations`: of the first device and the fewest connections the safest class.
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

"""What commands write with `--json`, with the keys of the API. Keys are only ever added."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from advisor.api.schemas.hosts import Host
from advisor.api.serializers.configs import CandidateSerializer
from advisor.api.serializers.rankings import ranking_of
from advisor.api.serializers.recommendations import recommendation_of
from advisor.api.serializers.results import results_of
from advisor.api.serializers.shown import all_shown, shown
from advisor.api.serializers.studies import StudySerializer
from tuning.models import Study
from tuning.results.known_hosts import KnownHost
from tuning.results.study_result import StudyResult


def study_document(result: StudyResult) -> dict[str, Any]:
    """The whole document: `{"study", "ranking", "recommendation", "candidates", "recommendations",
    "boards", "trust", "findings"}`.

    `recommendation` is None if the study has none; if it has several it is the first of
    `recommendations`: first device, fewest connections, safest class.
    """
    recommendations = [recommendation_of(result, one) for one in result.recommendations]
    return {
        "study": shown(StudySerializer, result.study),
        "ranking": ranking_of(result),
        "recommendation": recommendations[0] if recommendations else None,
        "candidates": all_shown(CandidateSerializer, result.candidates.values()),
        "recommendations": recommendations,
        **results_of(result),
    }


def hosts_document(known: Iterable[KnownHost]) -> list[Any]:
    """All hosts as in the API's list of them."""
    return [Host.from_orm(one).model_dump(mode="json") for one in known]


def studies_document(studies: Iterable[Study]) -> list[Any]:
    """The studies as in the API's list of them."""
    return [shown(StudySerializer, one) for one in studies]

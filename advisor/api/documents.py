"""Studies as JSON: the one place that says what the API and `advise --json` answer.

Numbers are plain: tpmP in New-Orders per minute, times in ms, path lengths in CPU cycles per
New-Order; null where there is no figure. Keys only ever get added.
"""

from __future__ import annotations

from typing import Any

from advisor.api.results import ranking_of, results_document
from advisor.api.serializers.common import NamedDeviceSerializer
from advisor.api.serializers.configs import CandidateSerializer
from advisor.api.serializers.studies import StudySerializer
from tuning.catalogue.knob import Durability
from tuning.export import FORMATS
from tuning.export.safety import losing_lines
from tuning.models import Recommendation
from tuning.results.exports import my_cnf_of
from tuning.results.study_result import StudyResult


def study_document(result: StudyResult) -> dict[str, Any]:
    """The whole answer: `{"study", "ranking", "recommendation", "candidates", "recommendations",
    "boards", "trust", "findings"}`.

    `recommendation` is None when the study has none; where it has several it is the first of
    `recommendations`: of the first device and the fewest connections the safest class.
    """
    recommendations = [recommendation_document(result, one) for one in result.recommendations]
    return {
        "study": StudySerializer(result.study).data,
        "ranking": ranking_of(result),
        "recommendation": recommendations[0] if recommendations else None,
        "candidates": CandidateSerializer(result.candidates.values(), many=True).data,
        "recommendations": recommendations,
        **results_document(result),
    }


def recommendation_document(result: StudyResult, recommendation: Recommendation) -> dict[str, Any]:
    """What won and what it costs; no file text before its durability class is acknowledged."""
    losses = losing_lines(result.evidence(recommendation))
    needed = max((line.durability for line in losses), default=Durability.D0)
    return {
        "config": recommendation.candidate.name,
        "device": recommendation.device.data_dir,
        "ratio_to_baseline": recommendation.ratio_to_baseline,
        "verdict": recommendation.verdict,
        "my_cnf": my_cnf_of(result, recommendation) if needed is Durability.D0 else None,
        "device_id": recommendation.device_id,
        "durability": recommendation.durability,
        "acknowledge": needed.value,
        "losses": [
            {
                "name": line.name,
                "value": line.value,
                "durability": line.durability.value,
                "loses": line.loses,
            }
            for line in losses
        ],
        "formats": list(FORMATS),
        "connections": recommendation.workload.connections,
        "kind": recommendation.kind,
        "interval_low": recommendation.low,
        "interval_high": recommendation.high,
        "selected_ratio": recommendation.selected_ratio,
        "noise_floor": recommendation.noise_floor,
        "confirmation": recommendation.confirmation,
        **NamedDeviceSerializer(recommendation).data,
    }

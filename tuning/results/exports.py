"""The files of a recommendation, made from its evidence when somebody asks for them."""

from __future__ import annotations

from dataclasses import replace

from tuning.catalogue.knob import Durability
from tuning.export import Exported, ExportRequest, export
from tuning.models import Recommendation
from tuning.results.study_result import StudyResult


def export_file(
    result: StudyResult,
    recommendation: Recommendation,
    request: ExportRequest,
    *,
    study_url: str = "",
) -> Exported:
    """The file asked for; raises TuningError as `tuning.export.export` does.

    `study_url` is the page of the study, for whoever finds the file later.
    """
    return export(replace(result.evidence(recommendation), study_url=study_url), request)


def my_cnf_of(
    result: StudyResult,
    recommendation: Recommendation,
    *,
    acknowledged: Durability = Durability.D0,
) -> str:
    """The recommended my.cnf; raises TuningError for a class that was not `acknowledged`."""
    return export_file(result, recommendation, ExportRequest(acknowledged=acknowledged)).text

"""The files of a recommendation, made from its evidence when somebody asks for them."""

from __future__ import annotations

from dataclasses import replace

from tuning.catalogue.knob import Durability
from tuning.export import Exported, ExportRequest, export
from tuning.models import Recommendation
from tuning.results.evidence import export_facts


def export_file(
    recommendation: Recommendation, request: ExportRequest, *, study_url: str = ""
) -> Exported:
    """The file asked for; raises TuningError as `tuning.export.export` does.

    `study_url` is the page of the study, for who finds the file later.
    """
    return export(replace(export_facts(recommendation), study_url=study_url), request)


def my_cnf_of(recommendation: Recommendation, *, acknowledged: Durability = Durability.D0) -> str:
    """The recommended my.cnf; raises TuningError for a class that was not `acknowledged`."""
    return export_file(recommendation, ExportRequest(acknowledged=acknowledged)).text

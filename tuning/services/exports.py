"""The files of a recommendation, made from its evidence when somebody asks for them."""

from __future__ import annotations

from tuning.catalogue.knob import Durability
from tuning.export import Exported, ExportRequest, export
from tuning.models import Recommendation
from tuning.services.evidence import export_facts


def export_file(recommendation: Recommendation, request: ExportRequest) -> Exported:
    """The file asked for; raises TuningError as `tuning.export.export` does."""
    return export(export_facts(recommendation), request)


def my_cnf_of(recommendation: Recommendation, *, acknowledged: Durability = Durability.D0) -> str:
    """The recommended my.cnf; raises TuningError for a class that was not `acknowledged`."""
    return export_file(recommendation, ExportRequest(acknowledged=acknowledged)).text

"""The files of a recommendation, made from its evidence when somebody asks for them."""

from __future__ import annotations

from tuning.catalogue.knob import Durability
from tuning.export import render_my_cnf
from tuning.models import Recommendation
from tuning.services.evidence import export_facts


def my_cnf_of(recommendation: Recommendation, *, acknowledged: Durability = Durability.D0) -> str:
    """The recommended my.cnf; raises TuningError for a class that was not `acknowledged`."""
    return render_my_cnf(export_facts(recommendation), acknowledged=acknowledged)

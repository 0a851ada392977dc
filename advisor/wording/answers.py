"""The recommendations of a study, for a line of a list."""

from __future__ import annotations

from advisor.wording.words import names_beside_figures
from tuning.models import Recommendation, Study


def named_answers(study: Study) -> list[tuple[Recommendation, str]]:
    """Each recommendation with its device's name, "" if the name is not needed."""
    names = names_beside_figures(study.devices.all())
    return [(found, names.get(found.device_id, "")) for found in study.recommendations.all()]

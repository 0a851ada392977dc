"""What a study says of the claims of its template, from its boards as they stand now."""

from __future__ import annotations

from tuning.errors import UnknownTemplate
from tuning.models import Study
from tuning.results.boards import Board, boards
from tuning.statistics.data import Metric
from tuning.study_templates import StudyTemplate, load_template
from tuning.study_templates.evaluation import Finding, Place, evaluate_all


def findings_of(study: Study, found: list[Board] | None = None) -> list[Finding]:
    """One or more per claim, in the template's order; `found`: the study's boards, if at hand.

    None without claims, or where the template is no longer there.
    """
    template = template_of(study)
    if template is None or not template.claims:
        return []
    return evaluate_all(template.claims, places_of(study, found))


def template_of(study: Study) -> StudyTemplate | None:
    """The template that the study was made from; None when its file is gone."""
    try:
        return load_template(study.template)
    except UnknownTemplate:
        return None


def places_of(study: Study, found: list[Board] | None = None) -> list[Place]:
    """The study's boards as claims are checked on them, and the devices that have none yet."""
    same_as = {
        twin.name: twin.merged_into.name
        for twin in study.candidates.exclude(merged_into=None).select_related("merged_into")
        if twin.merged_into is not None
    }
    there = boards(study) if found is None else found
    seen = {board.device.pk for board in there}
    waiting = [
        Place(
            device=str(device),
            kind=device.kind,
            connections=0,
            analyses={},
            device_id=device.pk,
            is_throttled=device.is_throttled,
        )
        for device in study.devices.order_by("pk")
        if device.pk not in seen
    ]
    measured = [
        Place(
            device=str(board.device),
            kind=board.device.kind,
            connections=board.workload.connections,
            analyses={metric: board.judgements[metric].analysis for metric in Metric},
            observations=board.observations,
            alpha=board.alpha,
            same_as=same_as,
            device_id=board.device.pk,
            is_throttled=board.device.is_throttled,
        )
        for board in there
    ]
    return measured + waiting

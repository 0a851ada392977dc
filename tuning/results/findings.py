"""The claims of a study's template, checked by its boards."""

from __future__ import annotations

from collections.abc import Sequence

from tuning.errors import UnknownTemplate
from tuning.models import Study
from tuning.results.board import Board
from tuning.results.study_rows import StudyRows
from tuning.statistics.data import Metric
from tuning.study_templates.evaluation import ClaimBoard, Finding, evaluate_all
from tuning.study_templates.loader import StudyTemplate, load_template


def template_of(study: Study) -> StudyTemplate | None:
    """Return the template of the study; None if its file no longer exists."""
    try:
        return load_template(study.template)
    except UnknownTemplate:
        return None


def findings_of(rows: StudyRows, boards: Sequence[Board]) -> list[Finding]:
    """Return one or more findings per claim, in the order of the template."""
    template = template_of(rows.study)
    if template is None or not template.claims:
        return []
    candidates = rows.candidates.values()
    same_as = {one.name: one.merged_into.name for one in candidates if one.merged_into}
    found = [
        ClaimBoard(
            board.device.pk,
            board.device.kind,
            board.workload.connections,
            {metric: board.judgements[metric].analysis for metric in Metric},
            board.observations,
            board.alpha,
            same_as,
            board.device.is_throttled,
        )
        for board in boards
    ]
    seen = {board.device.pk for board in boards}
    found += [
        ClaimBoard(pk, one.kind, 0, {}) for pk, one in rows.devices.items() if pk not in seen
    ]
    return evaluate_all(template.claims, found)

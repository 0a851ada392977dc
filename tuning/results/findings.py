"""The claims of a study's template, checked by its boards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.models import Device
from tuning.errors import UnknownTemplate
from tuning.models import Candidate, Study
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
    found = _claim_boards(boards, rows.candidates.values(), rows.devices.values())
    return evaluate_all(template.claims, found)


def _claim_boards(
    boards: Sequence[Board], candidates: Iterable[Candidate], devices: Iterable[Device]
) -> list[ClaimBoard]:
    """The boards, followed by the devices of the study that have none yet."""
    same_as = {one.name: one.merged_into.name for one in candidates if one.merged_into}
    seen = {board.device.pk for board in boards}
    waiting = [
        ClaimBoard(
            device=str(device),
            kind=device.kind,
            connections=0,
            analyses={},
            device_id=device.pk,
            is_throttled=device.is_throttled,
        )
        for device in devices
        if device.pk not in seen
    ]
    measured = [
        ClaimBoard(
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
        for board in boards
    ]
    return measured + waiting

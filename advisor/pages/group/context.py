"""The template context of the page of a study over several hosts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.shortcuts import get_object_or_404

from advisor.pages.study.board_choice import BoardChoice
from advisor.pages.study.boards import board_sections, verdict_of_study
from advisor.pages.study.context import results_stamp
from advisor.pages.study.device_matrix import device_matrices
from tuning.models import Recommendation, Study, StudyGroup
from tuning.results.study_result import StudyResult
from tuning.studies.draining import drain_text
from tuning.studies.progress import StudyProgress, study_progress
from tuning.studies.slot_states import slot_states


@dataclass(frozen=True)
class HostColumn:
    """The study of one host, and how far it is; `drain` is why the host takes nothing, or ""."""

    study: Study
    progress: StudyProgress
    drain: str
    stamp: str

    @property
    def percent(self) -> int:
        return round(self.progress.fraction * 100)


def group_for_page(pk: int) -> StudyGroup:
    return get_object_or_404(StudyGroup.objects.select_related("created_by"), pk=pk)


def live_context(group: StudyGroup) -> dict[str, Any]:
    """What changes every second; `stamp` changes when a result does."""
    columns = [_column(study) for study in _studies(group)]
    unfinished = [one.study for one in columns if not one.study.is_finished]
    return {
        "group": group,
        "columns": columns,
        "stamp": "-".join(column.stamp for column in columns),
        "is_finished": not unfinished,
        "may_pause": any(not one.is_paused and not one.stop_request for one in unfinished),
        "may_resume": any(one.is_paused for one in unfinished),
    }


def results_context(group: StudyGroup) -> dict[str, Any]:
    """The verdicts of each host, each by its own ranking, and the devices side by side."""
    results = [StudyResult(study) for study in _studies(group)]
    return {
        "verdicts": [(result.study, _verdicts(result)) for result in results],
        "matrices": device_matrices(*results),
    }


def _studies(group: StudyGroup) -> list[Study]:
    rows = group.studies.select_related("server", "host").prefetch_related("devices", "workloads")
    return list(rows.order_by("host__name", "pk"))


def _column(study: Study) -> HostColumn:
    slots = slot_states(study)
    drain = "" if study.is_finished else drain_text(study.host)
    return HostColumn(study, study_progress(study, slots), drain, results_stamp(study, slots))


def _verdicts(result: StudyResult) -> list[tuple[str, str]]:
    """While it runs those of the boards so far, then those of the recommendations."""
    if not result.study.is_finished:
        return verdict_of_study(result, board_sections(result, BoardChoice()))
    return [(_title(one, len(result.devices) > 1), one.verdict) for one in result.recommendations]


def _title(found: Recommendation, names_device: bool) -> str:
    device = f"{found.device}, " if names_device else ""
    return f"{device}{found.workload.connections} connections: {found.candidate.name}"

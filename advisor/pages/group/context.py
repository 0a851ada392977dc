"""The template context of the page of a study over several hosts."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.shortcuts import get_object_or_404

from advisor.pages.study.board_choice import BoardChoice
from advisor.pages.study.boards import answer_of, board_sections, verdict_of_study
from advisor.pages.study.context import results_stamp
from advisor.pages.study.device_matrix import device_matrices
from advisor.shared_results import PROGRESS, shared_results
from tuning.models import Study, StudyGroup
from tuning.results.slot_rows import SlotRow
from tuning.results.study_result import StudyResult, results_of
from tuning.studies.host_checks import drain_text
from tuning.studies.progress import StudyProgress, study_progress


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


def results_of_group(group: StudyGroup, studies: Sequence[Study]) -> list[StudyResult]:
    return [one.result for one in shared_results(group.pk, studies)]


def group_word(glances: Mapping[int, str]) -> str:
    """Differs whenever one of the glances does."""
    return hashlib.sha256(repr(sorted(glances.items())).encode()).hexdigest()[:16]


def live_context(
    group: StudyGroup,
    studies: Sequence[Study],
    seen: Mapping[int, str],
    results: Sequence[StudyResult] = (),
) -> dict[str, Any]:
    """What changes with each step; `stamp` changes when a result does.

    Worked out again only of the studies in which something has changed. `seen` are the glances
    from before the rows are read; `results` those that are shown as well, of all or none.
    """
    keys = {one: ("column", one.pk, seen.get(one.pk)) for one in studies}
    moved = [one for one, key in keys.items() if key not in PROGRESS]
    ended = {one.pk for one in moved if one.is_finished and results}
    going_on = results_of([one for one in moved if one.pk not in ended])
    slots = {one.study.pk: one.slots for one in going_on}
    slots |= {one.study.pk: one.slots for one in results if one.study.pk in ended}
    columns = [
        PROGRESS.get(key, partial(_column, one, slots.get(one.pk))) for one, key in keys.items()
    ]
    unfinished = [one.study for one in columns if not one.study.is_finished]
    return {
        "group": group,
        "glance": group_word(seen),
        "columns": columns,
        "stamp": "-".join(column.stamp for column in columns),
        "is_finished": not unfinished,
    }


def results_context(results: Sequence[StudyResult]) -> dict[str, Any]:
    """The verdicts of each host, each by its own ranking, and the devices side by side."""
    return {
        "verdicts": [(result.study, _verdicts(result)) for result in results],
        "matrices": device_matrices(*results),
    }


def _column(study: Study, slots: Sequence[SlotRow] | None) -> HostColumn:
    slots = StudyResult(study).slots if slots is None else slots
    drain = "" if study.is_finished else drain_text(study.host)
    progress = study_progress(study, slots, with_leader=False)
    study.waits = bool(progress.waits_for)
    return HostColumn(study, progress, drain, results_stamp(study, slots))


def _verdicts(result: StudyResult) -> list[tuple[str, str]]:
    """Answers and their evidence; while it runs, what is known so far and of which ranking."""
    if result.study.is_finished:
        return [(answer_of(one, result), one.verdict) for one in result.recommendations]
    found = verdict_of_study(result, board_sections(result, BoardChoice()))
    return found if len(found) > 1 else [("", sentence) for _, sentence in found]

"""The page of a study over several hosts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from advisor.pages.study.board_choice import BoardChoice
from advisor.pages.study.boards import board_views, verdicts_of
from advisor.pages.study.device_matrix import device_matrices
from advisor.pages.study.live import studies_to_show
from tuning.models import Study, StudyGroup
from tuning.results.document import StudyDocument
from tuning.stored_documents import documents_of
from tuning.studies.progress import StudyProgress, progress_of
from tuning.studies.revision import progress_marks
from tuning.studies.waiting import drain_text


@dataclass(frozen=True)
class HostColumn:
    """The study of one host, and how far it is; `drain` is why the host takes nothing, or ""."""

    study: Study
    progress: StudyProgress
    drain: str

    @property
    def percent(self) -> int:
        return round(self.progress.fraction * 100)


def group_for_page(pk: int) -> StudyGroup:
    """Return the group. Raises Http404."""
    return get_object_or_404(StudyGroup.objects.select_related("created_by"), pk=pk)


def studies_of_group(pk: int) -> list[Study]:
    """Return the studies of a group, in the order of their hosts."""
    found = studies_to_show().filter(group=pk).order_by("host__name", "pk")
    return list(found.prefetch_related("devices", "workloads__load_host"))


def group_mark(pk: int) -> str:
    """Differs whenever the progress of one of the studies does."""
    return ".".join(progress_marks(Study.objects.filter(group=pk).order_by("pk")).values())


def revisions(studies: Sequence[Study]) -> str:
    """Differs whenever a result of one of the studies does."""
    return ".".join(str(study.revision) for study in studies)


def live_context(group: StudyGroup, studies: Sequence[Study], mark: str) -> dict[str, Any]:
    """The part that changes with each step; `mark`: from before the studies were read."""
    columns = [
        _column(study, progress)
        for study, progress in zip(studies, progress_of(studies), strict=True)
    ]
    unfinished = [one for one in studies if not one.is_finished]
    return {
        "group": group,
        "mark": mark,
        "revisions": revisions(studies),
        "columns": columns,
        "is_finished": not unfinished,
    }


def results_context(studies: Sequence[Study]) -> dict[str, Any]:
    """The verdicts of each host, each by its own ranking, and the devices side by side."""
    documents = documents_of(studies)
    return {
        "verdicts": [
            (study, _verdicts(one)) for study, one in zip(studies, documents, strict=True)
        ],
        "matrices": device_matrices(*documents, hosts=[str(one.host) for one in studies]),
    }


def _column(study: Study, progress: StudyProgress) -> HostColumn:
    drain = "" if study.is_finished else drain_text(study.host)
    study.waits = bool(progress.waits_for)
    return HostColumn(study, progress, drain)


def _verdicts(document: StudyDocument) -> list[tuple[str, str]]:
    """Answers and their evidence; while it runs, what is known so far and of which ranking."""
    if document.study.is_finished:
        return [(f"{one.title}.", one.text) for one in document.answers]
    found = verdicts_of(document, board_views(document, BoardChoice()))
    return found if len(found) > 1 else [("", sentence) for _, sentence in found]


@require_GET
def group_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """The hosts side by side, then their devices."""
    group, mark = group_for_page(pk), group_mark(pk)
    studies = studies_of_group(pk)
    context = live_context(group, studies, mark) | results_context(studies)
    return render(request, "groups/detail.html", context)


@require_GET
def group_live(request: HttpRequest, pk: int) -> HttpResponse:
    """Answer a poll: 204 without progress, else the progress, with results if they changed."""
    group, mark = group_for_page(pk), group_mark(pk)
    if request.GET.get("mark") == mark:
        return HttpResponse(status=204)
    studies = studies_of_group(pk)
    context = live_context(group, studies, mark)
    if request.GET.get("revisions") != context["revisions"]:
        context |= results_context(studies) | {"swaps_results": True}
    return render(request, "groups/_live_answer.html", context)

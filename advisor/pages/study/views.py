"""The list of studies, a study's page with its live part."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.db.models import Count, OuterRef, QuerySet, Subquery, prefetch_related_objects
from django.db.models.functions import Coalesce
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_GET
from django_htmx.http import reswap, trigger_client_event

from advisor.charts.board import board_figures
from advisor.charts.effects import findings_figure
from advisor.charts.figure import charts_answer
from advisor.charts.runs import run_figures
from advisor.charts.search import search_figures
from advisor.pages.export.recommendation import recommendation_cards
from advisor.pages.lists import Listing
from advisor.pages.study.board_choice import BoardChoice, board_choice
from advisor.pages.study.live import live_context, now_context, study_to_show
from advisor.pages.study.page import StudyPage
from advisor.wording.words import named_answers
from benchmarks.models import UNDONE_RUN_STATES
from tuning.catalogue.target import traits_of
from tuning.creation.hosts import hosts_named
from tuning.models import Slot, Study
from tuning.results.document import StudyDocument
from tuning.results.series import log_tails
from tuning.stored_documents import document_of
from tuning.studies.current_jobs import live_run
from tuning.studies.revision import mark_of, progress_mark
from tuning.studies.waiting import mark_waiting

STUDIES = Listing(
    "study-list",
    "study",
    "studies",
    ("name", "tags", "template", "host__name"),
    "Study, tag, template or host",
    per_page=25,
)


@require_GET
def study_list(request: HttpRequest) -> HttpResponse:
    """All studies, newest first; `?host=` names a host: only those on it.

    With `?find=` those that have each of its words in the name of study, template or host or in a
    tag; with `?archived=1` those that were taken off the list.
    """
    archived = request.GET.get("archived") == "1"
    name = request.GET.get("host", "")
    host = get_object_or_404(hosts_named([name])) if name else None
    there = Study.objects.filter(archived_at__isnull=not archived)
    if host is not None:
        there = there.filter(host=host)
    studies = there.select_related("server", "host", "gate_verdict").annotate(
        runs_total=_count(Slot.objects.all()),
        runs_done=_count(Slot.objects.exclude(run__state__in=UNDONE_RUN_STATES)),
    )
    shown = STUDIES.read(request.GET, studies, host=name, archived="1" if archived else "")
    answers = "recommendations__candidate"
    prefetch_related_objects(list(shown), "devices", "workloads__load_host", answers)
    mark_waiting(shown)
    rows = [(study, named_answers(study)) for study in shown]
    context = {"list": shown, "rows": rows, "host": host, "archived": archived}
    return render(request, "studies/list.html", context)


def _count(slots: QuerySet[Slot]) -> Coalesce:
    """Count per study of the page only: a join would count the slots of all studies."""
    there = slots.filter(study=OuterRef("pk")).order_by().values("study")
    return Coalesce(Subquery(there.annotate(found=Count("pk")).values("found")), 0)


@require_GET
def study_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """One study: progress, answer and tabs; with `?whole=` all tabs open, as a report."""
    context = _context(request, pk) | {"is_whole": "whole" in request.GET}
    return render(request, "studies/detail.html", context)


@require_GET
def study_live(request: HttpRequest, pk: int) -> HttpResponse:
    """The response to htmx every two seconds while the study is active.

    The results come with it, to be swapped out of band, unless `revision` is still the study's. A
    page with fewer rankings or charts than there are now (`parts`) gets all of them. As long as
    `mark` is the same, there is only the run that is measured now, or nothing.
    """
    mark = progress_mark(pk)
    if request.GET.get("mark") == mark:
        return _only_the_run(request, pk)
    study = study_to_show(pk)
    changed = request.GET.get("revision") != str(study.revision)
    parts = request.GET.get("parts", "")
    context = live_context(study, mark) | {"choice": board_choice(request.GET), "parts": parts}
    if not study.is_finished:
        context |= now_context(live_run(pk))
    if changed:
        context |= _results(request, study)
        context |= {"swaps_results": True, "swaps_parts": parts not in ("", str(context["parts"]))}
    context["poll"] = _poll(context)
    response = render(request, "studies/_live_answer.html", context)
    if changed:
        trigger_client_event(response, "study-changed", after="settle")
    return response


def _only_the_run(request: HttpRequest, pk: int) -> HttpResponse:
    """Nothing has changed but the seconds of the current run."""
    now = live_run(pk)
    if now is None:
        return HttpResponse(status=204)
    context = now_context(now) | {"swaps_now": True}
    return reswap(render(request, "studies/_now.html", context), "none")


def _context(request: HttpRequest, pk: int) -> dict[str, Any]:
    """Return everything on the study page."""
    study = study_to_show(pk)
    now = None if study.is_finished else live_run(pk)
    context = live_context(study, mark_of(study)) | now_context(now) | _results(request, study)
    return context | {"poll": _poll(context)}


def _poll(context: dict[str, Any]) -> str:
    """Return the address that an open page asks for news; it says what the page shows."""
    study: Study = context["study"]
    asks = {"revision": study.revision, "parts": context["parts"], "mark": context["mark"]}
    address = f"{reverse('study-live', args=[study.pk])}?{urlencode(asks)}"
    choice: BoardChoice = context["choice"]
    return f"{address}&{choice.query}" if choice.query else address


def _results(request: HttpRequest, study: Study) -> dict[str, Any]:
    """Return what changes only with the study's revision."""
    page = _page(request, study)
    document, failed = page.document, page.failed
    logs = log_tails([line.run.id for line in failed]) if failed else {}
    return {
        "page": page,
        "document": document,
        "choice": page.choice,
        "parts": page.parts,
        "failed_runs": [(line, logs[line.run.id]) for line in failed],
        "recommendations": recommendation_cards(document, request),
    }


def _page(request: HttpRequest, study: Study) -> StudyPage:
    return StudyPage(document_of(study), board_choice(request.GET), traits_of(study.server))


#: The markup of the rows of each long table.
PARTS = {"runs": "_run_rows", "tried": "_tried_rows"}


@require_GET
def study_more(request: HttpRequest, pk: int, part: str, start: int) -> HttpResponse:
    """The next rows of a long table of the page, or the next candidates that were made."""
    page = _page(request, study_to_show(pk))
    try:
        shown = page.part(part, start)
    except KeyError:
        raise Http404("no such part of the page") from None
    context = {"pk": pk, "page": page, "part": shown, "lines": shown.rows}
    return render(request, f"studies/{PARTS.get(part, '_made_candidates')}.html", context)


@require_GET
def study_charts(request: HttpRequest, pk: int) -> HttpResponse:
    """The charts of each board and of the findings; none before the first finished run."""
    document, choice = _document(pk), board_choice(request.GET)
    figures = {
        f"{board.key}-{name}" if name else board.key: figure
        for board in document.boards
        for name, figure in board_figures(document, board, choice.metric, choice.p95_ms).items()
    }
    findings = findings_figure(document)
    if findings is not None:
        figures["findings"] = findings
    return charts_answer(figures | search_figures(document))


@require_GET
def board_charts(request: HttpRequest, pk: int) -> HttpResponse:
    """The charts of single runs of one board (`?board=` is its key), asked for when opened."""
    document, key = _document(pk), request.GET.get("board", "")
    board = next((one for one in document.boards if one.key == key), None)
    if board is None:
        raise Http404("no such ranking in this study")
    figures = run_figures(document, board)
    return charts_answer({f"{key}-{name}": figure for name, figure in figures.items()})


def _document(pk: int) -> StudyDocument:
    return document_of(study_to_show(pk))

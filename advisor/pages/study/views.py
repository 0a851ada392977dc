"""The list of studies, a study's page with its live part."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET
from django_htmx.http import reswap, trigger_client_event

from advisor.charts.boards import board_figures, run_figures
from advisor.charts.findings import findings_figure, findings_series
from advisor.charts.lines import lines_figure
from advisor.charts.payload import charts_json
from advisor.charts.search import search_figures
from advisor.pages.lists import Listing
from advisor.pages.study.board_choice import BoardChoice, board_choice
from advisor.pages.study.boards import board_key
from advisor.pages.study.context import (
    cards_context,
    live_context,
    now_context,
    results_context,
    stamp_at,
    study_context,
)
from advisor.shared_results import PROGRESS, SharedResult, shared_result, study_to_show
from advisor.wording.answers import named_answers
from benchmarks.models import UNDONE_RUN_STATES
from tuning.models import Slot, Study
from tuning.results.knob_importance import knob_importance
from tuning.results.live_run import live_run
from tuning.results.related import know
from tuning.results.run_series import has_seconds
from tuning.results.searched import search_result
from tuning.results.study_result import StudyResult
from tuning.strategy.search.space import Space
from tuning.studies.glance import look_at
from tuning.studies.hosts import hosts_named
from tuning.studies.load_hosts import fetch_load_hosts
from tuning.studies.waiting import mark_waiting

STUDIES = Listing(
    "study-list",
    "study",
    "studies",
    ("name", "template", "host__name"),
    "Study, template or host",
    per_page=25,
)


@require_GET
def study_list(request: HttpRequest) -> HttpResponse:
    """All studies, newest first; `?host=` names a host: only those on it.

    With `?find=` those that have each of its words in the name of study, template or host.
    """
    name = request.GET.get("host", "")
    host = get_object_or_404(hosts_named([name])) if name else None
    there = Study.objects.all() if host is None else Study.objects.filter(host=host)
    studies = there.select_related("server", "host", "gate_verdict").annotate(
        runs_total=_count(Slot.objects.all()),
        runs_done=_count(Slot.objects.exclude(run__state__in=UNDONE_RUN_STATES)),
    )
    shown = STUDIES.read(request.GET, studies, host=name)
    know(list(shown), "devices", "workloads", "recommendations")
    fetch_load_hosts(shown)
    mark_waiting(shown)
    rows = [(study, named_answers(study)) for study in shown]
    context = {"list": shown, "rows": rows, "host": host}
    return render(request, "studies/list.html", context)


def _count(slots: QuerySet[Slot]) -> Coalesce:
    """Of each study; of those on the page only, which a join of all slots would not be."""
    there = slots.filter(study=OuterRef("pk")).order_by().values("study")
    return Coalesce(Subquery(there.annotate(found=Count("pk")).values("found")), 0)


@require_GET
def study_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """One study: progress, ranking, charts, recommendation and candidates."""
    study = study_to_show(pk)
    return render(request, "studies/detail.html", study_context(study, request))


@require_GET
def study_live(request: HttpRequest, pk: int) -> HttpResponse:
    """The response to htmx every two seconds while the study is active.

    It includes the results, to be swapped out of band, only if `seen` is not their stamp. A page
    with fewer rankings or charts than there are now (`parts`) gets all of them, one that shows all
    of it already gets nothing.
    """
    look = look_at(pk)
    if request.GET.get("glance") == look.word:
        return _only_the_run(request, pk)
    choice = board_choice(request.GET)
    seen = request.GET.get("seen")
    shared: SharedResult | None = None

    def make() -> dict[str, Any]:
        nonlocal shared
        study = study_to_show(pk)
        shared = shared_result(study, look) if seen != stamp_at(study, look) else None
        return live_context(study, shared, choice, look)

    context = dict(PROGRESS.get((pk, look.word, choice), make))
    study: Study = context["study"]
    if not study.is_finished:
        context |= now_context(live_run(pk))  # that of this second
    changed, parts = seen != context["stamp"], request.GET.get("parts", "")
    if changed:
        # What ended since the look is in the stamp: results from before it would stay.
        as_seen = look if context["stamp"] == stamp_at(study, look) else None
        shared = shared or shared_result(study, as_seen)
        context |= results_context(shared, choice) | cards_context(shared, request)
        context["swaps_parts"] = parts not in ("", str(context["parts"]))
    else:
        context["parts"] = parts
    context["swaps_results"] = changed
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


@require_GET
def study_charts(request: HttpRequest, pk: int) -> HttpResponse:
    """The charts of each board and of the findings; none before the first finished run."""
    shared, choice = shared_result(study_to_show(pk)), board_choice(request.GET)
    charts = shared.made(("charts", choice.chart_query), lambda result: _charts(result, choice))
    return HttpResponse(charts, content_type="application/json")


def _charts(result: StudyResult, choice: BoardChoice) -> bytes:
    figures = {}
    for board in result.boards:
        key = board_key(board)
        charts = board_figures(board, result.history, choice.metric, choice.p95_ms)
        apart = result.taken_apart(board.key)
        if apart is not None and (lines := lines_figure(apart)) is not None:
            charts["lines"] = lines
        for name, figure in charts.items():
            figures[f"{key}-{name}" if name else key] = figure
    if search := search_result(result):
        space = Space.from_json((result.study.search or {})["space"])
        learned = knob_importance(result)
        order = [one.name for one in learned.knobs] if learned else []
        figures |= search_figures(search, space, order or space.names)
    if findings := findings_series(result):
        figures["findings"] = findings_figure(findings)
    return charts_json(figures)


@require_GET
def board_charts(request: HttpRequest, pk: int) -> HttpResponse:
    """The charts of single runs of one board (`?board=` is its key), asked for when opened."""
    key = request.GET.get("board", "")
    shared = shared_result(study_to_show(pk))
    what = "runs", key, has_seconds(shared.result.slots)
    charts = shared.made(what, lambda result: _run_charts(result, key))
    return HttpResponse(charts, content_type="application/json")


def _run_charts(result: StudyResult, key: str) -> bytes:
    board = next((one for one in result.boards if board_key(one) == key), None)
    if board is None:
        raise Http404("no such ranking in this study")
    figures = {f"{key}-{name}": figure for name, figure in run_figures(board).items()}
    return charts_json(figures)

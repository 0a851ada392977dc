"""The pages of gates."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, Max
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from advisor.charts.figure import charts_answer
from advisor.charts.over_months import recent_sentence
from advisor.pages.gates.charts import gate_figures, limited_metrics
from advisor.pages.gates.forms import GateForm
from advisor.pages.lists import Listing
from benchmarks.errors import ExpectedError
from tuning.comparison.history import gate_history, recent_candidates
from tuning.creation.gates import create_gate
from tuning.gate_facts import gate_facts, gates
from tuning.statistics.aim import metric_name
from tuning.studies.progress import study_progress
from tuning.studies.revision import progress_mark
from tuning.studies.waiting import mark_waiting

GATES = Listing("gate-list", "gate", "gates", ("name", "host__name"), "Name or host")


@require_GET
def gate_list(request: HttpRequest) -> HttpResponse:
    """Every name with its newest gate."""
    names = (
        gates()
        .order_by()
        .values("name", "host")
        .annotate(newest=Max("pk"), count=Count("pk"))
        .order_by("-newest")
    )
    shown = GATES.read(request.GET, names)
    newest = {study.pk: study for study in gates().filter(pk__in=[one["newest"] for one in shown])}
    mark_waiting(newest.values())
    rows = [(newest[one["newest"]], one["count"]) for one in shown]
    return render(request, "gates/list.html", {"list": shown, "rows": rows})


@require_http_methods(["GET", "POST"])
def gate_new(request: HttpRequest) -> HttpResponse:
    """The empty form; on POST the new gate's page, or the form with its errors.

    `?candidate_stored=` names the config that is to be judged, and proposes the gate's name.
    """
    proposed = {"name": request.GET.get("candidate_stored", "").replace(":", "-")}
    form = GateForm(request.POST or None, initial=proposed | request.GET.dict())
    if form.is_bound and form.is_valid():
        try:
            study = create_gate(form.gate_request(), user=request.user)
        except ExpectedError as error:
            form.add_refusal(error)
        else:
            return redirect("gate-detail", pk=study.pk)
    status = 400 if form.is_bound else 200
    return render(request, "gates/new.html", {"form": form}, status=status)


@require_GET
def gate_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """The verdict with its limits, then the history of the name."""
    context = _live(request, pk, progress_mark(pk))
    points = gate_history(context["gate"])
    names = {metric: metric_name(metric) for metric in limited_metrics(points)}
    more = {
        "metrics": names,
        "rows": [
            (point, [(name, point.limits.get(metric)) for metric, name in names.items()])
            for point in reversed(points)
        ],
        # With too few gates all sentences are equal: it is shown once.
        "sentences": dict.fromkeys(
            recent_sentence(f"The candidates' {name}", "gates", recent_candidates(points, metric))
            for metric, name in names.items()
        ),
    }
    return render(request, "gates/detail.html", context | more)


@require_GET
def gate_charts(request: HttpRequest, pk: int) -> HttpResponse:
    """The history of the gate's name, a chart for each limit."""
    gate = get_object_or_404(gates(), pk=pk)
    return charts_answer(gate_figures(gate_history(gate)))


@require_GET
def gate_live(request: HttpRequest, pk: int) -> HttpResponse:
    """The response to htmx while it is measured: nothing as long as nothing has changed."""
    seen = progress_mark(pk)
    if request.GET.get("glance") == seen:
        return HttpResponse(status=204)
    return render(request, "gates/_live.html", _live(request, pk, seen))


def _live(request: HttpRequest, pk: int, seen: str) -> dict[str, Any]:
    """`seen`: the mark from before the rows were read; what changes then is asked for again."""
    study = get_object_or_404(gates(), pk=pk)
    url = request.build_absolute_uri(reverse("gate-detail", args=[study.pk]))
    progress = None if study.is_finished else study_progress(study)
    study.waits = progress is not None and bool(progress.waits_for)
    return {
        "gate": study,
        "glance": seen,
        "facts": gate_facts(study, url=url),
        "progress": progress,
        "percent": 0 if progress is None else round(progress.fraction * 100),
    }

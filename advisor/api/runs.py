"""Runs, their series and their logs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Field, FilterLookup, FilterSchema, Query, Router

from advisor.api.paging import Page, PageQuery, page_of, without_bulk
from advisor.api.schemas.common import Id
from advisor.api.schemas.runs import RunDetail, RunSummary
from advisor.responses import download, series_csv
from benchmarks.drivers.program import redact
from benchmarks.models import SERIES_COLUMNS, Run, RunState
from tuning.results.series import BULKY

router = Router(tags=["runs"])


class RunFilters(FilterSchema):
    """`study`: only the newest run of each of its slots; `config`: a hash or its beginning."""

    host: Annotated[str | None, FilterLookup("host__name")] = None
    study: Annotated[Id | None, FilterLookup("slot__study")] = None
    device: Annotated[Id | None, FilterLookup("device")] = None
    config: Annotated[str | None, FilterLookup("config__hash__startswith")] = None
    state: Annotated[list[RunState] | None, FilterLookup("state__in")] = None
    disturbed: bool | None = Field(
        None, description="true: disturbed runs only; false: all other runs."
    )

    def filter_disturbed(self, value: bool | None) -> Q:
        none = Q(disturbances=[])
        return Q() if value is None else ~none if value else none


def runs() -> QuerySet[Run]:
    """Return all runs with what a line of a list shows."""
    rows = Run.objects.select_related(
        "host", "device", "server", "workload__load_host", "config", "slot__candidate"
    )
    driving = without_bulk("workload__load_host")
    return rows.defer(*without_bulk("host", "slot__candidate"), *driving)


@router.get("runs/", response=Page[RunSummary], url_name="run-list")
def list_all_runs(
    request: HttpRequest, filters: Query[RunFilters], query: Query[PageQuery]
) -> Any:
    """List the runs of all studies, newest first."""
    return page_of(filters.filter(runs()).defer(*BULKY).order_by("-pk"), query)


@router.get("runs/{int:pk}/", response=RunDetail, url_name="run-detail")
def get_run(request: HttpRequest, pk: int) -> Run:
    """One run: figures, conditions, variables, fingerprint."""
    return get_object_or_404(runs(), pk=pk)


@router.get("runs/{int:pk}/series/", url_name="run-series")
def get_run_series(
    request: HttpRequest, pk: int, format: Literal["json", "csv"] = "json"
) -> HttpResponse | dict[str, Any]:
    """A run second by second, as columns of equal length or as CSV.

    Seconds before 0 are warm-up; null where nothing was counted.
    """
    run = get_object_or_404(runs(), pk=pk)
    if format == "csv":
        return series_csv(run, f"run-{run.pk}.csv")
    rows = list(run.samples.values_list(*SERIES_COLUMNS))
    columns = zip(*rows, strict=True) if rows else ((),) * len(SERIES_COLUMNS)
    return {"run_id": run.pk, **dict(zip(SERIES_COLUMNS, columns, strict=True))}


@router.get("runs/{int:pk}/log/", url_name="run-log")
def get_run_log(request: HttpRequest, pk: int) -> HttpResponse:
    """The end of what a run's server and driver wrote, without passwords."""
    run = get_object_or_404(Run, pk=pk)
    return download(f"run-{run.pk}.log", "text/plain; charset=utf-8", redact(run.log_tail))

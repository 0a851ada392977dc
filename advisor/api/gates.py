"""Gates, and their verdicts as files for pipelines."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from ninja import FilterLookup, FilterSchema, Query, Router

from advisor.api.once import Key, create_once
from advisor.api.paging import Page, PageQuery, page_of
from advisor.api.schemas import studies as schemas
from tuning.creation import gates as services
from tuning.gate_facts import GateFacts, gate_facts, gates, junit_xml, markdown_summary
from tuning.models import Study
from tuning.requests.gate import GateRequest

router = Router(tags=["gates"])


class GateFilters(FilterSchema):
    """`name`: only gates of this name, which is their history."""

    name: Annotated[str | None, FilterLookup("name")] = None
    host: Annotated[str | None, FilterLookup("host__name")] = None


def _facts(request: HttpRequest, study: Study) -> GateFacts:
    url = request.build_absolute_uri(reverse("gate-detail", args=[study.pk]))
    return gate_facts(study, url=url)


def _detail(request: HttpRequest, pk: int) -> Any:
    study: Any = get_object_or_404(gates(), pk=pk)
    study.facts = _facts(request, study)
    return study


@router.get("gates/", response=Page[schemas.GateRow], url_name="gate-list")
def list_gates(request: HttpRequest, filters: Query[GateFilters], query: Query[PageQuery]) -> Any:
    """List all gates, newest first."""
    return page_of(filters.filter(gates()).order_by("-pk"), query)


@router.post("gates/", response={201: schemas.GateDetail}, url_name="gate-list")
def create_gate(request: HttpRequest, body: GateRequest, key: Key = None) -> Any:
    """Ask whether a config or a server may take the place of another."""
    made = create_once(
        Study,
        request,
        key,
        lambda keep: services.create_gate(body, user=request.user, also=keep),
    )
    return _detail(request, made.pk)


@router.get("gates/{int:pk}/", response=schemas.GateDetail, url_name="gate-detail")
def get_gate(request: HttpRequest, pk: int) -> Any:
    """One gate with its figures."""
    return _detail(request, pk)


@router.get("gates/{int:pk}/junit.xml", url_name="gate-junit")
def get_gate_junit(request: HttpRequest, pk: int) -> HttpResponse:
    """The verdict as JUnit XML, with a case for each limit."""
    text = junit_xml(_facts(request, get_object_or_404(gates(), pk=pk)))
    return HttpResponse(text, content_type="application/xml; charset=utf-8")


@router.get("gates/{int:pk}/summary.md", url_name="gate-markdown")
def get_gate_markdown(request: HttpRequest, pk: int) -> HttpResponse:
    """The verdict as a summary in Markdown."""
    text = markdown_summary(_facts(request, get_object_or_404(gates(), pk=pk)))
    return HttpResponse(text, content_type="text/markdown; charset=utf-8")

"""Servers, stored configs, study templates and the version."""

from __future__ import annotations

from typing import Annotated, Any

from django.conf import settings
from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Path, Query, Router
from ninja.errors import HttpError

from advisor.api.paging import Page, PageQuery, page_of, without_bulk
from advisor.api.schemas import listed as schemas
from benchmarks.emulation.profile import NATIVE, shipped_profiles
from benchmarks.jobs.versions import head_commit
from benchmarks.models import Config, Host, Server
from tuning.comparison.side_by_side import lay_side_by_side
from tuning.comparison.sides import MAX_SIDES, find_sides
from tuning.creation.hosts import cpus_of
from tuning.creation.preview import template_seconds
from tuning.models import Candidate
from tuning.study_templates.loader import load_template, template_names

router = Router(tags=["lists"])
MAX_USES = 100
#: A SHA-256 as hexadecimal digits.
Digest = Annotated[str, Path(pattern="^[0-9a-f]{64}$")]
API_VERSION = 1
#: Listed with the shipped profiles, which all have limits.
NATIVE_PROFILE = {
    "name": NATIVE,
    "title": "The real device, without limits",
    "scaled": False,
    "source": "",
}


@router.get("servers/", response=Page[schemas.ServerRow], url_name="server-list")
def list_servers(request: HttpRequest, query: Query[PageQuery], host: str | None = None) -> Any:
    """List the servers that studies use or used, newest first, of all hosts or of one."""
    rows = Server.objects.select_related("host").defer(*without_bulk("host")).order_by("-pk")
    return page_of(rows if host is None else rows.filter(host__name=host), query)


@router.get("configs/{digest}/", response=schemas.StoredConfig, url_name="config")
def get_config(request: HttpRequest, digest: Digest) -> Any:
    """A stored config by its hash: its variables and the studies that have it."""
    config = get_object_or_404(Config, hash=digest)
    uses = Candidate.objects.filter(config=config).select_related("study").order_by("-pk")
    return {
        "hash": config.hash,
        "knobs": config.knobs,
        "runs": config.runs.count(),
        "candidates": uses[:MAX_USES],
    }


@router.get("comparison/", response=schemas.Comparison, url_name="comparison")
def compare_sides(
    request: HttpRequest,
    side: Annotated[list[str], Query(..., min_length=1, max_length=MAX_SIDES)],
) -> Any:
    """Compare as the page Compare does; a side is run-1, candidate-2, config-3 or study-4."""
    found = find_sides(side)
    if not found.sides:
        raise Http404("None of these was measured.")
    laid = lay_side_by_side(found.sides)
    return {
        "sides": laid.sides,
        "figures": laid.figures,
        "knobs": {knob.name: knob.values for knob in laid.knobs},
        "differs": dict(laid.differs),
        "missing": dict(found.missing),
    }


@router.get("templates/", response=list[schemas.Template], url_name="templates")
def list_templates(request: HttpRequest, host: str = "") -> Any:
    """List the study templates with their sizes on a host and the claims of their sources."""
    if host and not Host.objects.filter(name=host).exists():
        raise HttpError(400, f"There is no host {host!r}.")
    cpus = cpus_of(host)
    return [
        schemas.template_values(
            template,
            connections=template.connections_on(cpus),
            minutes=round(template_seconds(template, cpus) / 60, 1),
        )
        for template in map(load_template, template_names())
    ]


@router.get(
    "emulation-profiles/",
    response=list[schemas.EmulationProfile],
    url_name="emulation-profiles",
)
def list_emulation_profiles(request: HttpRequest) -> Any:
    """List the devices that can be emulated, with their rated limits."""
    return [NATIVE_PROFILE, *shipped_profiles().values()]


@router.get("version/", response=schemas.Version, url_name="version")
def get_version(request: HttpRequest) -> Any:
    """The version of the advisor and of this API."""
    return {"version": settings.CODE_VERSION, "commit": head_commit(), "api": API_VERSION}

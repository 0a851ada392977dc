"""Checks of a my.cnf without a study, and what a study would try; nothing is stored."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Router

from advisor.api.schemas import configs as schemas
from advisor.api.schemas.studies import SearchSpace
from tuning.catalogue.target import parse_traits
from tuning.creation.config_check import CheckedText, check_text
from tuning.creation.plan import plan_of, proposals_of
from tuning.creation.search import search_of
from tuning.requests.study import StudyRequest

router = Router(tags=["configs"])


@router.post("configs/check/", response=schemas.CheckedConfig, url_name="config-check")
def check_config(request: HttpRequest, body: schemas.CheckBody) -> CheckedText:
    """Check a my.cnf line by line, translated for this server; `is_fine`: a study accepts it."""
    return check_text(
        body.text.encode(),
        name=body.name,
        target=None if body.target is None else parse_traits(body.target),
        host=body.host,
        translate_from=body.translate_from,
        connections=body.connections,
    )


@router.post("proposals/", response=list[schemas.Proposal], url_name="proposals")
def propose_configs(request: HttpRequest, body: StudyRequest) -> Any:
    """Return the advice of each set of published rules for such a study."""
    return proposals_of(plan_of(body))


@router.post("search-space/", response=SearchSpace, url_name="search-space")
def show_search_space(request: HttpRequest, body: StudyRequest) -> Any:
    """Return the search space."""
    return search_of(plan_of(body))

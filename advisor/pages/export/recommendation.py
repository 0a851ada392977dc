"""A recommendation as the pages show it: what it costs, its my.cnf, the form for other files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.http import HttpRequest
from django.urls import reverse

from advisor.pages.export.forms import ExportForm
from tuning.catalogue.knob import Durability
from tuning.export import ExportRequest, export
from tuning.export.lines import Line
from tuning.export.safety import losing_lines
from tuning.models import Recommendation, Study
from tuning.results.boards import Board
from tuning.results.evidence import export_facts


@dataclass(frozen=True)
class RecommendationView:
    """`needed` is the class to be acknowledged before any file is shown, for its `losses`.

    `my_cnf` is None where that is not D0.
    """

    recommendation: Recommendation
    needed: Durability
    losses: list[Line]
    my_cnf: str | None
    form: ExportForm

    @property
    def is_safe(self) -> bool:
        """Whether nothing has to be acknowledged."""
        return self.needed is Durability.D0


def recommendation_views(
    study: Study, found: Sequence[Board], request: HttpRequest
) -> list[RecommendationView]:
    """All recommendations of the study with these boards, safest first on each device."""
    advice = study.recommendations.select_related(
        "candidate__config", "device", "workload", "study__server"
    )
    return [recommendation_view(one, request, found=found) for one in advice]


def recommendation_view(
    recommendation: Recommendation,
    request: HttpRequest,
    *,
    found: Sequence[Board] | None = None,
    with_answers: bool = False,
) -> RecommendationView:
    """One recommendation; `with_answers` binds its form to what was posted. `found`: the study's
    boards, if at hand.
    """
    url = study_url(recommendation, request)
    facts = replace(export_facts(recommendation, found), study_url=url)
    losses = losing_lines(facts)
    needed = max((line.durability for line in losses), default=Durability.D0)
    answers = (request.POST, request.FILES) if with_answers else ()
    return RecommendationView(
        recommendation=recommendation,
        needed=needed,
        losses=losses,
        my_cnf=export(facts, ExportRequest()).text if needed is Durability.D0 else None,
        form=ExportForm(
            *answers, needed=needed, measured_on=str(facts.server), pk=recommendation.pk
        ),
    )


def study_url(recommendation: Recommendation, request: HttpRequest) -> str:
    """The address of the study's page, for the head of an exported file."""
    return request.build_absolute_uri(reverse("study-detail", args=[recommendation.study_id]))

"""A recommendation as the pages show it: losses, my.cnf, and the form for other files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpRequest
from django.urls import reverse

from advisor.pages.export.forms import ExportForm
from advisor.wording.formatting import megacycles, significant
from advisor.wording.spaces import knob_text
from tuning.catalogue.knob import Durability
from tuning.configs.effective.costs import KnobCost
from tuning.export.formats import ExportRequest, export
from tuning.export.lines import Line, lines_of, losing_lines
from tuning.models import Recommendation
from tuning.recommendations import StudyFiles
from tuning.results.stored_documents import document_of
from tuning.results.study_result import StudyResult, board_key_of
from tuning.scale_model.model import ScaleModel


@dataclass(frozen=True)
class SizedLine:
    """A value in the scale model and on the real server, for people."""

    name: str
    in_model: str
    value: str


@dataclass(frozen=True)
class RecommendationCard:
    """`needed` is the class to acknowledge before any file is shown, because of its `losses`.

    `costs` are those other than durability; `my_cnf` is None unless that class is D0. `proportion`
    says how much memory and data were measured, `price` what changed beside tpmP; of a scale
    model, `sized` are the lines whose values are others on the real server.
    """

    recommendation: Recommendation
    needed: Durability
    losses: Sequence[Line]
    costs: list[KnobCost]
    my_cnf: str | None
    form: ExportForm
    files: StudyFiles
    proportion: str
    price: str
    model: ScaleModel | None
    sized: list[SizedLine]

    @property
    def is_safe(self) -> bool:
        """Whether no acknowledgement is needed."""
        return self.needed is Durability.D0


def recommendation_cards(result: StudyResult, request: HttpRequest) -> list[RecommendationCard]:
    """All recommendations of the study, by device."""
    if not result.recommendations:
        return []
    files = StudyFiles.of(document_of(result.study))
    return [recommendation_card(result, one, request, files) for one in result.recommendations]


def recommendation_card(
    result: StudyResult,
    recommendation: Recommendation,
    request: HttpRequest,
    files: StudyFiles | None = None,
    *,
    with_answers: bool = False,
) -> RecommendationCard:
    """One recommendation; `with_answers` binds its form to what was posted."""
    url = study_url(recommendation, request)
    files = files or StudyFiles.of(document_of(result.study))
    facts = files.facts(recommendation.pk, study_url=url)
    lines = lines_of(facts)
    losses = losing_lines(lines, facts)
    needed = max((line.durability for line in losses), default=Durability.D0)
    answers = (request.POST, request.FILES) if with_answers else ()
    return RecommendationCard(
        recommendation=recommendation,
        needed=needed,
        losses=losses,
        costs=[cost for line in lines for cost in line.costs],
        my_cnf=export(facts, ExportRequest()).text if needed is Durability.D0 else None,
        form=ExportForm(*answers, needed=needed, pk=recommendation.pk),
        files=files,
        proportion=facts.proportion,
        price=_price(result, recommendation),
        model=facts.model,
        sized=[
            SizedLine(
                line.name, knob_text(line.name, line.in_model), knob_text(line.name, line.value)
            )
            for line in lines
            if line.in_model
        ],
    )


def _price(result: StudyResult, found: Recommendation) -> str:
    """Medians of the config beside those of the baseline; "" where either has none.

    Of a winner without some of its lines no ranking has any.
    """
    board = next(one for one in result.boards if one.key == board_key_of(found))
    lines = {row.candidate.pk: row.ranked for row in board.rows}
    ours, theirs = lines.get(found.candidate_id), lines.get(board.baseline.pk)
    if ours is None or theirs is None or ours is theirs or ours.p95_ms is None:
        return ""
    beside = f"with {board.baseline.name}"
    texts = [f"p95 {significant(ours.p95_ms)} ms, {beside} {significant(theirs.p95_ms)} ms"]
    if ours.server_path_length is not None:
        path, other = megacycles(ours.server_path_length), megacycles(theirs.server_path_length)
        texts.append(f"server path length {path} Mcycles per New-Order, {beside} {other}")
    return "; ".join(texts)


def study_url(recommendation: Recommendation, request: HttpRequest) -> str:
    """The address of the study's page, for the head of an exported file."""
    return request.build_absolute_uri(reverse("study-detail", args=[recommendation.study_id]))

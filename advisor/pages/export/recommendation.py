"""A recommendation as the pages show it: losses, my.cnf, and the form for other files."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest
from django.urls import reverse

from advisor.pages.export.forms import ExportForm
from tuning.catalogue.knob import Durability
from tuning.configs.price import KnobCost
from tuning.export.formats import ExportRequest, export
from tuning.export.lines import Line, lines_of, losing_lines
from tuning.recommendations import StudyFiles
from tuning.results.document import (
    Answer,
    Board,
    CandidateFacts,
    DeviceFacts,
    Recommendation,
    StudyDocument,
    WorkloadFacts,
)


@dataclass(frozen=True)
class RecommendationCard:
    """A recommendation with its board and its lines.

    needed: the class to acknowledge before any file is shown. my_cnf: None unless that is D0.
    """

    document: StudyDocument
    board: Board
    found: Recommendation
    lines: list[Line]
    losses: list[Line]
    my_cnf: str | None
    form: ExportForm
    files: StudyFiles

    @property
    def needed(self) -> Durability:
        return max((line.durability for line in self.losses), default=Durability.D0)

    @property
    def is_safe(self) -> bool:
        """Whether no acknowledgement is needed."""
        return self.needed is Durability.D0

    @property
    def device(self) -> DeviceFacts:
        return self.document.device[self.board.device_id]

    @property
    def workload(self) -> WorkloadFacts:
        return self.document.workload[self.board.workload_id]

    @property
    def candidate(self) -> CandidateFacts:
        return self.document.candidate[self.found.candidate_id]

    @property
    def whole(self) -> CandidateFacts | None:
        """The confirmed winner, if the candidate is that without some of its lines."""
        return self.document.candidate.get(self.found.whole_id or 0)

    @property
    def costs(self) -> list[KnobCost]:
        """The costs of the lines other than durability."""
        return [cost for line in self.lines for cost in line.costs]

    @property
    def answer(self) -> Answer:
        return self.document.answer[self.found.id]

    @property
    def baseline(self) -> CandidateFacts:
        return self.document.candidate[self.board.baseline_id]


def recommendation_cards(
    document: StudyDocument, request: HttpRequest
) -> list[RecommendationCard]:
    """Return all recommendations of the study, by device."""
    if not document.recommendations:
        return []
    files = StudyFiles.of(document)
    return [_card(files, *one, request) for one in document.recommendations]


def recommendation_card(
    document: StudyDocument, recommendation: int, request: HttpRequest, *, with_answers: bool
) -> RecommendationCard:
    """Return one recommendation; `with_answers` binds its form to what was posted."""
    [one] = [one for one in document.recommendations if one[1].id == recommendation]
    return _card(StudyFiles.of(document), *one, request, with_answers=with_answers)


def _card(
    files: StudyFiles,
    board: Board,
    found: Recommendation,
    request: HttpRequest,
    *,
    with_answers: bool = False,
) -> RecommendationCard:
    facts = files.facts(found.id, study_url=study_url(files.document, request))
    lines = lines_of(facts)
    losses = losing_lines(lines, facts)
    needed = max((line.durability for line in losses), default=Durability.D0)
    answers = (request.POST, request.FILES) if with_answers else ()
    my_cnf = export(facts, ExportRequest()).text if needed is Durability.D0 else None
    form = ExportForm(*answers, needed=needed, pk=found.id)
    return RecommendationCard(files.document, board, found, lines, losses, my_cnf, form, files)


def study_url(document: StudyDocument, request: HttpRequest) -> str:
    """Return the address of the study's page, for the head of an exported file."""
    return request.build_absolute_uri(reverse("study-detail", args=[document.study.id]))

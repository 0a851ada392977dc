"""A board of the document as the study page shows it: one of its three rankings, with notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlencode

from django.urls import reverse

from advisor.charts.runs import compared_candidates
from advisor.pages.study.board_choice import BoardChoice
from advisor.wording.formatting import few_names
from advisor.wording.lines import LineRow, changed_lines, line_rows
from benchmarks.counted import counted
from tuning.models import DurabilityClass, SlotPurpose
from tuning.results.document import (
    Board,
    BoardRow,
    CandidateFacts,
    Ranking,
    Standing,
    StudyDocument,
)
from tuning.results.sentences import ablation_sentences
from tuning.statistics.confirmation import loss_text
from tuning.statistics.data import Metric

# In a larger group the first names are listed and the others counted.
MAX_NAMES = 3
MAX_TEXT = 120
# Longer names are cut where the screen is narrow.
MAX_NAME = 36
#: By column: its label and unit.
COLUMN_TEXTS = {
    "name": ("Candidate", ""),
    "p95_ms": ("p95", "ms"),
    "p99_ms": ("p99", "ms"),
    "max_ms": ("max", "ms"),
    "server_path": ("Server path length", "Mcycles / transaction"),
    "outcome": ("Outcome", ""),
    "runs": ("Runs", ""),
}


@dataclass(frozen=True)
class RankingLine:
    """A candidate's line of a ranking.

    duplicates: candidates with the same effective values, which were not measured. tie: "first",
    "inner" or "last" in a group that shares its rank, else "". changes: (variable, value of the
    baseline, own value), "" where it is not set.
    """

    row: BoardRow
    standing: Standing
    candidate: CandidateFacts
    duplicates: list[CandidateFacts]
    notes: list[str]
    tie: str
    changes: list[tuple[str, str, str]]
    max_name: int = MAX_NAME

    @property
    def is_long(self) -> bool:
        return len(self.candidate.name) > self.max_name


@dataclass(frozen=True)
class Column:
    """A column of a ranking; query: what sorts by it. order: the value of `aria-sort`."""

    name: str
    label: str
    unit: str
    query: str
    order: str

    @property
    def is_words(self) -> bool:
        return self.name in ("name", "outcome")


@dataclass(frozen=True)
class BoardView:
    """A board by the chosen metric. title: what tells it from the study's other boards.

    shows_durability: whether its class is named; always below D0.
    """

    document: StudyDocument
    board: Board
    choice: BoardChoice
    title: str
    shows_durability: bool

    @property
    def key(self) -> str:
        return self.board.key

    @property
    def is_safe(self) -> bool:
        """Whether all candidates of the board are D0."""
        return self.board.durability == DurabilityClass.D0

    @property
    def ranking(self) -> Ranking:
        """The ranking by the chosen metric; for throughput the one behind the recommendation."""
        if self.choice.metric is Metric.THROUGHPUT:
            return self.board.advice
        return self.board.rankings[self.choice.metric]

    @property
    def baseline(self) -> str:
        return self.document.candidate[self.board.baseline_id].name

    @property
    def unit(self) -> str:
        """The unit of its throughputs."""
        return self.document.unit_on(self.board)

    @property
    def columns(self) -> list[Column]:
        """The head of the table; each column sorts by a link."""
        by = self.choice.words.column
        texts = {"rank": ("Rank", f"by {by}"), "change": (f"Change in {by}", "")}
        texts |= COLUMN_TEXTS | {"throughput": ("Throughput", f"median {self.unit}")}
        return [Column(name, *texts[name], *sort) for name, sort in self.choice.sorts.items()]

    @cached_property
    def lines(self) -> list[RankingLine]:
        """The lines that the filters leave, in the chosen order."""
        board = self.board
        rows = {row.candidate_id: row for row in board.rows}
        pairs = [(rows[one.candidate_id], one) for one in self._shown]
        pairs = self.choice.order.applied(pairs, self._name)
        # Lines that share a rank are bracketed where they stand together.
        by_rank = self.choice.order.is_by_rank
        ranks = [standing.rank if by_rank else None for _, standing in pairs]
        return [
            self._line(row, standing, _tie(ranks, at)) for at, (row, standing) in enumerate(pairs)
        ]

    @property
    def hidden(self) -> int:
        """How many candidates the filters hide."""
        return len(self.board.rows) - len(self.lines)

    @property
    def _shown(self) -> list[Standing]:
        standings = list(self.board.rankings[self.choice.metric].standings)
        if self.choice.p95_ms is None:
            return standings
        fitting = [row.candidate_id for row in self._fitting(self.choice.p95_ms)]
        known = {one.candidate_id: one for one in standings}
        return [known[pk] for pk in fitting]

    def _name(self, pair: tuple[BoardRow, Standing]) -> str:
        return self.document.candidate[pair[0].candidate_id].name

    def _line(self, row: BoardRow, standing: Standing, tie: str) -> RankingLine:
        document = self.document
        candidate = document.candidate[row.candidate_id]
        return RankingLine(
            row=row,
            standing=standing,
            candidate=candidate,
            duplicates=[one for one in document.candidates if one.merged_into_id == candidate.id],
            notes=self._notes(row, standing),
            tie=tie,
            changes=changed_lines(candidate, document.candidate[self.board.baseline_id]),
        )

    def _notes(self, row: BoardRow, standing: Standing) -> list[str]:
        """The notes below a name."""
        found = []
        if standing.tied_with:
            found.append(f"tied with {self._names(standing.tied_with, MAX_NAMES, 'others')}")
        if row.candidate_id in self._front:
            found.append("on the Pareto front")
        if row.left is not None:
            found.append(f"left the race after block {row.left.after_block}")
        if row.cut_short:
            too_slow = "cut short as too slow: an upper bound, not a result"
            found.append(f"{counted(row.cut_short, 'run')} {too_slow}")
        for count, what in (
            (0 if self._is_refused(row) else row.failures, "without a result"),
            (row.disturbed, "disturbed"),
            (row.warming, "still warming up"),
            (row.owing, "with growing write debt"),
        ):
            if count:
                found.append(f"{counted(count, 'run')} {what}")
        return found

    def _is_refused(self, row: BoardRow) -> bool:
        return bool(self.document.candidate[row.candidate_id].refusal)

    @cached_property
    def _front(self) -> Sequence[int]:
        """The Pareto front; nobody where it tells nothing, being one candidate or all."""
        ranked = sum(
            one.rank is not None for one in self.board.rankings[self.choice.metric].standings
        )
        return self.board.pareto if 1 < len(self.board.pareto) < ranked else ()

    @property
    def front_text(self) -> str:
        """Who is on the Pareto front; "" for nobody."""
        return self._names(self.board.pareto, MAX_NAMES + 1, "candidates")

    def _names(self, keys: Sequence[int], most: int, what: str) -> str:
        """The first names; their number if they would make a line as high as a screen."""
        names = [self.document.candidate[pk].name for pk in keys]
        text = few_names(names, most)
        return text if len(text) <= MAX_TEXT or len(names) == 1 else f"{len(names)} {what}"

    @property
    def confirmations(self) -> list[tuple[str, object]]:
        """The fresh pairs with the names of their winners."""
        there = self.board.confirmations
        return [(self.document.candidate[one.candidate_id].name, one) for one in there]

    @property
    def blocks_text(self) -> str:
        """How many blocks have begun; a race has more when others have left it."""
        begun, study = self.board.blocks_begun, self.document.study
        if study.searches:  # its race may have as many as the budget allows
            return f"{counted(begun, 'block')} of the race"
        blocks = {run.block for run in self.document.runs if run.purpose == SlotPurpose.BLOCK}
        return f"{begun} of {counted(max([study.blocks, *blocks]), 'block')}"

    @property
    def limits(self) -> list[tuple[str, str]]:
        """Return what kept each config from being faster, by its name, where it is known."""
        there = ((line.candidate.name, line.row.limit) for line in self.lines)
        return [(name, limit) for name, limit in there if limit]

    @property
    def disturbed(self) -> int:
        return sum(line.row.disturbed for line in self.lines)

    @property
    def has_path_lengths(self) -> bool:
        """Whether any candidate has one: without them there is no Pareto front."""
        return any(row.figures.server_path_length is not None for row in self.board.rows)

    @property
    def has_lines(self) -> bool:
        """Whether it was measured what any line of its winner contributes."""
        found = self.board.ablation
        return found is not None and any(one.estimate for one in found.effects)

    @property
    def whole(self) -> str:
        """The name of the winner that was tested line by line."""
        found = self.board.ablation
        return self.document.candidate[found.whole_id].name if found else ""

    @property
    def line_rows(self) -> list[LineRow]:
        """The contribution of each line of the winner."""
        found = self.board.ablation
        return line_rows(found, self.document.candidate[found.whole_id]) if found else []

    @property
    def ablation_sentences(self) -> list[str]:
        """Which lines were left out and why, and which were not tested."""
        found = self.board.ablation
        return list(ablation_sentences(self.document, found)) if found else []

    @property
    def margin(self) -> str:
        """The most that may be lost without the lines that are left out."""
        return loss_text(self.board.ablation.margin) if self.board.ablation else ""

    @property
    def charts_url(self) -> str:
        return charts_url(self.document, self.choice)

    @property
    def run_charts_url(self) -> str:
        return f"{reverse('board-charts', args=[self.document.study.id])}?board={self.key}"

    @property
    def compare_query(self) -> str:
        """The query of the page *Compare*: the baseline and the best others with a result."""
        board = self.board
        shown = compared_candidates(board)
        first = sorted(shown, key=lambda pk: pk != board.baseline_id)
        at = f"{board.device_id}-{board.workload_id}"
        return urlencode([("side", f"candidate-{pk}-{at}") for pk in first])

    def _fitting(self, p95_ms: float) -> list[BoardRow]:
        """The lines whose median p95 is within the limit, highest throughput first."""
        fitting = [
            row
            for row in self.board.rows
            if row.figures.p95_ms is not None and row.figures.p95_ms <= p95_ms
        ]
        return sorted(fitting, key=lambda row: -(row.figures.throughput or 0.0))

    @property
    def fitting(self) -> str:
        """The result of the filter; "" without one."""
        if self.choice.p95_ms is None:
            return ""
        limit, names = f"p95 ≤ {self.choice.p95_ms:g} ms", self.document.candidate
        found = self._fitting(self.choice.p95_ms)
        if found:
            best = found[0]
            return (
                f"Highest throughput with {limit}: {names[best.candidate_id].name}, "
                f"{best.figures.throughput:,.0f} {self.unit} at "
                f"{best.figures.p95_ms:.1f} ms (medians)."
            )
        known = [
            (row.figures.p95_ms, names[row.candidate_id].name)
            for row in self.board.rows
            if row.figures.p95_ms is not None
        ]
        if not known:
            return f"No candidate has a p95 yet to compare with {limit}."
        value, name = min(known)
        return f"No candidate has {limit}; the lowest is {name} with {value:.1f} ms."


def charts_url(document: StudyDocument, choice: BoardChoice) -> str:
    """Return the address of the charts of the study as the reader chose them."""
    query = f"?{choice.chart_query}" if choice.chart_query else ""
    return f"{reverse('study-charts', args=[document.study.id])}{query}"


def board_views(document: StudyDocument, choice: BoardChoice) -> list[BoardView]:
    """Return the boards; their titles contain only what differs between them."""
    workloads = {board.workload_id for board in document.boards}
    classes = {board.durability for board in document.boards}
    views = []
    for board in document.boards:
        device = document.device[board.device_id]
        words = [device.name] if board.device_id in document.named_devices else []
        if len(workloads) > 1:
            connections = document.workload[board.workload_id].connections
            words.append(counted(connections, "connection"))
        shows_class = len(classes) > 1 or board.durability != DurabilityClass.D0
        if shows_class:
            words.append(f"durability {board.durability}")
        title = "Ranking" + (f": {', '.join(words)}" if words else "")
        views.append(BoardView(document, board, choice, title, shows_class))
    return views


def verdicts_of(document: StudyDocument, views: Sequence[BoardView]) -> list[tuple[str, str]]:
    """(board's title, sentence): what the rows say so far, later what is recommended."""
    if document.study.is_finished:
        return [("", one.title) for one in document.answers]
    begun = [view for view in views if view.board.has_figures]
    return [(view.title, view.board.advice.verdict.sentence) for view in begun]


def _tie(ranks: Sequence[int | None], at: int) -> str:
    mine = ranks[at]
    above = at > 0 and ranks[at - 1] == mine
    below = at + 1 < len(ranks) and ranks[at + 1] == mine
    if mine is None or not (above or below):
        return ""
    return "inner" if above and below else "first" if below else "last"

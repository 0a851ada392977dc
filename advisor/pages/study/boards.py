"""A board as the study page shows it: one of its three rankings, with notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlencode

from advisor.pages.study.board_choice import BoardChoice
from advisor.wording.answers import answer_sentence
from advisor.wording.formatting import few_names
from advisor.wording.lines import LineRow, line_rows
from advisor.wording.spaces import knob_text
from advisor.wording.words import devices_to_name, names_beside_figures
from benchmarks.counted import counted
from benchmarks.models import RunState
from tuning.models import Candidate, DurabilityClass, Recommendation
from tuning.results.apart import TakenApart
from tuning.results.apart_texts import apart_sentences
from tuning.results.boards import Board, Row
from tuning.results.run_list import RunLine
from tuning.results.run_series import MAX_CONFIGS, shown_candidates
from tuning.results.study_result import StudyResult
from tuning.results.write_debt import debt_sentence, debtors_of
from tuning.statistics.ranking import Judgement, Metric, most_tpmP_within
from tuning.statistics.removal import loss_text

# In a larger group the first names are listed and the others counted.
MAX_NAMES = 3
MAX_TEXT = 120


@dataclass(frozen=True)
class BoardRow:
    """A line of a board and its duplicates, which were not measured.

    `tie` is "first", "inner" or "last" in a group that shares its rank, else "". `disturbed`
    counts its void runs, those measured again included; `warming` those whose throughput had a
    trend, `owing` those that put their flushing off. `changes` are the knobs in which its config
    differs from the baseline: (name, there, here), "" where it is not set.
    """

    row: Row
    duplicates: list[Candidate]
    tie: str
    is_on_front: bool
    disturbed: int
    warming: int
    owing: int
    changes: list[tuple[str, str, str]] = field(default_factory=list)

    @property
    def tied_with(self) -> str:
        names = self.row.ranked.tied_with
        text = few_names(names, MAX_NAMES)
        # Long names would make each line of a ranking as high as a screen.
        return text if len(text) <= MAX_TEXT or len(names) == 1 else f"{len(names)} others"


@dataclass(frozen=True)
class BoardSection:
    """A board with the name of its place in the page, by the metric that was chosen.

    `shows_durability` says whether its class is shown: always below D0. `is_said_above`: whether
    the answer on top of the page is its verdict. `left` is the number of candidates that the
    filter hides. `apart` is what taking its winner apart found so far. `head`
    and `table_rows` are its table (`ranking_table`).
    """

    key: str
    title: str
    board: Board
    choice: BoardChoice
    rows: list[BoardRow]
    shows_durability: bool
    is_said_above: bool = False
    left: int = 0
    apart: TakenApart | None = None
    head: str = ""
    table_rows: str = ""

    @property
    def line_rows(self) -> list[LineRow]:
        """What each line of the winner contributes."""
        return line_rows(self.apart) if self.apart else []

    @property
    def apart_sentences(self) -> list[str]:
        return apart_sentences(self.apart) if self.apart else []

    @property
    def margin(self) -> str:
        """What may be lost without lines that are left out."""
        return loss_text(self.apart.margin) if self.apart else ""

    @property
    def is_safe(self) -> bool:
        """Whether all candidates of the board are D0."""
        return self.board.durability == DurabilityClass.D0

    @property
    def compare_query(self) -> str:
        """What the page *Compare* is asked for: the baseline and the best others with a result."""
        names = shown_candidates(self.board, MAX_CONFIGS)
        baseline = self.board.baseline.name
        first = [baseline, *(name for name in names if name != baseline)]
        at = f"{self.board.device.pk}-{self.board.workload.pk}"
        return urlencode(
            [("side", f"candidate-{self.board.candidates[name].pk}-{at}") for name in first]
        )

    @property
    def judgement(self) -> Judgement:
        """By the chosen metric; for tpmP that of the recommendation, without failed candidates."""
        if self.choice.metric is Metric.TPMP:
            return self.board.for_advice
        return self.board.judgement_by(self.choice.metric)

    @property
    def blocks(self) -> int:
        """Blocks that have started."""
        return len({slot.block for slot in self.board.slots if slot.run.is_done})

    @property
    def disturbed(self) -> int:
        return sum(row.disturbed for row in self.rows)

    @property
    def debt(self) -> str:
        """Which runs put their flushing off; "" if none did."""
        return debt_sentence(debtors_of(self.board))

    @property
    def has_path_lengths(self) -> bool:
        """Whether any candidate has one: without them there is no Pareto front."""
        return any(line.server_path_length is not None for line in self.judgement.ranked)

    @property
    def has_lines(self) -> bool:
        """Whether it was measured what any line of its winner contributes."""
        return self.apart is not None and any(one.ratio is not None for one in self.apart.effects)

    @property
    def front_text(self) -> str:
        """Who is on the Pareto front; "" for nobody."""
        text = few_names(self.board.pareto, MAX_NAMES + 1)
        return text if len(text) <= MAX_TEXT else f"{len(self.board.pareto)} candidates"

    @property
    def fitting(self) -> str:
        """The result of the filter; "" without one."""
        if self.choice.p95_ms is None:
            return ""
        limit = f"p95 ≤ {self.choice.p95_ms:g} ms"
        lines = self.board.judgement.ranked
        found = most_tpmP_within(lines, self.choice.p95_ms)
        if found:
            best = found[0]
            return (
                f"Highest tpmP with {limit}: {best.candidate}, {best.tpmP:,.0f} tpmP at "
                f"{best.p95_ms:.1f} ms (medians)."
            )
        known = [(line.p95_ms, line.candidate) for line in lines if line.p95_ms is not None]
        if not known:
            return f"No candidate has a p95 yet to compare with {limit}."
        value, name = min(known)
        return f"No candidate has {limit}; the lowest is {name} with {value:.1f} ms."


def board_key(board: Board) -> str:
    return f"board-{board.device.pk}-{board.workload.pk}-{board.durability}"


def board_sections(result: StudyResult, choice: BoardChoice) -> list[BoardSection]:
    """The boards of one study; their titles contain only what differs between them."""
    named = devices_to_name(result.devices.values())
    workloads = {board.workload.pk for board in result.boards}
    classes = {board.durability for board in result.boards}
    disturbed = _disturbed(result.history)
    candidates = list(result.candidates.values())
    views = []
    for board in result.boards:
        words = [str(board.device)] if board.device.pk in named else []
        if len(workloads) > 1:
            words.append(counted(board.workload.connections, "connection"))
        shows_class = len(classes) > 1 or board.durability != DurabilityClass.D0
        if shows_class:
            words.append(f"durability {board.durability}")
        title = "Ranking" + (f": {', '.join(words)}" if words else "")
        rows = _rows(board, candidates, disturbed, choice)
        views.append(
            BoardSection(
                board_key(board),
                title,
                board,
                choice,
                rows,
                shows_class,
                left=len(board.candidates) - len(rows),
                apart=result.taken_apart(board.key),
            )
        )
    return views


def verdict_of_study(result: StudyResult, views: Sequence[BoardSection]) -> list[tuple[str, str]]:
    """(board's title, sentence): what the rows say so far, later what is recommended."""
    if result.study.is_finished:
        return [("", answer_of(one, result)) for one in result.recommendations]
    begun = [view for view in views if view.board.has_figures]
    return [(view.title, view.board.for_advice.verdict.sentence) for view in begun]


def answer_of(found: Recommendation, result: StudyResult) -> str:
    """In a sentence, with what tells it from the study's other answers."""
    names = names_beside_figures(result.devices.values())
    return answer_sentence(found, names.get(found.device_id, ""), _conditions(found, result))


def _conditions(found: Recommendation, result: StudyResult) -> str:
    """Connections and class, as far as the study has several."""
    words = []
    if len(result.workloads) > 1:
        words.append(counted(found.workload.connections, "connection"))
    if found.durability != DurabilityClass.D0:
        words.append(f"durability {found.durability}")
    return " and ".join(words)


def _disturbed(history: Iterable[RunLine]) -> Counter[tuple[int, int, int]]:
    """How many runs were, by the ids of candidate, device and workload."""
    return Counter(
        (line.slot.candidate_id, line.slot.device_id, line.slot.workload_id)
        for line in history
        if line.run.state == RunState.DISTURBED
    )


def _rows(
    board: Board,
    candidates: Sequence[Candidate],
    disturbed: Counter[tuple[int, int, int]],
    choice: BoardChoice,
) -> list[BoardRow]:
    # First: it asks for the rankings by all metrics, which take little longer than one.
    front = board.pareto
    rows = board.rows_by(choice.metric)
    # Said of all of them, or of one, it tells nothing.
    if not 1 < len(front) < sum(row.ranked.rank is not None for row in rows):
        front = ()
    if choice.p95_ms is not None:
        fitting = most_tpmP_within([row.ranked for row in rows], choice.p95_ms)
        by_name = {row.ranked.candidate: row for row in rows}
        rows = [by_name[line.candidate] for line in fitting]
    warming = Counter(
        slot.candidate_id
        for slot in board.slots
        if slot.run.state == RunState.OK and slot.run.still_warming
    )
    owing = {one.candidate.pk: one.marked for one in debtors_of(board)}
    rows = choice.order.applied(rows, lambda row: row.ranked)
    # Lines that share a rank are bracketed where they stand together.
    ranks = [row.ranked.rank if choice.order.is_by_rank else None for row in rows]
    return [
        BoardRow(
            row=row,
            duplicates=[one for one in candidates if one.merged_into_id == row.candidate.pk],
            tie=_tie(ranks, at),
            is_on_front=row.candidate.name in front,
            disturbed=disturbed[row.candidate.pk, board.device.pk, board.workload.pk],
            warming=warming[row.candidate.pk],
            owing=owing.get(row.candidate.pk, 0),
            changes=_changes(row.candidate, board.baseline),
        )
        for at, row in enumerate(rows)
    ]


def _changes(candidate: Candidate, baseline: Candidate) -> list[tuple[str, str, str]]:
    there, here = baseline.config.knobs, candidate.config.knobs
    names = sorted(name for name in {*there, *here} if there.get(name) != here.get(name))
    return [
        (name, knob_text(name, str(there.get(name, ""))), knob_text(name, str(here.get(name, ""))))
        for name in names
    ]


def _tie(ranks: Sequence[int | None], at: int) -> str:
    mine = ranks[at]
    above = at > 0 and ranks[at - 1] == mine
    below = at + 1 < len(ranks) and ranks[at + 1] == mine
    if mine is None or not (above or below):
        return ""
    return "inner" if above and below else "first" if below else "last"

"""How sure an answer is: a phrase for lists, one word with one reason for the answer itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from benchmarks.counted import counted, length_text
from tuning.results.document import Board, Debtor, Recommendation, RunFacts, StudyDocument
from tuning.statistics.confirmation import ConfirmationState
from tuning.statistics.verdict import VerdictKind

#: A shorter run ends before InnoDB has flushed pages and made checkpoints at its usual pace.
MIN_MEASURE_S = 60
# From this share of runs on, a trend is not chance.
_MANY_WARMING = 0.25

# How certain the config to use is, by the verdict.
ANSWERS: dict[str, str] = {
    VerdictKind.WINNER: "measurably best",
    VerdictKind.TIE: "tied for best",
    VerdictKind.NOT_CONFIRMED: "none is confirmed as better",
    VerdictKind.NO_DIFFERENCE: "no measurable difference",
    VerdictKind.BASELINE_BEST: "all others are worse",
    VerdictKind.NOTHING_FOUND: "the search found nothing better",
    VerdictKind.TIME_RAN_OUT: "no time was left for a race",
}
# Without a confirmed lead the baseline is recommended.
_CONFIRMED: dict[str, str] = {
    ConfirmationState.CONFIRMED: "{}, confirmed",
    ConfirmationState.WITHDRAWN: "none is confirmed as better",
    ConfirmationState.UNFINISHED: "too few fresh pairs to confirm one",
}
_LEADS = (VerdictKind.WINNER, VerdictKind.TIE)
_NOT_KNOWN = ("", VerdictKind.TIME_RAN_OUT, VerdictKind.NOTHING_TO_COMPARE)


class Confidence(NamedTuple):
    """word: confirmed, provisional, no difference or not known. reason: sentences.

    needed_s: how long runs would have to be for a dependable size of the gain; None if unknown.
    """

    word: str
    reason: str
    needed_s: float | None = None


def certainty_text(kind: str, confirmation: str, *, confirms: bool) -> str:
    """Return how certain an answer is, as "tied for best, confirmed"."""
    answer = ANSWERS.get(kind, "nothing to compare")
    if confirmation in _CONFIRMED:
        return _CONFIRMED[confirmation].format(answer)
    unconfirmed = kind in _LEADS and not confirms
    return f"{answer}, not confirmed" if unconfirmed else answer


def confidence_of(document: StudyDocument, board: Board, found: Recommendation) -> Confidence:
    """Return how sure the answer of a board is.

    Evidence that the gain shrinks in longer use makes it provisional. Short runs and much memory
    are said, but are no such evidence.
    """
    if found.candidate_id == board.baseline_id:
        said = certainty_text(found.kind, found.confirmation, confirms=document.study.confirms)
        is_open = found.confirmation == ConfirmationState.UNFINISHED
        word = "not known" if is_open or found.kind in _NOT_KNOWN else "no difference"
        word = "confirmed" if found.kind == VerdictKind.BASELINE_BEST else word
        return Confidence(word, f"{said[:1].upper()}{said[1:]}.")
    compared = {found.candidate_id, found.whole_id, board.baseline_id}
    runs = document.board_runs(board, "block", "confirmation")
    runs = tuple(run for run in runs if run.is_ok and run.candidate_id in compared)
    debtor = _debtor(board, found)
    doubts = list(_doubts(runs, debtor))
    caveats = "; ".join([*doubts, *_limits(document, board, runs)])
    is_confirmed = found.confirmation == ConfirmationState.CONFIRMED
    better = "yes, confirmed" if is_confirmed else "not confirmed"
    baseline = document.candidate[board.baseline_id].name
    reason = f"Better than {baseline}: {better} in fresh pairs."
    reason += f" Size of the gain: {caveats}." if caveats else ""
    word = "confirmed" if is_confirmed and not doubts else "provisional"
    return Confidence(word, reason, debtor.seconds_to_settle if debtor else None)


def _debtor(board: Board, found: Recommendation) -> Debtor | None:
    """Return the debt of the recommended config, unless its longest runs were long enough."""
    debtors = board.debtors
    if found.whole_id is not None:  # measured in rounds of its own
        reduced = board.ablation.reduced if board.ablation else None
        debtors = (reduced.debtor,) if reduced and reduced.debtor else ()
    owing = (one for one in debtors if one.candidate_id == found.candidate_id)
    return next((one for one in owing if not one.is_settled), None)


def _doubts(runs: Sequence[RunFacts], debtor: Debtor | None) -> Iterator[str]:
    """Yield what was seen in these runs that changes the gain in longer use."""
    if debtor is not None:
        needed = debtor.seconds_to_settle
        tell = f" (runs of about {length_text(needed)} would show it)" if needed else ""
        yield f"disk writes were postponed until after the runs{tell}"
    warming = sum(run.still_warming for run in runs)
    if warming > _MANY_WARMING * len(runs):
        yield f"{warming} of {counted(len(runs), 'run')} had not warmed up"


def _limits(document: StudyDocument, board: Board, runs: Sequence[RunFacts]) -> Iterator[str]:
    """Yield how the runs differ from long use of a real server."""
    if 0 < (longest := max((run.measure_s for run in runs), default=0)) < MIN_MEASURE_S:
        yield f"runs of {longest} s are short"
    limit = document.device[board.device_id].memory_limit_bytes
    memory = document.study.memory_bytes if limit is None else limit
    data = document.workload[board.workload_id].data_bytes
    times = (memory or 0) / data if data else 0.0
    if document.study.scale_model is None and times >= 1:
        yield f"memory was {times:,.0f} times the data" if times >= 2 else "all data fit in memory"

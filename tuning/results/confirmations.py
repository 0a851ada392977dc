"""How far the confirmation of a board's winner is, and what it says."""

from __future__ import annotations

from dataclasses import dataclass

from tuning.models import Candidate
from tuning.results.boards import Board
from tuning.statistics.confirmation import Confirmation, confirm


@dataclass(frozen=True)
class Confirming:
    """The fresh pairs of one winner: `done` of `planned` are measured.

    `found` is None until all of them are: who looks earlier sees more winners than there are.
    """

    candidate: Candidate
    done: int
    planned: int
    found: Confirmation | None


def confirmations_of(board: Board) -> list[Confirming]:
    """Of every candidate that was the winner once, in the order in which they were measured.

    An extended study may have several; the recommendation goes by the winner's of today.
    """
    slots = sorted(board.confirmations, key=lambda slot: slot.order)
    names = dict.fromkeys(s.candidate.name for s in slots if not s.candidate.is_baseline)
    return [_confirming(board, board.candidates[name]) for name in names]


def judge_pairs(board: Board, candidate: Candidate) -> Confirmation:
    """What the fresh pairs of that candidate and the baseline say, by the noise of the blocks."""
    return confirm(
        [(pair.winner, pair.baseline) for pair in board.pairs_of(candidate)],
        candidate.name,
        board.baseline.name,
        run_noise=board.for_advice.analysis.run_noise,
    )


def _confirming(board: Board, candidate: Candidate) -> Confirming:
    pairs = board.pairs_of(candidate)
    done = sum(pair.is_finished for pair in pairs)
    found = judge_pairs(board, candidate) if done == len(pairs) else None
    return Confirming(candidate, done, len(pairs), found)

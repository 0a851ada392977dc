"""Turns a finished study's boards into one recommendation each."""

from __future__ import annotations

from dataclasses import dataclass

from tuning.errors import TuningError
from tuning.models import Candidate, Recommendation, Study
from tuning.results.boards import Board, boards
from tuning.results.confirmations import judge_pairs
from tuning.results.data_quality import baseline_is_disturbed, trust_of
from tuning.statistics.confirmation import Confirmation, ConfirmationState
from tuning.statistics.ranking import Interval

UNCONFIRMED = "Its lead was not measured afresh, so it is likely too high."


class NothingToRecommend(TuningError):
    """The study has no figures to compare."""


def store_recommendations(study: Study) -> None:
    """Store the recommendation of every board that has a figure of the baseline.

    Raises NothingToRecommend when none has: then no candidate can be said to be better or worse.
    """
    found = boards(study)
    judged = [board for board in found if _has_baseline(board)]
    if not judged:
        device = found[0].device
        if disturbed := baseline_is_disturbed(study, device):
            raise NothingToRecommend("disturbed", disturbed)
        raise NothingToRecommend(
            "no_baseline",
            f"the baseline has no successful run on {device}, so nothing can be compared"
            f"{_last_failure(found[0])}",
        )
    trust = trust_of(study).sentences()
    for board in judged:
        _store(study, board, trust)


@dataclass(frozen=True)
class _Advice:
    """The config to use and the figures that speak for it."""

    candidate: Candidate
    ratio: float
    interval: Interval | None
    selected_ratio: float | None
    confirmation: Confirmation | None


def _store(study: Study, board: Board, trust: str) -> None:
    judgement = board.for_advice
    advice = _advise(study, board)
    sentences = [judgement.verdict.sentence]
    if advice.confirmation is not None:
        sentences.append(advice.confirmation.sentence)
    elif advice.candidate != board.baseline:
        sentences.append(UNCONFIRMED)
    if board.failed:
        names = ", ".join(board.failed)
        sentences.append(f"Not considered, because runs of it failed: {names}.")
    if trust:
        sentences.append(trust)
    Recommendation.objects.update_or_create(
        study=study,
        device=board.device,
        workload=board.workload,
        durability=board.durability,
        defaults={
            "candidate": advice.candidate,
            "kind": judgement.verdict.kind,
            "ratio_to_baseline": advice.ratio,
            "low": advice.interval.low if advice.interval else None,
            "high": advice.interval.high if advice.interval else None,
            "selected_ratio": advice.selected_ratio,
            "noise_floor": judgement.analysis.floor,
            "confirmation": advice.confirmation.state if advice.confirmation else "",
            "verdict": " ".join(sentences),
        },
    )


def _advise(study: Study, board: Board) -> _Advice:
    """The winner, when fresh pairs confirm it or the study wants none; else the baseline."""
    analysis = board.for_advice.analysis
    keep = _Advice(board.baseline, 1.0, None, None, None)
    if analysis.winner is None:
        return keep
    winner, standing = board.candidates[analysis.winner], analysis.standing(analysis.winner)
    if standing.ratio is None:
        return keep
    if not study.confirms:
        return _Advice(winner, standing.ratio, standing.interval, standing.ratio, None)
    confirmation = judge_pairs(board, winner)
    if confirmation.state is ConfirmationState.CONFIRMED and confirmation.ratio is not None:
        return _Advice(
            winner, confirmation.ratio, confirmation.interval, standing.ratio, confirmation
        )
    return _Advice(board.baseline, 1.0, None, standing.ratio, confirmation)


def _last_failure(board: Board) -> str:
    """What came of the baseline's last run there."""
    runs = [slot.run for slot in board.slots if slot.candidate == board.baseline]
    reasons = [run.reason for run in runs if run.is_finished and run.reason]
    return f": {reasons[-1]}" if reasons else ""


def _has_baseline(board: Board) -> bool:
    return any(run.candidate == board.baseline.name and run.counts for run in board.observations)

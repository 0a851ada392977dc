"""Turns a finished study's boards into one recommendation per device and durability class."""

from __future__ import annotations

from collections import defaultdict
from statistics import geometric_mean

from benchmarks.models import Device, RunState
from tuning.errors import TuningError
from tuning.models import Candidate, DurabilityClass, Recommendation, Study
from tuning.services.results import Board, Row, boards
from tuning.services.trust import baseline_is_disturbed, trust_of

FAULTS_OF_A_CONFIG = frozenset(
    {
        RunState.INVALID_CONFIG,
        RunState.NO_START,
        RunState.CRASHED,
        RunState.OUT_OF_MEMORY,
        RunState.DISK_FULL,
        RunState.TIMED_OUT,
        RunState.ZERO_WORK,
        RunState.DRIVER_FAILED,
    }
)


class NothingToRecommend(TuningError):
    """The study has no figures to compare."""


def store_recommendations(study: Study) -> None:
    """Store the recommendations of every device of the study.

    Raises NothingToRecommend when a device has no baseline figure to compare with: then no
    candidate can be said to be better or worse.
    """
    grouped: dict[tuple[Device, DurabilityClass], list[Board]] = defaultdict(list)
    for board in boards(study):
        grouped[board.device, board.durability].append(board)
    for (device, durability), its_boards in grouped.items():
        _store(study, device, durability, its_boards)


def _store(
    study: Study, device: Device, durability: DurabilityClass, its_boards: list[Board]
) -> None:
    ratios = _ratios(its_boards)
    baseline = next(c for c in ratios if c.is_baseline) if _has_baseline(ratios) else None
    if baseline is None:
        if disturbed := baseline_is_disturbed(study, device):
            raise NothingToRecommend("disturbed", disturbed)
        raise NothingToRecommend(
            "no_baseline",
            f"the baseline has no successful run on {device}, so nothing can be compared",
        )
    # max() keeps the first of equals: the baseline comes first, "change nothing" wins a draw.
    winner = max(sorted(ratios, key=lambda c: not c.is_baseline), key=lambda c: ratios[c])
    rows = [_row_of(board, winner) for board in its_boards]
    verdict = _verdict(winner, baseline, ratios, rows)
    if failed := _failed(its_boards):
        names = ", ".join(candidate.name for candidate in failed)
        verdict += f" Not considered, because runs of it failed: {names}."
    if doubts := trust_of(study).sentences():
        verdict += f" {doubts}"
    Recommendation.objects.update_or_create(
        study=study,
        device=device,
        durability=durability,
        defaults={
            "candidate": winner,
            "ratio_to_baseline": ratios[winner],
            "verdict": verdict,
        },
    )


def _ratios(its_boards: list[Board]) -> dict[Candidate, float]:
    """Geometric mean of a candidate's ratio over the boards, for those that have them all.

    A candidate whose server or workload failed even once is no advice to give, however fast its
    other runs were.
    """
    failed = _failed(its_boards)
    found: dict[Candidate, list[float]] = defaultdict(list)
    for board in its_boards:
        for row in board.rows:
            if row.candidate not in failed and row.ranked.ratio_to_baseline is not None:
                found[row.candidate].append(row.ranked.ratio_to_baseline)
    return {
        candidate: geometric_mean(ratios)
        for candidate, ratios in found.items()
        if len(ratios) == len(its_boards)
    }


def _failed(its_boards: list[Board]) -> dict[Candidate, None]:
    """The candidates, without the baseline, that have a run which their config may have broken."""
    return {
        slot.candidate: None
        for board in its_boards
        for slot in board.slots
        if slot.run.state in FAULTS_OF_A_CONFIG and not slot.candidate.is_baseline
    }


def _has_baseline(ratios: dict[Candidate, float]) -> bool:
    return any(candidate.is_baseline for candidate in ratios)


def _row_of(board: Board, candidate: Candidate) -> Row:
    return next(row for row in board.rows if row.candidate == candidate)


def _verdict(
    winner: Candidate, baseline: Candidate, ratios: dict[Candidate, float], rows: list[Row]
) -> str:
    if len(ratios) == 1:
        return f"Nothing could be compared with {baseline.name}: no other candidate has a figure."
    blocks = min(row.ranked.blocks for row in rows)
    caution = (
        f"median of {blocks} block{'s' if blocks != 1 else ''}; no interval is computed yet, "
        "a difference of a few percent may be noise"
    )
    if winner == baseline:
        return f"No candidate was faster than {baseline.name}: keep it ({caution})."
    gain = (ratios[winner] - 1) * 100
    return (
        f"{winner.name} completed {gain:.1f} % more New-Orders per minute than "
        f"{baseline.name} on this device ({caution})."
    )

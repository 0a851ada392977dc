"""A study of several devices at a glance: which config on which one, and what a faster one brings.

The devices are not measured in common blocks, so that between them there is a ratio with the least
and the most that any two runs give, and no interval.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import inf

from benchmarks.models import Device, RunState, Workload
from tuning.models import DurabilityClass, Recommendation
from tuning.ranking import Ranked
from tuning.ratios import Ratio, Spread, ratio, spread
from tuning.services.results import Board
from tuning.statistics.confirmation import ConfirmationState
from tuning.statistics.verdict import VerdictKind

_ANSWERS = {
    VerdictKind.WINNER: "measurably best",
    VerdictKind.TIE: "best of a tie",
    VerdictKind.NO_DIFFERENCE: "no measurable difference",
    VerdictKind.BASELINE_BEST: "the others are worse",
    VerdictKind.NOTHING_TO_COMPARE: "not known yet",
}


# Without a confirmed lead it is the baseline that is recommended.
_CONFIRMED = {
    ConfirmationState.CONFIRMED: "{}, confirmed",
    ConfirmationState.WITHDRAWN: "another's lead was not confirmed",
    ConfirmationState.UNFINISHED: "another's lead could not be confirmed",
}


@dataclass(frozen=True)
class DeviceRow:
    """A device's answer. `line` is that of the config to use, `times` what it completes compared
    with the slowest device's, None for that one itself and without figures.
    """

    device: Device
    board: Board
    answer: str
    line: Ranked
    times: Ratio | None
    is_slowest: bool


@dataclass(frozen=True)
class DeviceMatrix:
    """The devices under one workload in one durability class, slowest first."""

    workload: Workload
    durability: DurabilityClass
    rows: list[DeviceRow]


def device_matrices(
    found: Iterable[Board], recommendations: Iterable[Recommendation]
) -> list[DeviceMatrix]:
    """One for each workload and class that several devices were measured under."""
    advised = {(one.device_id, one.workload_id, one.durability): one for one in recommendations}

    def together(board: Board) -> tuple[int, int, str]:
        return board.workload.connections, board.workload.pk, board.durability

    matrices = []
    for _, there in groupby(sorted(found, key=together), key=together):
        boards = list(there)
        if len(boards) > 1:
            rows = _rows(boards, advised)
            matrices.append(DeviceMatrix(boards[0].workload, boards[0].durability, rows))
    return matrices


def _rows(
    boards: Sequence[Board], advised: dict[tuple[int, int, str], Recommendation]
) -> list[DeviceRow]:
    answers = []
    for board in boards:
        there = board.device.pk, board.workload.pk, board.durability
        name, answer = _answer(board, advised.get(there))
        answers.append((board, name, answer, _throughput(board, name)))
    answers.sort(key=lambda one: one[3].median if one[3] else inf)
    slowest = answers[0][3]
    return [
        DeviceRow(
            device=board.device,
            board=board,
            answer=answer,
            line=next(line for line in board.judgement.ranked if line.candidate == name),
            times=ratio(slowest, runs) if place else None,
            is_slowest=place == 0 and runs is not None,
        )
        for place, (board, name, answer, runs) in enumerate(answers)
    ]


def _answer(board: Board, advice: Recommendation | None) -> tuple[str, str]:
    """The config to use and how sure that is; as it stands now while there is no advice yet."""
    verdict = board.for_advice.verdict
    if advice is None:
        return verdict.candidate, _ANSWERS[verdict.kind]
    answer = _ANSWERS[VerdictKind(advice.kind)]
    if advice.confirmation:
        answer = _CONFIRMED[ConfirmationState(advice.confirmation)].format(answer)
    return advice.candidate.name, answer


def _throughput(board: Board, name: str) -> Spread | None:
    return spread(
        slot.run.tpmP
        for slot in board.slots
        if slot.candidate.name == name and slot.run.state == RunState.OK
    )

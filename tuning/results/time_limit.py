"""What a study with an end did not measure, because its minutes were used up."""

from __future__ import annotations

from django.conf import settings

from benchmarks.counted import WERE, counted
from benchmarks.models import RunState
from tuning.models import Study
from tuning.results.boards import Board
from tuning.results.slot_rows import SlotRow
from tuning.strategy.racing import FIRST_DECISION


def time_sentence(study: Study, board: Board) -> str:
    """For the verdict: what of a board was left out for lack of time; "" if nothing was.

    A study with a budget or an extension has as many blocks as fit.
    """
    if not study.has_end or study.concluded_at is not None:
        return ""
    begun = len({slot.block for slot in board.slots})
    parts = []
    if begun < study.blocks and not _is_decided(study, board, begun):
        parts.append(f"{begun} of {counted(study.blocks, 'block')} {WERE[begun != 1]} measured")
    if void := sum(_could_be_measured_again(slot) for slot in _ranked(board)):
        parts.append(f"{counted(void, 'disturbed run', WERE)} not measured again")
    if not parts:
        return ""
    minutes = counted(study.minutes or 0, "minute")
    return (
        f"Its {minutes} did not suffice for all: {' and '.join(parts)}. "
        "Extend the study to measure more."
    )


def _is_decided(study: Study, board: Board, blocks: int) -> bool:
    """Whether its race ended by itself: one candidate is left, or none."""
    left = len(board.candidates) - 1 - len(board.eliminations)
    return left == 0 or (study.races and left == 1 and blocks >= FIRST_DECISION)


def _ranked(board: Board) -> list[SlotRow]:
    return [*board.slots, *board.pair_slots]


def _could_be_measured_again(slot: SlotRow) -> bool:
    """Whether a disturbed run was not measured as often as it may be."""
    if slot.run.state != RunState.DISTURBED:
        return False
    times = sum(run.state == RunState.DISTURBED for run in (slot.run, *slot.earlier))
    return times <= settings.DISTURBED_RUN_RETRIES

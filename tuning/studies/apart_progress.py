"""What taking a winner apart measures now, in words for a progress bar."""

from __future__ import annotations

from collections.abc import Sequence

from tuning.models import SlotPurpose
from tuning.results.slot_rows import SlotRow


def apart_text(current: SlotRow, there: Sequence[SlotRow]) -> str:
    """As `taking the winner apart: advisor without redo log (3 of 7), block 2`.

    `there` are the slots of the place. What is numbered are the configs of the block, in the
    order in which they run.
    """
    same = [slot for slot in there if slot.purpose == current.purpose]
    blocks = sorted({slot.block for slot in same})
    number = blocks.index(current.block) + 1
    if current.purpose == SlotPurpose.REDUCED:
        return f"measuring the reduced config, round {number} of {len(blocks)}: {current.name}"
    in_block = [slot.order for slot in same if slot.block == current.block]
    position = f"{in_block.index(current.order) + 1} of {len(in_block)}"
    again = " (replicate)" if current.replicate else ""
    return f"taking the winner apart: {current.name}{again} ({position}), block {number}"

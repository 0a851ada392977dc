"""The order of runs: randomised blocks, pairs that confirm a winner, rounds of its variants."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from tuning.strategy.protocol import PlannedRun, Purpose


def block_order(
    candidates: Sequence[str], baseline: str, block: int, seed: int
) -> tuple[PlannedRun, ...]:
    """The runs of one block in random order, the baseline twice (A/A).

    Each candidate runs once per block, so slow changes on the host (heat, a device filling up,
    neighbours) affect all of them alike and cancel out within the block.

    The order depends on the seed, the number of the block and its candidates, not on earlier
    blocks: a study that races or is extended orders its next block once it is known which
    candidates remain.
    """
    runs = [PlannedRun(name, block) for name in candidates]
    runs.append(PlannedRun(baseline, block, replicate=1))
    return tuple(random.Random(f"{seed}/{block}").sample(runs, len(runs)))


def screening_order(
    candidates: Sequence[str], baseline: str, block: int, seed: int
) -> tuple[PlannedRun, ...]:
    """One run of each candidate and of the baseline for a search, in random order.

    The baseline runs once: in every few runs it shows how the host drifts.
    """
    names = [baseline, *candidates]
    order = random.Random(f"{seed}/{block}").sample(names, len(names))
    return tuple(PlannedRun(name, block, purpose=Purpose.SEARCH) for name in order)


def confirmation_pairs(
    candidate: str, baseline: str, pairs: int, first_block: int, seed: int, measure_s: int = 0
) -> tuple[PlannedRun, ...]:
    """Pairs of fresh runs, each in the reverse order of the one before; the first is random.

    Every pair is a block of its own; the first one has the number `first_block`. `measure_s` as in
    PlannedRun.
    """
    names = (candidate, baseline)
    first = random.Random(f"{seed}/confirmation").randrange(2)
    return tuple(
        PlannedRun(name, first_block + number, purpose=Purpose.CONFIRMATION, measure_s=measure_s)
        for number in range(pairs)
        for name in (names if (first + number) % 2 == 0 else names[::-1])
    )


def ablation_order(
    variants: Sequence[str], whole: str, block: int, seed: int
) -> tuple[PlannedRun, ...]:
    """A block of a winner, twice, and of the same without some of its lines, in random order."""
    order = block_order([whole, *variants], whole, block, seed)
    return tuple(replace(run, purpose=Purpose.ABLATION) for run in order)


def reduced_rounds(
    names: Sequence[str], rounds: int, first_block: int, seed: int, measure_s: int = 0
) -> tuple[PlannedRun, ...]:
    """Rounds of the reduced config, the winner and the baseline, each a block in random order.

    `measure_s` as in PlannedRun.
    """
    return tuple(
        PlannedRun(name, block, purpose=Purpose.REDUCED, measure_s=measure_s)
        for block in range(first_block, first_block + rounds)
        for name in random.Random(f"{seed}/{block}").sample(names, len(names))
    )


def gate_pair(
    candidate: str, baseline: str, block: int, seed: int
) -> tuple[PlannedRun, PlannedRun]:
    """A pair of a gate, which is the block of its number; the first one has the number 1.

    Of each two pairs one has the reverse order of the other, and chance says which: neither side
    has the first place more often. A gate may end after a few pairs, of which independent draws
    would give one side most of the first places, and with them whatever a host does to the first.
    """
    number, is_second = divmod(block - 1, 2)
    names = random.Random(f"{seed}/{number}").sample([candidate, baseline], 2)
    first, second = (
        PlannedRun(name, block, purpose=Purpose.GATE)
        for name in (reversed(names) if is_second else names)
    )
    return first, second

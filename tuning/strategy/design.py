"""The order of runs: randomised blocks, and the pairs that confirm a winner."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple


class Place(NamedTuple):
    """A run in a block: whose it is, and whether it is the baseline's second one (twin 1)."""

    candidate: str
    twin: int = 0


def block_order(candidates: Sequence[str], baseline: str, block: int, seed: int) -> list[Place]:
    """The runs of one block in random order, the baseline twice (A/A).

    Each candidate runs once per block, so what changes slowly on the host (heat, a filling
    device, neighbours) meets all of them alike and cancels out within the block.

    Depends on the seed, the block's number and who runs in it, not on the blocks before: a study
    that races or is extended draws its next block when it knows who is left.
    """
    if baseline not in candidates or len(candidates) < 2 or len(set(candidates)) < len(candidates):
        raise ValueError("a block needs the baseline and another candidate, each named once")
    places = [*map(Place, candidates), Place(baseline, 1)]
    return random.Random(f"{seed}/{block}").sample(places, len(places))


def confirmation_pairs(
    candidate: str, baseline: str, pairs: int, seed: int
) -> list[tuple[Place, Place]]:
    """Pairs of fresh runs, each in the reverse order of the one before; chance starts one."""
    if pairs < 1 or candidate == baseline:
        raise ValueError("a confirmation needs a pair of two candidates")
    pair = (Place(candidate), Place(baseline))
    first = random.Random(f"{seed}/confirmation").randrange(2)
    return [pair if (first + number) % 2 == 0 else pair[::-1] for number in range(pairs)]

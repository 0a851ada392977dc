"""The order of runs: randomised blocks."""

from __future__ import annotations

import random


def randomised_blocks(n_candidates: int, blocks: int, seed: int) -> list[list[int]]:
    """Per block an order of all candidates (places from 0); the same seed gives the same order.

    Each candidate runs once per block, so what changes slowly on the host (heat, a filling
    device, neighbours) meets all of them alike and cancels out within the block.
    """
    if n_candidates < 1 or blocks < 1:
        raise ValueError("a design needs at least one candidate and one block")
    source = random.Random(seed)
    return [source.sample(range(n_candidates), n_candidates) for _ in range(blocks)]

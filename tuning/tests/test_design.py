"""Blocks hold each candidate once, in an order that only the seed decides."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuning.design import Place, block_order, confirmation_pairs, randomised_blocks


@given(st.integers(1, 30), st.integers(1, 20), st.integers())
def test_each_block_holds_each_candidate_once(candidates: int, blocks: int, seed: int) -> None:
    order = randomised_blocks(candidates, blocks, seed)
    assert len(order) == blocks
    assert all(sorted(block) == list(range(candidates)) for block in order)


def test_the_seed_decides_the_order() -> None:
    assert randomised_blocks(5, 3, seed=7) == randomised_blocks(5, 3, seed=7)
    orders = {tuple(map(tuple, randomised_blocks(5, 3, seed))) for seed in range(20)}
    assert len(orders) > 15


def test_no_place_in_the_block_is_a_candidates_own() -> None:
    blocks = randomised_blocks(4, 4000, seed=1)
    for candidate in range(4):
        first = sum(block[0] == candidate for block in blocks)
        assert 900 < first < 1100


@pytest.mark.parametrize(("candidates", "blocks"), [(0, 3), (3, 0)])
def test_an_empty_design_is_refused(candidates: int, blocks: int) -> None:
    with pytest.raises(ValueError, match="at least one"):
        randomised_blocks(candidates, blocks, seed=1)


def test_a_block_runs_the_baseline_twice_and_each_other_once() -> None:
    order = block_order(["base", "a", "b"], "base", block=4, seed=7)
    assert sorted(order) == [Place("a"), Place("b"), Place("base"), Place("base", 1)]
    assert order == block_order(["base", "a", "b"], "base", block=4, seed=7)
    orders = {tuple(block_order(["base", "a", "b"], "base", n, seed=7)) for n in range(200)}
    assert len(orders) == 24


@pytest.mark.parametrize("names", [["a", "b"], ["base"], ["base", "a", "a"]])
def test_a_block_without_baseline_or_rival_is_refused(names: list[str]) -> None:
    with pytest.raises(ValueError, match="a block needs"):
        block_order(names, "base", 1, 1)


def test_confirmation_pairs_alternate() -> None:
    starts = set()
    for seed in range(20):
        pairs = confirmation_pairs("fast", "base", 5, seed)
        assert all(sorted(pair) == [Place("base"), Place("fast")] for pair in pairs)
        assert all(a[0] != b[0] for a, b in pairwise(pairs))
        starts.add(pairs[0][0])
    assert len(starts) == 2
    with pytest.raises(ValueError, match="needs a pair"):
        confirmation_pairs("base", "base", 5, 1)

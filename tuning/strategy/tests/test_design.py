"""Blocks hold each candidate once, in an order that only the seed decides."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tuning.strategy.design import Place, block_order, confirmation_pairs


def test_no_place_in_the_block_is_a_candidates_own() -> None:
    names = ["base", "a", "b", "c"]
    blocks = [block_order(names, "base", number, seed=1) for number in range(5000)]
    for name in names[1:]:
        first = sum(block[0].candidate == name for block in blocks)
        assert 900 < first < 1100


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

"""Blocks hold each candidate once, in an order that only the seed decides."""

from __future__ import annotations

from itertools import pairwise

from tuning.strategy.design import block_order, confirmation_pairs, gate_pair
from tuning.strategy.protocol import Purpose


def test_no_place_in_the_block_is_a_candidates_own() -> None:
    names = ["base", "a", "b", "c"]
    blocks = [block_order(names, "base", number, seed=1) for number in range(5000)]
    for name in names[1:]:
        first = sum(block[0].candidate == name for block in blocks)
        assert 900 < first < 1100


def test_a_block_runs_the_baseline_twice_and_each_other_once() -> None:
    order = block_order(["base", "a", "b"], "base", block=4, seed=7)
    assert {run.block for run in order} == {4}
    assert sorted((run.candidate, run.replicate) for run in order) == [
        ("a", 0),
        ("b", 0),
        ("base", 0),
        ("base", 1),
    ]
    assert order == block_order(["base", "a", "b"], "base", block=4, seed=7)
    orders = {
        tuple(
            (run.candidate, run.replicate)
            for run in block_order(["base", "a", "b"], "base", n, seed=7)
        )
        for n in range(200)
    }
    assert len(orders) == 24


def test_confirmation_pairs_alternate() -> None:
    starts = set()
    for seed in range(20):
        runs = confirmation_pairs("fast", "base", 5, 8, seed)
        assert {run.purpose for run in runs} == {Purpose.CONFIRMATION}
        assert [run.block for run in runs] == [block for block in range(8, 13) for _ in range(2)]
        pairs = [[run.candidate for run in runs[at : at + 2]] for at in range(0, 10, 2)]
        assert all(sorted(pair) == ["base", "fast"] for pair in pairs)
        assert all(a[0] != b[0] for a, b in pairwise(pairs))
        starts.add(runs[0].candidate)
    assert len(starts) == 2


def test_neither_side_of_a_gate_is_first_more_often() -> None:
    starts = []
    for seed in range(200):
        pairs = [gate_pair("new", "base", block, seed) for block in range(1, 9)]
        assert {run.purpose for pair in pairs for run in pair} == {Purpose.GATE}
        assert [{run.block for run in pair} for pair in pairs] == [{n} for n in range(1, 9)]
        assert all(sorted(run.candidate for run in pair) == ["base", "new"] for pair in pairs)
        firsts = [pair[0].candidate for pair in pairs]
        # However early it ends: one more at most after an odd number of pairs.
        assert all(a != b for a, b in zip(firsts[::2], firsts[1::2], strict=True))
        starts += firsts[::2]
    # 800 draws: a fair one is outside of this once in ten thousand times.
    assert 345 < starts.count("new") < 455
    assert len({tuple(starts[at : at + 4]) for at in range(0, 800, 4)}) == 16

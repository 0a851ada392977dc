"""What docs/explanation/statistics.md promises of an ablation, on few simulated studies."""

from __future__ import annotations

from bench.statistics.ablation import GAINS, MATTERS, ablate


def test_lines_that_matter_are_kept_and_others_are_dropped_if_time_suffices() -> None:
    found = [ablate(0.01, 100, seed) for seed in range(6)]
    important = {line for line, gain in GAINS.items() if gain >= MATTERS}
    assert not any(one.left_out & important for one in found)
    useless = {line for line, gain in GAINS.items() if gain == 0}
    assert sum(useless <= one.left_out for one in found) >= 5
    assert all(one.runs <= 100 for one in found)


def test_with_little_time_what_is_undecided_is_kept() -> None:
    found = [ablate(0.05, 40, seed) for seed in range(6)]
    assert not any(one.left_out for one in found)
    assert all(one.runs <= 40 for one in found)

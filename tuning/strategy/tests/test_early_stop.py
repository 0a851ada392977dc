"""A too_slow run is known by its first seconds; a merely slower or bumpy one is not."""

from __future__ import annotations

import numpy as np
import pytest

from tuning.strategy.early_stop import MIN_SECONDS, too_slow

BASELINE = [[100, 96, 104, 99, 101, 100, 98, 103, 97, 102, 100, 99]] * 2


def test_a_quarter_of_the_baseline_is_too_slow() -> None:
    found = too_slow([25, 24, 26, 23, 27, 25], BASELINE)
    assert found is not None
    assert found.reason == "25 % of the baseline's throughput after 6 s"
    # half of 100 New-Orders per second, in a minute: it did not even reach that
    assert found.tpmP_at_most == 0.5 * 100 * 60


def test_nothing_is_said_in_the_very_first_seconds_or_without_a_baseline() -> None:
    assert too_slow([0] * (MIN_SECONDS - 1), BASELINE) is None
    assert too_slow([0] * 8, []) is None
    assert too_slow([0] * 20, BASELINE) is None  # no baseline ran that long


def test_near_the_half_the_run_continues() -> None:
    assert too_slow([48, 51, 46, 49, 50, 47, 48], BASELINE) is None
    assert too_slow([90] * 7, BASELINE) is None


def test_a_bumpy_run_gets_the_benefit_of_the_doubt() -> None:
    assert too_slow([0, 90, 0, 80, 0, 70, 5], BASELINE) is None


def test_silence_is_a_stall_once_it_costs_half() -> None:
    found = too_slow([60, 60, 0, 0, 0, 0, 0], BASELINE)
    assert found is not None
    assert found.reason == "stalled for 5 s"
    assert too_slow([300, 300, 300, 0, 0, 0, 0, 0], BASELINE) is None
    silent_baseline = [[100, 100, 0, 0, 0, 0, 0]]
    assert too_slow([60, 60, 0, 0, 0, 0, 0], silent_baseline) is None


def test_on_a_slow_device_a_few_silent_seconds_are_usual() -> None:
    slow = [[1, 2, 0, 1, 1, 2, 1, 0, 1, 1] * 4]
    assert too_slow([1, 2, 0, 0, 0, 0, 0], slow) is None
    found = too_slow([1, 2, *[0] * 20], slow)
    assert found is not None
    assert found.reason == "stalled for 20 s"


def test_a_slow_start_of_both_is_not_held_against_the_run() -> None:
    assert too_slow([2, 4, 8, 15, 30, 60], [[2, 5, 9, 14, 32, 55, 100, 100]]) is None


@pytest.mark.long
def test_runs_as_good_as_the_baseline_are_hardly_ever_cut() -> None:
    rng = np.random.default_rng(2)
    for _ in range(300):
        speed = np.exp(rng.normal(0, 0.3, 60)) * 100
        runs = [rng.poisson(speed).tolist() for _ in range(2)]
        assert all(too_slow(runs[0][:n], [runs[1]]) is None for n in range(1, 60))

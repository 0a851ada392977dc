"""A too_slow run is known by its first seconds; a merely slower or bumpy one is not."""

from __future__ import annotations

import numpy as np
import pytest

from tuning.strategy.early_stop import MIN_SECONDS, too_slow

BASELINE = [[100, 96, 104, 99, 101, 100, 98, 103, 97, 102, 100, 99]] * 2


STALLED = [60, 60, 0, 0, 0, 0, 0]
SLOW = [[1, 2, 0, 1, 1, 2, 1, 0, 1, 1] * 4]


@pytest.mark.parametrize(
    ("counts", "baseline", "reason"),
    [
        ([25, 24, 26, 23, 27, 25], BASELINE, "25 % of the baseline's throughput after 6 s"),
        (STALLED, BASELINE, "stalled for 5 s"),
        # On a slow device a few silent seconds are usual, many are not.
        ([1, 2, *[0] * 20], SLOW, "stalled for 20 s"),
    ],
)
def test_a_run_that_is_too_slow_is_cut_at_half_the_baseline(
    counts: list[int], baseline: list[list[int]], reason: str
) -> None:
    found = too_slow(counts, baseline)
    assert found is not None
    assert found.reason == reason
    # Half of the baseline's New-Orders per second so far, in a minute: it did not even reach that.
    rate = min(sum(run[: len(counts)]) / len(counts) for run in baseline)
    assert found.throughput_at_most == pytest.approx(0.5 * rate * 60)


@pytest.mark.parametrize(
    ("counts", "baseline"),
    [
        pytest.param([0] * (MIN_SECONDS - 1), BASELINE, id="the very first seconds"),
        pytest.param([0] * 8, [], id="no baseline"),
        pytest.param([0] * 20, BASELINE, id="no baseline ran that long"),
        pytest.param([48, 51, 46, 49, 50, 47, 48], BASELINE, id="near the half"),
        pytest.param([90] * 7, BASELINE, id="a little slower"),
        pytest.param([0, 90, 0, 80, 0, 70, 5], BASELINE, id="bumpy"),
        pytest.param([300, 300, 300, 0, 0, 0, 0, 0], BASELINE, id="a stall after a fast start"),
        pytest.param(STALLED, [[100, 100, 0, 0, 0, 0, 0]], id="the baseline stalls too"),
        pytest.param([1, 2, 0, 0, 0, 0, 0], SLOW, id="a slow device"),
        pytest.param(
            [2, 4, 8, 15, 30, 60], [[2, 5, 9, 14, 32, 55, 100, 100]], id="both start slowly"
        ),
    ],
)
def test_any_other_run_continues(counts: list[int], baseline: list[list[int]]) -> None:
    assert too_slow(counts, baseline) is None


@pytest.mark.long
def test_runs_as_good_as_the_baseline_are_hardly_ever_cut() -> None:
    rng = np.random.default_rng(2)
    for _ in range(300):
        speed = np.exp(rng.normal(0, 0.3, 60)) * 100
        runs = [rng.poisson(speed).tolist() for _ in range(2)]
        assert all(too_slow(runs[0][:n], [runs[1]]) is None for n in range(1, 60))

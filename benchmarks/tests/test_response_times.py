"""Percentiles from a histogram are those of all times, to within what is promised."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.drivers.response_times import LatencyHistogram, ResponseTimes, merged

SETTINGS = settings(max_examples=60, deadline=None)
# Packed and compared as a whole, which takes some ms.
FEWER = settings(max_examples=12, deadline=None)
# From nothing to a day, in ms: over all powers of ten and at the edges of powers of two.
TIMES = st.one_of(
    st.floats(0, 86_400_000.0, width=64),
    st.floats(-4, 7).map(lambda power: 10.0**power),
    st.integers(-12, 26).map(lambda power: 2.0**power),
)
RUNS = st.lists(st.tuples(TIMES, st.integers(0, 4)), min_size=1, max_size=300)


def recorded(run: list[tuple[float, int]], seconds: int = 5) -> ResponseTimes:
    times = ResponseTimes(seconds)
    times.add(np.array([ms for ms, _ in run]), np.array([second for _, second in run]))
    return times


@SETTINGS
@given(RUNS, st.integers(1, 100))
def test_percentiles_are_numpys_inverted_cdf_to_a_ten_thousandth(
    run: list[tuple[float, int]], percent: int
) -> None:
    times = recorded(run)
    ms = np.array([ms for ms, _ in run])
    exact = np.percentile(ms, percent, method="inverted_cdf")
    assert times.percentile(percent) == pytest.approx(exact, rel=1e-4, abs=1e-3)
    assert times.max_ms == ms.max()
    assert times.count == len(run)
    p95 = times.p95_per_second()
    for second, count in enumerate(times.per_second()):
        ended = np.array([ms for ms, at in run if at == second])
        assert count == ended.size
        if not count:
            assert p95[second] is None
        else:
            exact = np.percentile(ended, 95, method="inverted_cdf")
            assert p95[second] == pytest.approx(min(max(exact, 2**-5), 2**16), rel=3e-2)


@pytest.mark.long
@FEWER
@given(st.lists(RUNS, min_size=1, max_size=3))
def test_what_several_drivers_saw_is_what_one_would_have_seen(
    runs: list[list[tuple[float, int]]],
) -> None:
    merged = recorded(runs[0])
    for run in runs[1:]:
        merged.merge(ResponseTimes.from_bytes(recorded(run).to_bytes()))
    together = recorded([pair for run in runs for pair in run])
    assert merged.to_bytes() == together.to_bytes()
    assert merged.percentile(95) == together.percentile(95)


def test_a_fast_server_overflows_no_bucket() -> None:
    count = 100_000
    times = ResponseTimes(1)
    times.add(np.full(count, 0.1), np.zeros(count, dtype=np.int64))
    times.merge(ResponseTimes.from_bytes(times.to_bytes()))
    found = times.histogram()
    assert times.count == 2 * count
    assert times.per_second() == [2 * count]
    assert found is not None
    assert found.total == 2 * count


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1.0])
def test_what_is_no_time_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="no times"):
        recorded([(1.0, 0), (bad, 0)])


@pytest.mark.parametrize("second", [-1, 5])
def test_a_second_that_the_run_does_not_have_is_refused(second: int) -> None:
    with pytest.raises(ValueError, match="not all seconds"):
        recorded([(1.0, second)])


def test_runs_of_different_length_are_not_merged() -> None:
    with pytest.raises(ValueError, match="5 s and 6 s"):
        ResponseTimes(5).merge(ResponseTimes(6))


def test_without_times_there_is_no_percentile() -> None:
    times = ResponseTimes(2)
    times.add(np.array([]), np.array([], dtype=int))
    assert (times.count, times.max_ms, times.p95_per_second()) == (0, 0.0, [None, None])
    with pytest.raises(ValueError, match="no response times"):
        times.percentile(95)


@FEWER
@given(RUNS)
def test_the_stored_histogram_has_every_time_in_its_bucket(run: list[tuple[float, int]]) -> None:
    found = recorded(run).histogram()
    assert found is not None
    assert found.total == len(run)
    assert LatencyHistogram.from_json(json.loads(json.dumps(found.as_json()))) == found
    # Times that are shorter or longer count as being just inside.
    times = np.clip(np.sort([ms for ms, _ in run]), 2.0**-5, 2.0**16)
    low, high = np.array(found.edges_ms())[:-1], np.array(found.edges_ms())[1:]
    placed = np.repeat(np.arange(len(found.counts)), found.counts)
    assert (times >= low[placed] * (1 - 1e-12)).all()
    assert (times <= high[placed] * (1 + 1e-12)).all()


def test_histograms_are_added_bucket_by_bucket() -> None:
    one, other = LatencyHistogram(3, (1, 0, 2)), LatencyHistogram(-1, (4,))
    assert merged([one, other]) == LatencyHistogram(-1, (4, 0, 0, 0, 1, 0, 2))
    assert merged([]) is None
    assert ResponseTimes(1).histogram() is None
    assert LatencyHistogram(0, (1,)).edges_ms() == [1.0, 2 ** (1 / 16)]

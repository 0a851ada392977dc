"""The sampling thread: on the grid, honest about what it missed, alive when the server is not."""

from __future__ import annotations

import statistics
import threading
import time

import pytest

from benchmarks.telemetry.sampler import MEASURE_END, MEASURE_START, Sampler
from benchmarks.telemetry.snapshot import Snapshot, SnapshotReader

# Its seconds are real ones.
pytestmark = pytest.mark.alone

PERIOD = 0.1


class FakeHost(SnapshotReader):
    """Snapshots of a host of one busy CPU; can be slow, stand still or break."""

    def __init__(self, read_s: float = 0.0) -> None:
        super().__init__()
        self.read_s = read_s
        self.stall_s = 0.0
        self.broken = False
        self.times: list[float] = []

    def read(self, *, marked: bool = False) -> Snapshot:
        if self.broken:
            raise ZeroDivisionError("made to fail")
        t = time.monotonic()
        self.times.append(t)
        stall, self.stall_s = self.stall_s, 0.0
        time.sleep(self.read_s + stall)
        return Snapshot(t, t, 0.0, 0.0, 0.0, t, cpu_hz=2e9 if marked else None)


def test_lateness_does_not_add_up() -> None:
    host = FakeHost(read_s=0.6 * PERIOD)
    with Sampler(host, period_s=PERIOD):
        time.sleep(15 * PERIOD)
    start, *ticks = host.times
    offsets = [(t - start + PERIOD / 2) % PERIOD - PERIOD / 2 for t in ticks]
    assert len(ticks) >= 10
    # sleeping a period after each read would put them evenly all over the period
    assert statistics.median(map(abs, offsets)) < 0.2 * PERIOD


def test_a_mark_starts_the_seconds_anew() -> None:
    host = FakeHost()
    with Sampler(host, period_s=PERIOD) as sampler:
        time.sleep(2.5 * PERIOD)
        start = sampler.mark(MEASURE_START)
        time.sleep(4.5 * PERIOD)
    measured = [(t - start.t) / PERIOD for t in host.times if t > start.t]
    assert [round(place) for place in measured] == [1, 2, 3, 4]
    assert max(place % 1 for place in measured) < 0.4
    assert start.cpu_hz == 2e9


def test_the_series_runs_from_warm_up_to_the_end_mark() -> None:
    with Sampler(FakeHost(), period_s=PERIOD) as sampler:
        time.sleep(2 * PERIOD)
        sampler.mark(MEASURE_START)
        time.sleep(3.02 * PERIOD)
        sampler.mark(MEASURE_END)
        time.sleep(2 * PERIOD)
    assert [row["second"] for row in sampler.rows()] == [-2, -1, 0, 1, 2]


def test_without_a_start_mark_all_is_warm_up() -> None:
    with Sampler(FakeHost(), period_s=PERIOD) as sampler:
        time.sleep(2.5 * PERIOD)
    assert [row["second"] for row in sampler.rows()] == [-2, -1]


def test_a_host_that_stood_still_leaves_a_gap() -> None:
    host = FakeHost()
    with Sampler(host, period_s=PERIOD) as sampler:
        sampler.mark(MEASURE_START)
        time.sleep(1.5 * PERIOD)
        host.stall_s = 3.7 * PERIOD  # from tick 2 on: ticks 3, 4 and 5 do not happen
        time.sleep(6.7 * PERIOD)
    rows = sampler.rows()
    assert {row["second"] for row in rows if row["cpu_user_pct"] is None} == {2, 3, 4, 5}
    assert rows[-1]["second"] == 7


def test_a_mark_can_be_made_from_another_thread_while_samples_are_taken() -> None:
    with Sampler(FakeHost(read_s=0.01), period_s=0.02) as sampler:
        marks = [threading.Thread(target=sampler.mark, args=(f"m{n}",)) for n in range(8)]
        for mark in marks:
            mark.start()
        for mark in marks:
            mark.join(5)
    assert not any(mark.is_alive() for mark in marks)


def test_a_mark_is_made_once() -> None:
    with Sampler(FakeHost(), period_s=PERIOD) as sampler:
        sampler.mark(MEASURE_START)
        with pytest.raises(ValueError, match="measure_start"):
            sampler.mark(MEASURE_START)


def test_leaving_the_block_ends_the_thread_at_once_also_on_an_error() -> None:
    before = threading.active_count()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt), Sampler(FakeHost(), period_s=60.0):
        raise KeyboardInterrupt
    assert time.monotonic() - began < 5
    assert threading.active_count() == before


def test_a_bug_while_sampling_is_not_taken_for_a_quiet_host() -> None:
    host = FakeHost()
    with Sampler(host, period_s=PERIOD) as sampler:
        host.broken = True
        time.sleep(2 * PERIOD)
    with pytest.raises(RuntimeError, match="sampling stopped"):
        sampler.rows()

"""What a driver says after the host stood still is not held against the config."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.errors import RunFailed
from benchmarks.measurement.drive import host_stalled
from benchmarks.outcomes import Outcome
from benchmarks.telemetry.disturbance import Limits
from benchmarks.telemetry.sampler import MEASURE_END, MEASURE_START, Sampler
from benchmarks.telemetry.snapshot import Snapshot, SnapshotReader


class Host(SnapshotReader):
    """Looked at when these seconds have passed."""

    def __init__(self, *seconds: float) -> None:
        super().__init__()
        self._seconds = iter(seconds)

    def read(self, *, marked: bool = False) -> Snapshot:
        t = next(self._seconds)
        return Snapshot(t, t, 0.0, 0.0, 0.0, t, cpu_hz=2e9 if marked else None)


def seen(*seconds: float) -> Sampler:
    sampler = Sampler(Host(*seconds))
    for name in ("warmup_start", MEASURE_START, MEASURE_END):
        sampler.mark(name)
    return sampler


@pytest.mark.parametrize(
    ("failed", "seconds", "is_its_own"),
    [
        (Outcome.ZERO_WORK, (0.0, 1.0, 14.0), False),
        (Outcome.DRIVER_FAILED, (0.0, 13.0, 14.0), False),  # while it warmed up
        (Outcome.TIMED_OUT, (0.0, 1.0, 14.0), False),
        (Outcome.ZERO_WORK, (0.0, 1.0, 2.0), True),
        (Outcome.LOST, (0.0, 1.0, 14.0), True),
    ],
)
def test_a_driver_that_fails(
    failed: Outcome, seconds: tuple[float, ...], is_its_own: bool
) -> None:
    failure = RunFailed(failed, "No New-Order was completed.", log_tail="the last lines")
    limits = Limits(stall_pct=2.0)
    instead = host_stalled(limits, seen(*seconds), failure)
    if is_its_own:
        assert instead is None
    else:
        assert instead is not None
        assert (instead.outcome, instead.log_tail) == (Outcome.DISTURBED, "the last lines")
        assert "stalled for 12.0 s while it was driven: No New-Order" in str(instead)
    assert host_stalled(replace(limits, stall_pct=0.0), seen(*seconds), failure) is None


@pytest.mark.parametrize(
    ("times", "measured_s"),
    [
        ((0.0, 1.0, 2.0, 5.2, 6.0), 2.2),
        # Late samples of a busy host are no stall.
        ((0.0, 1.0, 2.4, 3.0, 4.4), 0.0),
        # Before and after the measured interval.
        ((0.0, 9.0, 10.0, 11.0, 99.0), 0.0),
    ],
)
def test_only_stalls_of_the_measured_interval_count_there(
    times: tuple[float, ...], measured_s: float
) -> None:
    sampler = Sampler(Host(*times))
    for name in ("warmup_start", MEASURE_START, "second 1", MEASURE_END, "afterwards"):
        sampler.mark(name)
    assert sampler.stalled_s(measured=True) == pytest.approx(measured_s)

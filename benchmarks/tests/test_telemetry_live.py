"""The last minute of a run for whoever watches: what is counted, estimated or not known."""

from __future__ import annotations

import time

import pytest

from benchmarks.drivers.protocol import ReportedSecond
from benchmarks.telemetry.live import MAX_SECONDS, LiveSecond, LiveSeconds
from benchmarks.telemetry.snapshot import Snapshot


class Watched:
    """A made-up run on a host of two CPUs, one of which is busy; commits come at a fixed rate."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        self.commits_per_s = 319
        self.answers = True
        self.reported: ReportedSecond | None = None
        self.heard: list[list[LiveSecond]] = []
        monkeypatch.setattr(time, "monotonic", lambda: self.now)
        self.live = LiveSeconds(
            lambda: Snapshot(self.now, self.now, 0.0, 0.0, 0.0, 2 * self.now),
            lambda: (self.now, round(self.commits_per_s * self.now)) if self.answers else None,
            commits_each=3.19,
            reported=lambda: self.reported,
            tell=self.heard.append,
        )

    def after(self, seconds: float) -> LiveSecond:
        self.now += seconds
        self.live.look()
        return self.heard[-1][-1]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Watched:
    return Watched(monkeypatch)


def test_nothing_is_told_before_the_driver_works(run: Watched) -> None:
    for _ in range(3):
        run.now += 1
        run.live.look()
    assert run.heard == []


def test_new_orders_are_estimated_until_the_driver_counts_them(run: Watched) -> None:
    run.live.measuring_at = 105.0
    run.live.look()
    assert run.after(2) == LiveSecond(-3, 100.0, None, 50.0)
    run.live.measuring_at = run.now
    run.reported = ReportedSecond(1, 96, 12.5)
    assert run.after(1) == LiveSecond(1, 96.0, 12.5, 50.0)
    # The driver has said nothing new: the same second is not told twice.
    assert run.after(1) == LiveSecond(2, 100.0, None, 50.0)


def test_a_server_that_does_not_answer_has_no_figure_instead_of_zero(run: Watched) -> None:
    run.live.measuring_at = 100.0
    run.live.look()
    run.after(1)
    run.answers = False
    assert run.after(1).completed is None
    run.answers = True
    assert run.after(1).completed is None  # a rate takes two readings
    assert run.after(1).completed is not None


def test_looks_are_cheap_and_only_the_last_minute_is_kept(run: Watched) -> None:
    run.live.measuring_at = 100.0
    run.live.look()
    for _ in range(400):
        run.now += 0.25
        run.live.look()
    assert len(run.heard) == 100  # of 400 looks in 100 seconds
    assert len(run.heard[-1]) == MAX_SECONDS

"""A driver for tests: it keeps the contract and makes plausible numbers, without a server."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.drivers.checks import wait_to_begin
from benchmarks.drivers.protocol import (
    DriverResult,
    Load,
    Phase,
    Start,
    Target,
    TransactionCounts,
)
from benchmarks.drivers.response_times import ResponseTimes
from benchmarks.errors import RunFailed
from benchmarks.outcomes import Outcome

_SHARES = {
    "new_order": 1.0,
    "payment": 1.0,
    "order_status": 0.1,
    "delivery": 0.1,
    "stock_level": 0.1,
}
_REASONS = {
    Outcome.DRIVER_FAILED: "The fake driver failed, as requested.",
    Outcome.ZERO_WORK: "No New-Order was completed in the measured interval.",
    Outcome.CANCELLED: "The run was cancelled.",
    Outcome.OUT_OF_MEMORY: "the driver was ended by SIGKILL, and out-of-memory kills rose by 1",
    Outcome.LOST: "the driver was ended by SIGKILL, which we did not send",
    Outcome.TIMED_OUT: "The driver did not end; it was stopped at its deadline.",
}
_ASK_EVERY_S = 0.02


class FakeDriver:
    """Says it completed `new_orders_per_second`, give or take, at about `response_ms` each.

    `fail` ends every run with that outcome, in the phase in which it would come to light. A
    second of the load takes `second_s` seconds of real time: none at all by default, and it is
    ready to begin after `connect_s` of them. The numbers follow from the load's seed alone;
    `loads` keeps what the driver was asked to do, `began_at` the instants that it was given.
    """

    name = "fake"
    version = "1"
    encrypts = True

    def __init__(
        self,
        *,
        new_orders_per_second: float = 200.0,
        response_ms: float = 10.0,
        fail: Outcome | None = None,
        second_s: float = 0.0,
        connect_s: float = 0.0,
    ) -> None:
        if fail is not None and fail not in _REASONS:
            raise ValueError(f"a driver does not fail with {fail}")
        self._rate = new_orders_per_second
        self._response_ms = response_ms
        self._fail = fail
        self._second_s = second_s
        self._connect_s = connect_s
        self.loads: list[Load] = []
        self.began_at: list[float | None] = []

    def run(
        self,
        target: Target,
        load: Load,
        work_dir: Path,
        *,
        on_phase: Callable[[Phase], None],
        should_stop: Callable[[], bool],
        start: Start | None = None,
    ) -> DriverResult:
        """See `protocol.LocalDriver`."""
        self.loads.append(load)
        work_dir.mkdir(parents=True, exist_ok=True)
        self._pass(self._connect_s, should_stop)
        start = start or Start()
        wait_to_begin(start, should_stop)
        self.began_at.append(start.at)
        on_phase(Phase.WARMING)
        self._pass(load.warmup_s * self._second_s, should_stop)
        self._fail_with(Outcome.DRIVER_FAILED, Outcome.CANCELLED)
        on_phase(Phase.MEASURING)
        self._pass(load.measure_s * self._second_s, should_stop)
        on_phase(Phase.STOPPING)
        self._fail_with(Outcome.ZERO_WORK, Outcome.TIMED_OUT, Outcome.LOST, Outcome.OUT_OF_MEMORY)
        return self._result(load)

    def _pass(self, seconds: float, should_stop: Callable[[], bool]) -> None:
        end = time.monotonic() + seconds
        while True:
            if should_stop():
                raise RunFailed(Outcome.CANCELLED, _REASONS[Outcome.CANCELLED])
            if (left := end - time.monotonic()) <= 0:
                return
            time.sleep(min(_ASK_EVERY_S, left))

    def _fail_with(self, *outcomes: Outcome) -> None:
        if self._fail is not None and self._fail in outcomes:
            raise RunFailed(self._fail, _REASONS[self._fail], log_tail="the fake driver's output")

    def _result(self, load: Load) -> DriverResult:
        random = np.random.default_rng(load.seed)
        per_second = np.maximum(1, random.poisson(self._rate, load.measure_s))
        completed = int(per_second.sum())
        times = ResponseTimes(load.measure_s)
        times.add(
            random.gamma(4.0, self._response_ms / 4.0, completed),
            np.repeat(np.arange(load.measure_s), per_second),
        )
        return DriverResult(
            measured_seconds=float(load.measure_s),
            times=times,
            counts={
                transaction: TransactionCounts(round(completed * share), 0, 0)
                for transaction, share in _SHARES.items()
            },
            driver_cpu_seconds=completed * 0.001,
            output="the fake driver's output",
        )

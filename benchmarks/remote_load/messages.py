"""Messages between the two hosts of a run, as JSON in the row of the load job.

1. The load host says who it is (`Hello`), with a key for what is secret.
2. The measured host starts its server for that host alone and sends the `Order`, sealed.
3. The load host compares the clocks, starts the driver and says when each phase began (`Phases`).
4. It sends the driver's `Result`; a failure ends the job with its reason instead.
"""

from __future__ import annotations

import base64

from pydantic import BaseModel, ConfigDict

from benchmarks.drivers.protocol import (
    DriverResult,
    Load,
    Phase,
    Target,
    TransactionCounts,
)
from benchmarks.drivers.response_times import ResponseTimes
from benchmarks.remote_load.clock import ClockReading


class Message(BaseModel):
    """Never changes; an unknown field is a mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Hello(Message):
    """Who will drive: `address` is where it comes from, `key` what its orders are sealed with.

    `facts` are those that make runs comparable, `encrypts` is whether its driver can use TLS.
    """

    address: str
    key: str
    driver: str
    driver_version: str
    encrypts: bool
    facts: dict[str, str]


class Order(Message):
    """The order to drive; it has the password, and is only ever sent sealed.

    `watches_stalls`: a run during which the load host stands still is disturbed.
    """

    target: Target
    load: Load
    watches_stalls: bool = True


class Phases(Message):
    """When each phase began by the load host's monotonic clock, None before that; `offset_s` and
    `round_trip_s` are the first reading of the clocks.
    """

    offset_s: float
    round_trip_s: float
    warming: float | None = None
    measuring: float | None = None
    stopping: float | None = None

    def at(self, phase: Phase) -> float | None:
        """The instant of that phase."""
        found: float | None = getattr(self, phase.value)
        return found

    @property
    def clock(self) -> ClockReading:
        return ClockReading(self.offset_s, self.round_trip_s)


class Result(Message):
    """The driver's result; `times` are the response times as base64 of `ResponseTimes`, `clock` is
    the reading of the clocks at the end.
    """

    measured_seconds: float
    times: str
    counts: dict[str, TransactionCounts]
    driver_cpu_seconds: float
    output: str
    clock: ClockReading
    cpu: dict[str, float]

    @classmethod
    def of(cls, result: DriverResult, clock: ClockReading, cpu: dict[str, float]) -> Result:
        return cls(
            measured_seconds=result.measured_seconds,
            times=base64.b64encode(result.times.to_bytes()).decode(),
            counts=dict(result.counts),
            driver_cpu_seconds=result.driver_cpu_seconds,
            output=result.output,
            clock=clock,
            cpu=cpu,
        )

    def driver_result(self) -> DriverResult:
        """Return the result as a driver on this host gives it."""
        return DriverResult(
            measured_seconds=self.measured_seconds,
            times=ResponseTimes.from_bytes(base64.b64decode(self.times)),
            counts=self.counts,
            driver_cpu_seconds=self.driver_cpu_seconds,
            output=self.output,
        )

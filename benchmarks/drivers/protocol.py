"""Protocol of the workload drivers: what they take, report and return.

The contract, which `benchmarks/tests/test_driver_contract.py` holds every driver to:

* `run` blocks until the workload has ended and returns a `DriverResult`, or raises `RunFailed`:

  - `DRIVER_FAILED`: the driver could not connect, lost a connection, crashed, said something that
    cannot be understood, or more than 1 % of its transactions failed for good;
  - `ZERO_WORK`: it ran, but none of the transactions that count was completed in the measured
    interval;
  - `CANCELLED`: `should_stop` said so;
  - `TIMED_OUT`: it was still there long after warm-up and measured interval;
  - `LOST`: its process was killed from outside, or `OUT_OF_MEMORY`: by the kernel.

  Why the server died, if it did, is the caller's to find out.
* `on_phase` is called from the calling thread, once for each phase and in order, as close to its
  beginning as the driver allows.
* On every path no process is left behind and `work_dir` holds none of the driver's files.
* The password appears neither in the output nor in an error.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from benchmarks.documents import Document
from benchmarks.drivers.response_times import ResponseTimes


class Phase(StrEnum):
    """The transactions have started; the measured interval has begun, or has ended."""

    WARMING = "warming"
    MEASURING = "measuring"
    STOPPING = "stopping"


@dataclass(frozen=True)
class Target:
    """The server under test, as a driver reaches it over TCP.

    `certificate` (PEM) is the server's own, which a client is to trust alone; "" is without TLS.
    """

    host: str
    port: int
    user: str
    password: str = field(repr=False)
    database: str
    certificate: str = field(default="", repr=False)


@dataclass(frozen=True)
class Workload:
    """A kind of work and the data that it needs.

    transactions: their names, in the order in which the driver numbers them. The first is the one
        that counts: its completions are the throughput, its response times the percentiles.
    noun: what people call the transaction that counts. unit: that of the throughput.
    schema: where its tables are. parameters: given to the driver's program by their names.
    commits: COMMITs that a client sends for each transaction that counts, by which the server's
        counter shows a run while it lasts; 0 for a workload without.
    holds: queries and the number that each returns when the data is there.
    """

    name: str
    transactions: tuple[str, ...]
    noun: str
    unit: str
    schema: str
    parameters: Mapping[str, int]
    commits: float
    holds: Mapping[str, int]

    @property
    def counted(self) -> str:
        """Return the transaction that counts."""
        return self.transactions[0]


@dataclass(frozen=True)
class Load:
    """How much work: a workload without think time from `connections` connections at once.

    `seed` fixes the transactions' inputs where the driver allows (sysbench does, tpcc-mysql
    draws its seed from the kernel).
    """

    workload: Workload
    connections: int
    warmup_s: int
    measure_s: int
    seed: int


@dataclass(frozen=True)
class TransactionCounts:
    """Transactions of one type in the measured interval.

    `retried` counts attempts that were begun again (deadlocks, lock waits) and `failed` the
    transactions that were abandoned.
    """

    completed: int
    retried: int
    failed: int


@dataclass(frozen=True)
class LoadSide(Document):
    """A load host of a run and the way to it; a driver on the server's host has none.

    `round_trip_ms` is the shortest time from asking the server to its answer. `clock_error_ms` is
    by how much the comparison of the two hosts' clocks may be wrong, `clock_drift_ms` how far they
    moved apart meanwhile, `late_ms` how much later telemetry's interval began than the driver's.
    `cpu` has, of the load host in the measured interval, `busy_pct` (all but idle and waiting for
    I/O) and `steal_pct`, both in % of all its CPUs, and `stalled_s`, in which nothing ran there.
    """

    host: str
    round_trip_ms: float
    clock_error_ms: float
    clock_drift_ms: float
    late_ms: float
    encrypted: bool
    cpu: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class DriverResult:
    """Result of one run of a driver.

    `times` are the response times of the transaction that counts, as far as completed in the
    measured interval. `counts` are by the workload's names. `driver_cpu_seconds` is the user and
    system time of the driver's process in that interval. `output` is what the program said,
    bounded and without secrets. `load_side`: None if the program ran on the server's host.
    """

    measured_seconds: float
    times: ResponseTimes
    counts: Mapping[str, TransactionCounts]
    driver_cpu_seconds: float
    output: str
    load_side: LoadSide | None = None


@dataclass(frozen=True, slots=True)
class ReportedSecond:
    """A measured second: number (from 1), completions of what counts, their p95 in ms."""

    number: int
    completed: int
    p95_ms: float


@runtime_checkable
class ReportsSeconds(Protocol):
    """A driver that says while it runs how each measured second was; not every one does."""

    @property
    def reported(self) -> ReportedSecond | None:
        """The newest of them; None before the first."""
        ...


class Start:
    """Says when drivers may begin: at once, or together soon after the last one is ready.

    `at` is the instant of the monotonic clock before which nothing begins; infinite until known.
    sysbench is ready when all of its connections are open. tpcc_start connects by itself as soon
    as it runs: it is ready when its account can log in and sees the dataset.
    """

    def __init__(self, drivers: int = 1, *, lead_s: float = 0.0) -> None:
        self._missing = drivers
        self._lead_s = lead_s
        self._lock = threading.Lock()
        self.at = float("inf")

    def ready(self) -> None:
        """Say that a driver could begin. Each driver says it once, from any thread."""
        with self._lock:
            self._missing -= 1
            if not self._missing:
                self.at = time.monotonic() + self._lead_s


class Driver(Protocol):
    """A workload driver: `name` and `version` go into each run's record and its fingerprint.

    `encrypts`: whether its connections use TLS for a target with a certificate.
    """

    name: str
    version: str
    encrypts: bool

    def run(
        self,
        target: Target,
        load: Load,
        work_dir: Path,
        *,
        on_phase: Callable[[Phase], None],
        should_stop: Callable[[], bool],
    ) -> DriverResult:
        """Run the workload to its end; see the module for what is promised."""
        ...


class LocalDriver(Driver, Protocol):
    """A driver whose program runs on this host."""

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
        """Run the workload to its end, from `start` on if that is given; else as `Driver`."""
        ...

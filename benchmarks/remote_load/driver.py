"""The measured host's part of a run that is driven elsewhere: a driver like any other."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from benchmarks.drivers.checks import GRACE_S
from benchmarks.drivers.protocol import DriverResult, Load, LoadSide, Phase, Target
from benchmarks.errors import RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.remote_load.clock import time_of_day_less_monotonic
from benchmarks.remote_load.messages import Hello, Order, Phases, Result

_POLL_S = 0.1
_ASK_EVERY_S = 0.25
#: How long the load host may take beyond its driver's own patience, to connect and to answer.
_SPARE_S = 60.0


@dataclass(frozen=True)
class Report:
    """What is known of the load host now.

    `phases` is None until it drives. `result` or `failure` is there when it has ended.
    """

    phases: Phases | None = None
    result: Result | None = None
    failure: RunFailed | None = None


class Desk(Protocol):
    """The way to a load host that has said hello. No call waits for the network."""

    @property
    def host(self) -> str:
        """Its name."""
        ...

    @property
    def hello(self) -> Hello: ...

    def send(self, order: Order) -> None:
        """Hand the order over, sealed."""
        ...

    def report(self) -> Report:
        """What is known now; a host that fell silent has failed with LOST."""
        ...

    def stop(self) -> None:
        """Ask it to end its driver; waits a few seconds for it."""
        ...


class RemoteDriver:
    """A `Driver` whose program runs on a load host.

    Phases are announced by this host's clock: when the load host says that its warm-up began, both
    ends of the measured interval are known, and the clocks' offset says when they are here.

    The first run is that of `desk`, each further one (of a crash test) takes the load host anew
    with `take_again`.
    """

    def __init__(self, desk: Desk, take_again: Callable[[], AbstractContextManager[Desk]]) -> None:
        self._first: Desk | None = desk
        self._take_again = take_again
        self.name = desk.hello.driver
        self.version = desk.hello.driver_version
        self.encrypts = desk.hello.encrypts

    def run(
        self,
        target: Target,
        load: Load,
        work_dir: Path,
        *,
        on_phase: Callable[[Phase], None],
        should_stop: Callable[[], bool],
    ) -> DriverResult:
        """See `protocol.Driver`; nothing is written to `work_dir`.

        Raises also what taking the load host anew raises.
        """
        first, self._first = self._first, None
        with nullcontext(first) if first is not None else self._take_again() as desk:
            return _run(desk, target, load, on_phase, should_stop)


def _run(
    desk: Desk,
    target: Target,
    load: Load,
    on_phase: Callable[[Phase], None],
    should_stop: Callable[[], bool],
) -> DriverResult:
    deadline = time.monotonic() + load.warmup_s + load.measure_s + GRACE_S + _SPARE_S
    desk.send(Order(target=target, load=load))
    announcer = _Announcer(load, on_phase)
    asked = float("-inf")
    try:
        while (report := desk.report()).result is None:
            if report.failure is not None:
                raise report.failure
            pause_s = announcer.look(report.phases) if report.phases else _POLL_S
            now = time.monotonic()
            if now - asked >= _ASK_EVERY_S:
                asked = now
                if should_stop():
                    raise RunFailed(Outcome.CANCELLED, "The run was cancelled.")
            if now > deadline:
                raise RunFailed(
                    Outcome.TIMED_OUT,
                    f"The load host {desk.host} did not end; it was stopped.",
                )
            time.sleep(min(pause_s, _POLL_S))
    except BaseException:
        desk.stop()
        raise
    if report.phases is None or report.phases.stopping is None:
        raise RunFailed(
            Outcome.DRIVER_FAILED,
            f"The load host {desk.host} has a result of a run that it did not finish.",
        )
    announcer.finish()
    return report.result.driver_result(
        announcer.load_side(
            desk.host, report.phases, report.result, encrypted=bool(target.certificate)
        )
    )


class _Announcer:
    """Turns the load host's instants into ours and announces each phase when it is due."""

    def __init__(self, load: Load, on_phase: Callable[[Phase], None]) -> None:
        self._load = load
        self._on_phase = on_phase
        self._here = time_of_day_less_monotonic()
        self._at: dict[Phase, float] = {}

    def look(self, phases: Phases) -> float:
        """Announce what is due now, as told or, before that, as planned; seconds to the next."""
        for phase in Phase:
            if phase in self._at:
                continue
            due = self._due(phase, phases)
            if due is None:
                break
            if (left := due - time.monotonic()) > 0:
                return left
            self._announce(phase)
        return float("inf")

    def finish(self) -> None:
        """Announce what is left: the load host has ended."""
        for phase in Phase:
            if phase not in self._at:
                self._announce(phase)

    def load_side(self, host: str, phases: Phases, result: Result, *, encrypted: bool) -> LoadSide:
        """What the two hosts' clocks and the load host's CPUs say of the run."""
        first, last = phases.clock, result.clock
        # Had nobody set a clock, both readings would be equal.
        set_here = time_of_day_less_monotonic() - self._here
        measuring = self._in_our_time(phases.measuring or 0.0, phases)
        return LoadSide(
            host=host,
            round_trip_ms=1000 * min(first.round_trip_s, last.round_trip_s),
            clock_error_ms=1000 * max(first.error_s, last.error_s),
            clock_drift_ms=1000 * (last.offset_s - first.offset_s - set_here),
            late_ms=1000 * (self._at[Phase.MEASURING] - measuring),
            encrypted=encrypted,
            cpu=result.cpu or {},
        )

    def _announce(self, phase: Phase) -> None:
        self._at[phase] = time.monotonic()
        self._on_phase(phase)

    def _due(self, phase: Phase, phases: Phases) -> float | None:
        """When that phase begins by our monotonic clock; None if that is not known yet."""
        told = phases.at(phase)
        if told is not None:
            return self._in_our_time(told, phases)
        before = {Phase.MEASURING: Phase.WARMING, Phase.STOPPING: Phase.MEASURING}.get(phase)
        if before is None:
            return None
        began = self._due(before, phases)
        length = self._load.warmup_s if phase is Phase.MEASURING else self._load.measure_s
        return None if began is None else began + length

    def _in_our_time(self, instant: float, phases: Phases) -> float:
        return instant + phases.offset_s - self._here

"""The measured host's part of a run that a load host drives: a driver like any other.

The load host says by its own clock when its warm-up began. Both ends of the measured interval
follow from that, and the offset of the two clocks says when they are here.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
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
    """The present state of the load host.

    `phases` is None until it is connected to the server. `result` or `failure` is there when it
    has ended.
    """

    phases: Phases | None = None
    result: Result | None = None
    failure: RunFailed | None = None


class Desk(Protocol):
    """The way to a load host that has said hello. Only `wait_until_ended` waits."""

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
        """Return the present state; a host that fell silent has failed with LOST."""
        ...

    def call_off(self) -> None:
        """Ask it to end its driver."""
        ...

    def wait_until_ended(self) -> None:
        """Wait for that, a few seconds at most."""
        ...


class RemoteDriver:
    """A `Driver` whose program runs on a load host.

    The first run is that of `desk`, each further one (of a crash test) takes the load host anew
    with `take_again`. `watches_stalls`: as in `Order`.
    """

    def __init__(
        self,
        desk: Desk,
        take_again: Callable[[], AbstractContextManager[Desk]],
        *,
        watches_stalls: bool = True,
    ) -> None:
        self._first: Desk | None = desk
        self._take_again = take_again
        self._watches_stalls = watches_stalls
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
            order = Order(target=target, load=load, watches_stalls=self._watches_stalls)
            try:
                return _run(desk, order, on_phase, should_stop)
            except BaseException:
                desk.call_off()
                desk.wait_until_ended()
                raise


class _Announcer:
    """Turns the load host's instants into ours and announces each phase when it is due."""

    def __init__(self, load: Load, on_phase: Callable[[Phase], None]) -> None:
        self._lengths = {Phase.MEASURING: load.warmup_s, Phase.STOPPING: load.measure_s}
        self._on_phase = on_phase
        self._here = time_of_day_less_monotonic()
        self._at: dict[Phase, float] = {}

    def look(self, phases: Phases) -> float:
        """Announce what is due now, as told or, before that, as planned; seconds to the next."""
        due: float | None = None
        for phase in Phase:
            told = phases.at(phase)
            if told is not None:
                due = self._in_our_time(told, phases)
            elif due is not None:
                due += self._lengths[phase]
            if phase in self._at:
                continue
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
        """Return what the clocks and the load host's CPUs show about the run."""
        # Had nobody set a clock, both readings would be equal.
        set_here = time_of_day_less_monotonic() - self._here
        first, last = phases.clock, result.clock
        began = self._in_our_time(phases.measuring or 0.0, phases)
        return LoadSide(
            host=host,
            round_trip_ms=1000 * min(first.round_trip_s, last.round_trip_s),
            clock_error_ms=1000 * max(first.error_s, last.error_s),
            clock_drift_ms=1000 * (last.offset_s - first.offset_s - set_here),
            late_ms=1000 * (self._at[Phase.MEASURING] - began),
            encrypted=encrypted,
            cpu=result.cpu,
        )

    def _announce(self, phase: Phase) -> None:
        self._at[phase] = time.monotonic()
        self._on_phase(phase)

    def _in_our_time(self, instant: float, phases: Phases) -> float:
        return instant + phases.offset_s - self._here


def _run(
    desk: Desk,
    order: Order,
    on_phase: Callable[[Phase], None],
    should_stop: Callable[[], bool],
) -> DriverResult:
    load = order.load
    announcer = _Announcer(load, on_phase)
    desk.send(order)
    deadline = time.monotonic() + load.warmup_s + load.measure_s + GRACE_S + _SPARE_S
    asked = float("-inf")
    while (report := desk.report()).result is None:
        if report.failure:
            raise report.failure
        pause_s = announcer.look(report.phases) if report.phases else _POLL_S
        now = time.monotonic()
        if now - asked >= _ASK_EVERY_S:
            asked = now
            if should_stop():
                raise RunFailed(Outcome.CANCELLED, "The run was cancelled.")
        if now > deadline:
            # A driver that does not end is stopped there, sooner: not the config's doing.
            raise RunFailed(
                Outcome.LOST, f"No end of the load host {desk.host}, which had to be stopped."
            )
        time.sleep(min(pause_s, _POLL_S))
    phases, result = report.phases, report.result
    if phases is None or phases.stopping is None:
        raise RunFailed(
            Outcome.DRIVER_FAILED,
            f"The load host {desk.host} has a result of a run that it did not finish.",
        )
    announcer.finish()
    encrypted = bool(order.target.certificate)
    side = announcer.load_side(desk.host, phases, result, encrypted=encrypted)
    return replace(result.driver_result(), load_side=side)

"""The measured host's part of a run that is driven elsewhere: a driver like any other.

Several load hosts share the connections evenly, and each draws from all warehouses. When all have
said that they are ready, they are told one instant of the server's clock at which they begin. They
measure when all of them do: from the last one's beginning to the first one's end, see
`announcer.MAX_ABLATION_S`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from benchmarks.counted import plural
from benchmarks.drivers.checks import GRACE_S
from benchmarks.drivers.protocol import DriverResult, Load, Phase, Target
from benchmarks.errors import RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.remote_load.announcer import Announcer
from benchmarks.remote_load.messages import Hello, Order, Phases, Result
from benchmarks.remote_load.several import HOST_SEED_STEP, merged, split

_POLL_S = 0.1
_ASK_EVERY_S = 0.25
#: How long the load host may take beyond its driver's own patience, to connect and to answer.
_SPARE_S = 60.0
#: So long each of several load hosts may take to compare the clocks, connect and be ready, in
#: seconds. A driver that is ready waits until it is told to begin or is no longer wanted.
READY_LIMIT_S = 60.0
#: They begin so long after the last of them is ready, in seconds; they ask five times a second.
_LEAD_S = 2.0


@dataclass(frozen=True)
class Report:
    """Return the present state of the load host.

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

    def begin(self, at: float) -> None:
        """Have a driver that waits begin at that instant of our time of day."""
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
    """A `Driver` whose program runs on one load host or several.

    Phases are announced by this host's clock: when the load hosts say that their warm-up began,
    both ends of the measured interval are known, and the clocks' offsets say when they are here.

    The first run is that of `desks`, each further one (of a crash test) takes the load hosts anew
    with `take_again`. All desks have the same driver in the same version. `watches_stalls`: as in
    `Order`.
    """

    def __init__(
        self,
        desks: Sequence[Desk],
        take_again: Callable[[], AbstractContextManager[Sequence[Desk]]],
        *,
        watches_stalls: bool = True,
    ) -> None:
        self._first: Sequence[Desk] | None = desks
        self._take_again = take_again
        self._watches_stalls = watches_stalls
        self.name = desks[0].hello.driver
        self.version = desks[0].hello.driver_version
        self.encrypts = all(desk.hello.encrypts for desk in desks)

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

        Raises also what taking the load hosts anew raises.
        """
        first, self._first = self._first, None
        with nullcontext(first) if first is not None else self._take_again() as desks:
            order = Order(
                target=target,
                load=load,
                waits=len(desks) > 1,
                watches_stalls=self._watches_stalls,
            )
            return _run(desks, order, on_phase, should_stop)


def _run(
    desks: Sequence[Desk],
    order: Order,
    on_phase: Callable[[Phase], None],
    should_stop: Callable[[], bool],
) -> DriverResult:
    """`order` is that of all desks together."""
    load = order.load
    parts = split(load, len(desks), seed_step=HOST_SEED_STEP)
    for desk, part in zip(desks, parts, strict=True):
        desk.send(order.model_copy(update={"load": part}))
    announcer = Announcer([desk.host for desk in desks], load, on_phase)
    patience_s = load.warmup_s + load.measure_s + GRACE_S + _SPARE_S
    sent = time.monotonic()
    begins = None if order.waits else sent
    asked = float("-inf")
    try:
        while True:
            reports = [desk.report() for desk in desks]
            if failure := next((one.failure for one in reports if one.failure), None):
                raise failure
            results = [one.result for one in reports if one.result is not None]
            phases = [one.phases for one in reports]
            if len(results) == len(desks):
                break
            if begins is None:
                begins = _begin(desks, phases, announcer, since=sent)
            pause_s = announcer.look(phases)
            now = time.monotonic()
            if now - asked >= _ASK_EVERY_S:
                asked = now
                if should_stop():
                    raise RunFailed(Outcome.CANCELLED, "The run was cancelled.")
            if begins is not None and now > begins + patience_s:
                late = [
                    desk.host for desk, one in zip(desks, reports, strict=True) if not one.result
                ]
                # A driver that does not end is stopped there, sooner: not the config's doing.
                raise RunFailed(
                    Outcome.LOST,
                    f"No end of the {plural(len(late), 'load host')} {', '.join(late)},"
                    " which had to be stopped.",
                )
            time.sleep(min(pause_s, _POLL_S))
        reported = _finished(desks, phases)
        announcer.check_together(reported)
    except BaseException:
        for desk in desks:
            desk.call_off()
        for desk in desks:
            desk.wait_until_ended()
        raise
    announcer.finish()
    sides = announcer.load_sides(
        reported, results, parts, encrypted=bool(order.target.certificate)
    )
    return replace(
        merged([one.driver_result() for one in results], load.measure_s), load_sides=sides
    )


def _begin(
    desks: Sequence[Desk], phases: Sequence[Phases | None], announcer: Announcer, *, since: float
) -> float | None:
    """Give the load hosts their instant once all are ready; it, or None before that.

    Instants are the monotonic clock's; `since` is when they were asked. Raises RunFailed (LOST)
    when one takes too long.
    """
    missing = [
        f"{desk.host} is not connected to the server"
        if one is None
        else f"the driver on {desk.host} is not ready"
        for desk, one in zip(desks, phases, strict=True)
        if one is None or one.ready is None
    ]
    now = time.monotonic()
    if not missing:
        begins = now + _LEAD_S
        for desk in desks:
            desk.begin(announcer.time_of_day(begins))
        return begins
    if now - since > READY_LIMIT_S:
        raise RunFailed(
            Outcome.LOST,
            f"the load hosts were not ready within {READY_LIMIT_S:.0f} s: {'; '.join(missing)}",
        )
    return None


def _finished(desks: Sequence[Desk], phases: Sequence[Phases | None]) -> list[Phases]:
    """The phases of load hosts that have a result. Raises RunFailed for one without its last."""
    reported = []
    for desk, one in zip(desks, phases, strict=True):
        if one is None or one.stopping is None:
            raise RunFailed(
                Outcome.DRIVER_FAILED,
                f"The load host {desk.host} has a result of a run that it did not finish.",
            )
        reported.append(one)
    return reported

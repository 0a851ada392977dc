"""How far a load is: one fraction over all its phases, and the time that is left."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class LoadProgress:
    """`fraction` 0..1 of the whole load; `rows` loaded so far; `eta_s` None while unknown."""

    fraction: float
    rows: int
    phase: str
    eta_s: float | None


ProgressCallback = Callable[[LoadProgress], None]


def ignore(progress: LoadProgress) -> None:
    """For callers that do not show progress."""


def never() -> bool:
    """A `should_stop` that is never true."""
    return False


class Meter:
    """Turns finished parts of planned phases into LoadProgress.

    `plan` gives each phase, in order, and about how many seconds it takes; only their proportion
    matters, the speed of this machine is learnt on the way.
    """

    def __init__(
        self,
        report: ProgressCallback,
        plan: Mapping[str, float],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._report = report
        self._plan = plan
        self._clock = clock
        self._total = sum(plan.values())
        self._before = 0.0
        self._phase = next(iter(plan))
        self._start = clock()
        self._entered = self._start
        self.rows = 0
        self.seconds: dict[str, float] = {}

    def enter(self, phase: str) -> None:
        """The next phase begins; those before it are done."""
        self.finish()
        names = list(self._plan)
        self._before = sum(self._plan[name] for name in names[: names.index(phase)])
        self._phase = phase
        self.advance(0.0)

    def advance(self, share: float) -> None:
        """So much of the current phase is done, 0..1."""
        done = self._before + self._plan[self._phase] * min(1.0, max(0.0, share))
        fraction = done / self._total
        elapsed = self._clock() - self._start
        eta = elapsed * (1 - fraction) / fraction if fraction > 0.02 else None
        self._report(LoadProgress(fraction, self.rows, self._phase, eta))

    def finish(self) -> None:
        """Note the seconds the current phase took; afterwards `seconds` is complete."""
        now = self._clock()
        self.seconds[self._phase] = self.seconds.get(self._phase, 0.0) + now - self._entered
        self._entered = now

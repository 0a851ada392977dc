"""How far a load is: one fraction over all its phases."""

from __future__ import annotations

from collections.abc import Callable, Mapping

#: Takes the part of the whole load, 0..1, that is done, and its phase.
ProgressCallback = Callable[[float, str], None]


def ignore(fraction: float, phase: str) -> None:
    """Do nothing, for callers that do not show progress."""


def never() -> bool:
    """A `should_stop` that is never true."""
    return False


class Meter:
    """Turns finished parts of planned phases into one fraction.

    `plan` gives each phase, in order, and about how many seconds it takes, of which only the
    proportion matters.
    """

    def __init__(self, report: ProgressCallback, plan: Mapping[str, float]) -> None:
        self._report = report
        self._plan = plan
        self._total = sum(plan.values())
        self._before = 0.0
        self._phase = next(iter(plan))

    def enter(self, phase: str) -> None:
        """The next phase begins; those before it are done."""
        names = list(self._plan)
        self._before = sum(self._plan[name] for name in names[: names.index(phase)])
        self._phase = phase
        self.advance(0.0)

    def advance(self, share: float) -> None:
        """Report how much of the current phase is done, 0..1."""
        done = self._before + self._plan[self._phase] * min(1.0, max(0.0, share))
        self._report(done / self._total, self._phase)

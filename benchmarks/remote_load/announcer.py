"""When a run that is driven elsewhere warms up, measures and ends, by this host's clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from benchmarks.drivers.protocol import Load, LoadSide, Phase
from benchmarks.errors import RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.remote_load.clock import time_of_day_less_monotonic
from benchmarks.remote_load.messages import Phases, Result

#: The intervals of several load hosts may begin so many seconds apart: the second of one that
#: overlaps most with a second of another has the same number.
MAX_ABLATION_S = 0.5
#: How much later than it began a load host may say so, in seconds.
_TOLD_AFTER_S = 10.0


class Announcer:
    """Turns the load hosts' instants into ours and announces each phase when it is due.

    Phases of load hosts are in the order of `hosts`, None for one that is not connected yet.
    """

    def __init__(
        self, hosts: Sequence[str], load: Load, on_phase: Callable[[Phase], None]
    ) -> None:
        self._hosts = hosts
        self._load = load
        self._on_phase = on_phase
        self._here = time_of_day_less_monotonic()
        self._at: dict[Phase, float] = {}

    def time_of_day(self, instant: float) -> float:
        """That instant of our monotonic clock, as the load hosts' offsets have it: a time of day
        that is set after they were read moves nothing.
        """
        return instant + self._here

    def look(self, phases: Sequence[Phases | None]) -> float:
        """Announce what is due now, as told or, before that, as planned; seconds to the next.

        Raises RunFailed (LOST) when not all load hosts begin together.
        """
        self._check_all_begin(phases)
        reported = [one for one in phases if one is not None]
        if len(reported) < len(phases):
            return float("inf")
        for phase in Phase:
            if phase in self._at:
                continue
            due = self._due(phase, reported)
            if due is None:
                break
            if (left := due - time.monotonic()) > 0:
                return left
            self._announce(phase)
        return float("inf")

    def finish(self) -> None:
        """Announce what is left: the load hosts have ended."""
        for phase in Phase:
            if phase not in self._at:
                self._announce(phase)

    def check_together(self, reported: Sequence[Phases]) -> None:
        """Raise RunFailed (LOST) when they did not measure together."""
        for phase in (Phase.WARMING, Phase.MEASURING):
            began = [self._began(phase, one) for one in reported]
            known = [at for at in began if at is not None]
            if not known or (ablation_s := max(known) - min(known)) <= MAX_ABLATION_S:
                continue
            last = self._hosts[began.index(max(known))]
            raise _lost(f"{last} began {ablation_s:.1f} s after the first of them")

    def load_sides(
        self,
        reported: Sequence[Phases],
        results: Sequence[Result],
        parts: Sequence[Load],
        *,
        encrypted: bool,
    ) -> tuple[LoadSide, ...]:
        """Return what clocks and load hosts' CPUs show about the run."""
        # Had nobody set a clock, both readings would be equal.
        set_here = time_of_day_less_monotonic() - self._here
        measuring = [self._in_our_time(one.measuring or 0.0, one) for one in reported]
        clocks = [(one.clock, result.clock) for one, result in zip(reported, results, strict=True)]
        return tuple(
            LoadSide(
                host=host,
                round_trip_ms=1000 * min(first.round_trip_s, last.round_trip_s),
                clock_error_ms=1000 * max(first.error_s, last.error_s),
                clock_drift_ms=1000 * (last.offset_s - first.offset_s - set_here),
                late_ms=1000 * (self._at[Phase.MEASURING] - at),
                encrypted=encrypted,
                cpu=result.cpu or {},
                connections=part.connections,
                after_first_ms=1000 * (at - min(measuring)),
            )
            for host, (first, last), result, part, at in zip(
                self._hosts, clocks, results, parts, measuring, strict=True
            )
        )

    def _check_all_begin(self, phases: Sequence[Phases | None]) -> None:
        if Phase.WARMING in self._at:
            return
        began = [None if one is None else self._began(Phase.WARMING, one) for one in phases]
        known = [at for at in began if at is not None]
        if len(known) == len(began):
            self.check_together([one for one in phases if one is not None])
        elif known and time.monotonic() - min(known) > MAX_ABLATION_S + _TOLD_AFTER_S:
            missing = [host for host, at in zip(self._hosts, began, strict=True) if at is None]
            raise _lost(f"{', '.join(missing)} did not begin with the others")

    def _announce(self, phase: Phase) -> None:
        self._at[phase] = time.monotonic()
        self._on_phase(phase)

    def _due(self, phase: Phase, reported: Sequence[Phases]) -> float | None:
        """When all are in that phase, or the first has ended; None if that is not known yet."""
        due = [self._due_on(phase, one) for one in reported]
        known = [at for at in due if at is not None]
        if len(known) < len(due):
            return None
        return min(known) if phase is Phase.STOPPING else max(known)

    def _due_on(self, phase: Phase, phases: Phases) -> float | None:
        """When that phase begins there by our monotonic clock; None if that is not known yet."""
        if (began := self._began(phase, phases)) is not None:
            return began
        before = {Phase.MEASURING: Phase.WARMING, Phase.STOPPING: Phase.MEASURING}.get(phase)
        if before is None:
            return None
        before_at = self._due_on(before, phases)
        length = self._load.warmup_s if phase is Phase.MEASURING else self._load.measure_s
        return None if before_at is None else before_at + length

    def _began(self, phase: Phase, phases: Phases) -> float | None:
        """When that phase began there as it was told; None before that."""
        reported = phases.at(phase)
        return None if reported is None else self._in_our_time(reported, phases)

    def _in_our_time(self, instant: float, phases: Phases) -> float:
        return instant + phases.offset_s - self._here


def _lost(why: str) -> RunFailed:
    return RunFailed(Outcome.LOST, f"the load hosts did not drive together: {why}")

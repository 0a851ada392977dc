"""Ends a run early if its first seconds are too slow, by a rule that the caller gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Cut:
    """Why a run is not worth finishing, and the throughput that it would not have exceeded."""

    reason: str
    throughput_at_most: float


#: Judges the commits of each second measured so far; None if the run may continue.
CutRule = Callable[[Sequence[int]], Cut | None]


@dataclass
class CutWatch:
    """Applies the rule after each further second; a driver polls `should_stop`.

    `counts` gives the commits of each whole second measured so far. Afterwards `found` is the
    result of the rule, None if the run was not cut.
    """

    rule: CutRule | None
    counts: Callable[[], list[int]]
    cancelled: Callable[[], bool]
    found: Cut | None = None
    _seen: int = field(default=0, init=False)

    def should_stop(self) -> bool:
        """Whether the run was cancelled or is too slow; then the rule is not applied again."""
        if self.cancelled():
            return True
        if self.rule is not None and self.found is None:
            counts = self.counts()
            if len(counts) > self._seen:
                self._seen = len(counts)
                self.found = self.rule(counts)
        return self.found is not None

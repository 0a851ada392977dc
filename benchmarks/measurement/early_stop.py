"""Ends a run early that its first seconds already show to be hopeless.

What is hopeless is not for this floor to say: whoever wants the run gives a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Cut:
    """Why a run is not worth finishing, and the tpmP that it would not have exceeded."""

    reason: str
    tpmP_at_most: float


#: Judges the commits of each second measured so far; None while the run may go on.
CutRule = Callable[[Sequence[int]], Cut | None]


@dataclass
class CutWatch:
    """Asks the rule after each further second; a driver polls `should_stop`.

    `counts` gives the commits of each whole second measured so far. Afterwards `found` is
    what the rule said, None when it said nothing.
    """

    rule: CutRule | None
    counts: Callable[[], list[int]]
    cancelled: Callable[[], bool]
    found: Cut | None = None
    _seen: int = field(default=0, init=False)

    def should_stop(self) -> bool:
        """Whether the run was cancelled or is hopeless."""
        return self.cancelled() or self.is_hopeless()

    def is_hopeless(self) -> bool:
        """Whether the rule says so; once it has it is not asked again."""
        if self.rule is None or self.found is not None:
            return self.found is not None
        counts = self.counts()
        if len(counts) > self._seen:
            self._seen = len(counts)
            self.found = self.rule(counts)
        return self.found is not None

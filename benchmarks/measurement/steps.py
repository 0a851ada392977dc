"""The steps of a run: each is reported when it begins, and its duration is kept."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Steps:
    """Passes the current step to `report` and keeps the duration of each."""

    report: Callable[[str], None]
    seconds: dict[str, float] = field(default_factory=dict)
    _current: str = ""
    _since: float = 0.0

    def enter(self, step: str) -> None:
        self.finish()
        self._current, self._since = step, time.monotonic()
        self.report(step)

    def finish(self) -> None:
        if self._current:
            spent = time.monotonic() - self._since
            self.seconds[self._current] = self.seconds.get(self._current, 0.0) + spent
        self._current = ""

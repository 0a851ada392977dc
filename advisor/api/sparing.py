"""Long work of the web process in small pieces, beside other requests and measurements."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from tuning.studies.scheduler import measures_here

#: Of the time of one processor, while this host measures.
SHARE: Final = 0.1
#: Seconds between two looks at whether it does.
LOOK_S: Final = 1.0


class Sparing:
    """`rest` is called after each piece: other requests get their turn. While this host measures
    it waits for so long that the work takes only `SHARE` of the time.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._since = clock()
        self._looked_at = self._since - LOOK_S
        self._measures = False

    def rest(self) -> None:
        now = self._clock()
        if now - self._looked_at >= LOOK_S:
            self._looked_at, self._measures = now, measures_here()
        worked = now - self._since
        self._sleep(worked * (1 / SHARE - 1) if self._measures else 0)
        self._since = self._clock()

"""How often somebody may try: counted in the web process, which is one per installation."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable
from math import ceil

# Keys beyond this are forgotten, those that were used longest ago first.
MAX_KEYS = 10_000


class Limit:
    """At most `number` tries within any `seconds`, for each key."""

    def __init__(
        self, number: int, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._number = number
        self._seconds = seconds
        self._clock = clock
        self._tries: OrderedDict[str, deque[float]] = OrderedDict()

    def wait(self, key: str) -> int:
        """Whole seconds until the next try of this key; 0: it may try now."""
        tries = self._tries.get(key)
        if tries is None or len(tries) < self._number:
            return 0
        return max(0, ceil(tries[0] + self._seconds - self._clock()))

    def note(self, key: str) -> None:
        """Count a try."""
        self._tries.setdefault(key, deque(maxlen=self._number)).append(self._clock())
        self._tries.move_to_end(key)
        while len(self._tries) > MAX_KEYS:
            self._tries.popitem(last=False)

    def take(self, key: str, tries: int = 1) -> int:
        """Like `wait`; counts so many tries, of which the first has to be within the limit."""
        seconds = self.wait(key)
        for _ in range(0 if seconds else tries):
            self.note(key)
        return seconds

    def forget(self, key: str) -> None:
        self._tries.pop(key, None)

    def clear(self) -> None:
        self._tries.clear()


#: A password costs about 30 ms of CPU time to check. All strangers together use at most 1 %.
LOGINS = Limit(15, 60)
LOGINS_OF_ADDRESS = Limit(5, 60)
LOGINS_TO_ACCOUNT = Limit(5, 60)
#: Of a browser that has logged in to the account before: strangers cannot lock it out.
LOGINS_OF_BROWSER = Limit(5, 60)
#: Of such browsers, right or wrong: a right password costs as much to check.
LOGINS_OF_KNOWN = Limit(15, 60)
PASSWORD_CHANGES = Limit(5, 60)
#: Of an account: a long my.cnf costs some 70 ms of CPU time.
CONFIG_CHECKS = Limit(60, 60)
#: Of a token, where little is left of what the API may cost: `advisor.access.cpu_budget`.
PASSES = Limit(1, 10)
ALL = (
    LOGINS,
    LOGINS_OF_ADDRESS,
    LOGINS_TO_ACCOUNT,
    LOGINS_OF_BROWSER,
    LOGINS_OF_KNOWN,
    PASSWORD_CHANGES,
    CONFIG_CHECKS,
    PASSES,
)

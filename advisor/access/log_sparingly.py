"""Keeps the log readable where clients are told to come again later.

Django writes a warning for every refused request. A fleet of pipelines that asks too often is
refused hundreds of times a minute (429): that is one line a minute, which says how many.
"""

from __future__ import annotations

import logging
import threading
from typing import Final

PAUSE_S: Final = 60.0
_TOO_MANY: Final = 429


class LogSparingly(logging.Filter):
    """Of refusals for asking too often one passes a minute, with the number of those before it."""

    def __init__(self, name: str = "") -> None:
        super().__init__(name)
        self._lock = threading.Lock()
        self._passed: float | None = None
        self._held_back = 0

    def filter(self, record: logging.LogRecord) -> bool:
        """False: it is not written."""
        if getattr(record, "status_code", None) != _TOO_MANY:
            return True
        with self._lock:
            if self._passed is not None and record.created - self._passed < PAUSE_S:
                self._held_back += 1
                return False
            before, self._held_back = self._held_back, 0
            self._passed = record.created
        if before:
            record.msg = f"{record.getMessage()} (and {before} more since the last such line)"
            record.args = ()
        return True

"""Background threads of the web process.

It looks after hosts whose worker is gone, and whether the database is of this code's version. It
also tells other programs what has ended: one that does not answer holds up nothing else.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from django.conf import settings
from django.db import Error, connections

from advisor.notify import tell_ends
from advisor.processes import versions
from tuning.studies.absence import look_after_hosts

logger = logging.getLogger(__name__)

#: Seconds between two looks at the hosts.
LOOK_SECONDS: Final = 10.0
#: Seconds between two looks at what has ended.
SEND_SECONDS: Final = 5.0


def attend() -> None:
    """Begin; it ends with the process."""
    began = time.monotonic()

    def look() -> None:
        versions.look()
        look_after_hosts(time.monotonic() - began)

    _begin("attendant", look, LOOK_SECONDS, "hosts without a worker are not looked after")
    if settings.NOTIFY_URLS:
        _begin("notify", tell_ends, SEND_SECONDS, "nobody is notified of what has ended")


def _begin(name: str, look: Callable[[], object], pause_s: float, failed: str) -> None:
    thread = threading.Thread(target=_repeat, args=(look, pause_s, failed), name=name, daemon=True)
    thread.start()


def _repeat(look: Callable[[], object], pause_s: float, failed: str) -> None:
    pause = threading.Event()
    while True:
        try:
            look()
        except Error as error:
            logger.warning("%s for now: %s", failed, error)
        except Exception:
            logger.exception(failed)
        finally:
            connections.close_all()
        pause.wait(pause_s)

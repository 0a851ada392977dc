"""What the web process does besides answering, in a thread of its own.

It looks after hosts whose worker is gone, and whether the database is of this code's version.
"""

from __future__ import annotations

import logging
import threading

from django.db import Error, connections

from advisor.processes import versions
from tuning.studies.absence import LOOK_SECONDS, Attendant

logger = logging.getLogger(__name__)


def attend() -> None:
    """Begin; it ends with the process."""
    threading.Thread(target=_attend, name="attendant", daemon=True).start()


def _attend() -> None:
    attendant, pause = Attendant(), threading.Event()
    while True:
        try:
            versions.look()
            attendant.look()
        except Error as error:
            logger.warning("hosts without a worker are looked after later: %s", error)
        except Exception:
            logger.exception("hosts without a worker are not looked after")
        finally:
            connections.close_all()
        pause.wait(LOOK_SECONDS)

"""The web process looks after hosts whose worker is gone, in a thread of its own."""

from __future__ import annotations

import logging
import threading

from django.db import Error, connections

from tuning.studies.absence import LOOK_SECONDS, Attendant

logger = logging.getLogger(__name__)


def attend() -> None:
    """Begin; it ends with the process."""
    threading.Thread(target=_attend, name="attendant", daemon=True).start()


def _attend() -> None:
    attendant, pause = Attendant(), threading.Event()
    while True:
        try:
            attendant.look()
        except Error as error:
            logger.warning("hosts without a worker are looked after later: %s", error)
        except Exception:
            logger.exception("hosts without a worker are not looked after")
        finally:
            connections.close_all()
        pause.wait(LOOK_SECONDS)

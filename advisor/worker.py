"""What a measuring worker does beside its tasks: clean up at start, sweep, stop gently.

All of it runs in the worker's main process; the benchmark runs in its one pool process.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from celery import bootsteps
from celery.signals import worker_shutting_down

logger = logging.getLogger(__name__)

STOP_REQUESTS = 10


class HostWatch(bootsteps.StartStopStep):
    """Sweeps the host again and again: its rows, and what dead workers left behind."""

    requires = ("celery.worker.components:Timer",)

    def __init__(self, parent: Any, **kwargs: Any) -> None:
        self._timer: Any = None
        super().__init__(parent, **kwargs)

    def start(self, parent: Any) -> None:
        from django.conf import settings

        sweep()
        self._timer = parent.timer.call_repeatedly(settings.SWEEP_SECONDS, sweep)

    def stop(self, parent: Any) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def sweep() -> None:
    """One pass over this host's rows. A database that is away is tried again at the next one."""
    from tuning.studies.recovery import sweep_host

    _with_database(sweep_host)


def tidy_up() -> None:
    """What a worker would do at its start, for a host whose worker was just ended by us: close
    its rows and delete what it left, should it have been killed.
    """
    from tuning.studies.recovery import recover_host

    _with_database(recover_host)


def _with_database(look: Callable[[int], None]) -> None:
    from django.db import Error, close_old_connections

    try:
        look(_host_id())
    except Error as error:
        logger.warning("sweep put off: %s", error)
    finally:
        close_old_connections()


@worker_shutting_down.connect
def stop_gently(**_: Any) -> None:
    """Ask the run at hand to end; it closes its server and its row and is queued again.

    In a thread of its own: this is called from a signal handler, which may have interrupted a
    query on the main thread's database connection.
    """
    threading.Thread(target=_request_stop, name="stop-gently", daemon=True).start()


def _request_stop() -> None:
    """More than once: a run may just be being claimed, or the database be away for a moment."""
    from django.db import Error, connections

    from tuning.studies.recovery import request_stop

    for _ in range(STOP_REQUESTS):
        try:
            request_stop(_host_id())
        except Error as error:
            logger.warning("the run at hand could not be asked to stop: %s", error)
        finally:
            connections.close_all()
        time.sleep(1)


def _host_id() -> int:
    from django.conf import settings

    from benchmarks.models import Host

    return Host.objects.get_or_create(name=settings.HOST_NAME)[0].pk

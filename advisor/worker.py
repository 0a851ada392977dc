"""A worker's duties besides its tasks: clean up at start, sweep, stop gracefully.

All of it runs in the worker's main process; the benchmark runs in its one pool process.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from functools import wraps
from itertools import count
from typing import TYPE_CHECKING, Any

from celery import bootsteps
from celery.signals import worker_shutting_down
from celery.worker import state

from benchmarks.storage.human import human_bytes

if TYPE_CHECKING:
    from benchmarks.inventory.host import HostInventory

logger = logging.getLogger(__name__)

STOP_REQUESTS = 10
JOIN_SECONDS = 5.0
#: Sweeps between two looks at the free space, and at what has to be tidied up: a minute.
SPACE_SWEEPS = 20
_SWEEPS = count(1)
#: The key of the host whose worker this process is, once it has joined.
_JOINED: list[int] = []


#: Held during a sweep: a pool process that was forked then would have its locks for ever.
_SWEEPING = threading.RLock()
os.register_at_fork(
    before=_SWEEPING.acquire,
    after_in_parent=_SWEEPING.release,
    after_in_child=_SWEEPING.release,
)


class HostWatch(bootsteps.StartStopStep):
    """Sweeps the host periodically: its rows, and the leftovers of dead workers.

    In a thread of its own: Celery's timers end when the connection to Redis does, and its main
    thread waits until Redis is back.
    """

    requires = ("celery.worker.components:Timer",)

    def __init__(self, parent: Any, **kwargs: Any) -> None:
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="host-watch", daemon=True)
        super().__init__(parent, **kwargs)

    def start(self, parent: Any) -> None:
        from django.db import connections

        inspect()
        sweep()
        # This thread asks for nothing more until the end, the other connects by itself.
        connections.close_all()
        self._thread.start()

    def stop(self, parent: Any) -> None:
        self._ended.set()

    def _run(self) -> None:
        from django.conf import settings

        while not self._ended.wait(settings.SWEEP_SECONDS):
            with _SWEEPING:
                try:
                    sweep()
                except Exception:
                    # Without this thread nothing would be found that died or was not stored.
                    logger.exception("the sweep failed")


def join() -> None:
    """Make this process this host's worker, as soon as the database is there.

    Raises NameTaken while another worker of that name lives.
    """
    from django.conf import settings
    from django.db import Error, close_old_connections

    from benchmarks.jobs.presence import join_host
    from benchmarks.jobs.versions import code_version, tables_lack

    said = ""
    while True:
        try:
            # The tables have to be there; of newer ones the sweep says why nothing is done.
            if not (missing := tables_lack()):
                host = join_host(settings.HOST_NAME, say=logger.warning)
                _JOINED.append(host.pk)
                logger.info("this is the worker of host %s, version %s", host, code_version())
                return
        except Error as error:
            missing = f"the database does not answer: {error}"
            close_old_connections()
        if missing != said:
            logger.warning("waiting: %s", missing)
            said = missing
        time.sleep(JOIN_SECONDS)


def _for_this_host(look: Callable[[int], bool | None]) -> Callable[[], bool | None]:
    """Call `look` with this host's id; the result is None if the database is unavailable."""

    @wraps(look)
    def looked() -> bool | None:
        from django.db import Error, close_old_connections

        try:
            return look(_host_id())
        except Error as error:
            logger.warning("sweep postponed: %s", error)
            return None
        finally:
            close_old_connections()

    return looked


@_for_this_host
def leave(host_id: int) -> None:
    """Give the name back when the worker ends."""
    from benchmarks.jobs.presence import leave_host

    leave_host(host_id)


@_for_this_host
def sweep(host_id: int) -> None:
    """One pass over this host's rows. If the database is unavailable, the next pass retries."""
    from django.conf import settings

    from benchmarks.jobs.presence import NameTaken, stay
    from benchmarks.jobs.versions import say_version
    from tuning.studies.jobs import sweep_host

    try:
        stay(host_id, settings.HOST_NAME)
    except NameTaken as error:
        logger.critical("this worker ends: %s", error)
        state.should_stop = os.EX_UNAVAILABLE
        return
    if say_version(host_id):
        return
    sweep_host(host_id)
    if next(_SWEEPS) % SPACE_SWEEPS == 0:
        _look_at_space(host_id)


def _look_at_space(host_id: int) -> None:
    """While nothing is measured, keep up to date what is free and which datasets there are.

    Once a day tidy up.
    """
    from advisor.upkeep.housekeeping import is_due, keep_house
    from benchmarks.inventory.inspection import refresh_space
    from benchmarks.models import Host
    from tuning.studies.datasets import note_datasets
    from tuning.studies.scheduler import is_measuring

    host, idle = Host.objects.get(pk=host_id), not is_measuring(host_id)
    if idle:
        refresh_space(host)
        note_datasets(host)
    if is_due(idle=idle):
        for line in keep_house(host):
            logger.info("housekeeping: %s", line)


@_for_this_host
def inspect(host_id: int) -> None:
    """Look at this host and store what it has; later if something is measured on it."""
    from benchmarks.inventory.inspection import inspect_here
    from benchmarks.jobs.locks import measuring_alone
    from benchmarks.models import Host
    from tuning.hosts.commands import inspect_again
    from tuning.studies.datasets import note_datasets

    host = Host.objects.get(pk=host_id)
    with measuring_alone(patience_s=0) as alone:
        if not alone and host.inventory:  # another home on this machine, or a run that is ending
            inspect_again(host)
            return
        found = inspect_here(host)
    note_datasets(host)
    logger.info("found on this host: %s", _in_words(found))
    for refused in (*found.refused_servers, *found.refused_directories):
        logger.warning("not to be used: %s", refused.reason)


def _in_words(found: HostInventory) -> str:
    servers = ", ".join(f"{one.version_text} at {one.path}" for one in found.servers)
    drivers = ", ".join(one.name for one in found.drivers)
    directories = ", ".join(str(one.path) for one in found.directories)
    return (
        f"servers: {servers or 'none'}; drivers: {drivers or 'none'}; "
        f"directories: {directories or 'none'}; {found.logical_cpus} CPUs, "
        f"{human_bytes(found.memory_budget_bytes)} of memory for a server"
    )


@_for_this_host
def tidy_up(host_id: int) -> bool:
    """The clean-up of a worker's start, for a host whose worker was just stopped: closes its rows
    and deletes leftovers, in case it was killed.

    False while the process of its last job still ends: then this is to be called again.
    """
    from tuning.studies.jobs import recover_host

    return recover_host(host_id)


@worker_shutting_down.connect
def stop_gracefully(**_: Any) -> None:
    """Ask the current run to end; it closes its server and its row and is queued again.

    In a thread of its own: this is called from a signal handler, which may have interrupted a
    query on the main thread's database connection.
    """
    threading.Thread(target=_request_stop, name="stop-gracefully", daemon=True).start()


def _request_stop() -> None:
    """Repeatedly: a run may be about to be claimed, or the database briefly unavailable."""
    from django.db import Error, connections

    from tuning.studies.jobs import request_stop

    for _ in range(STOP_REQUESTS):
        try:
            request_stop(_host_id())
        except Error as error:
            logger.warning("the current run could not be asked to stop: %s", error)
        finally:
            connections.close_all()
        time.sleep(1)


def _host_id() -> int:
    from django.conf import settings

    from benchmarks.models import Host

    if _JOINED:  # by its name another host would be made where it was renamed meanwhile
        return _JOINED[-1]
    return Host.objects.get_or_create(name=settings.HOST_NAME)[0].pk

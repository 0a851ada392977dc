"""The processes of one host: starts missing ones, restarts dead ones, ends all that it started."""

from __future__ import annotations

import logging
import socket
import sys
import time
from collections.abc import Callable
from datetime import timedelta

from django.conf import settings

from advisor.errors import PortTaken, ProcessFailed
from advisor.processes.broker import private_redis_command, redis_answers
from advisor.processes.child import TERM_SECONDS, Child, wait_until
from advisor.worker import tidy_up
from benchmarks.errors import NotInspected
from benchmarks.inventory.stored import inventory_of
from benchmarks.jobs.locks import host_lock
from benchmarks.jobs.presence import is_alive, seen
from benchmarks.models import Host

logger = logging.getLogger(__name__)

# A worker needs two on a quiet host, and was seen to need more than thirty on a very busy one.
START_SECONDS = 90.0
# Seconds that a web server waits for a worker's first inspection, which takes one second.
INSPECTION_SECONDS = 30.0
# A child that dies more often than this in a row is broken, not unlucky.
RESTARTS = 5
HEALTHY_AFTER_SECONDS = 60.0
# A worker reports every few seconds; after this long without a report, the host has none.
WORKER_SILENT_SECONDS = 20.0


class Supervisor:
    """A context manager: inside it Redis and a worker of this host respond, and `check()`
    monitors what it started. At the end it stops its own children only, newest first.
    """

    def __init__(self, *, with_web: bool = False, with_worker: bool = True) -> None:
        self._with_web = with_web
        self._with_worker = with_worker
        self._children: list[Child] = []
        self._restarts: dict[str, list[float]] = {}
        self._looked_at = 0.0

    def __enter__(self) -> Supervisor:
        try:
            if self._with_web:
                check_port(settings.BIND_ADDRESS, settings.PORT)
            self._start_missing()
            if self._with_web:
                # Whoever asks it for a study at once is not refused because a new worker has not
                # said yet what the host has; where that takes long, pages say so.
                wait_until(is_inspected, INSPECTION_SECONDS)
                self._start(Child("web", web_command()), web_answers)
            self._looked_at = time.monotonic()
        except BaseException:
            self._stop_all()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop_all()

    def check(self) -> None:
        """Restart children that died; start processes of another command that has ended.

        Raises ProcessFailed when a child keeps dying.
        """
        for child in self._children:
            if child.is_alive():
                continue
            logger.warning("%s died and is restarted; its log: %s", child.name, child.log)
            self._count_restart(child)
            child.start()
        if time.monotonic() - self._looked_at > WORKER_SILENT_SECONDS:
            self._looked_at = time.monotonic()
            self._replace_missing()

    def _replace_missing(self) -> None:
        """Redis and the worker may have belonged to another `serve` that has ended since."""
        if not self._with_worker:
            return
        limit = timedelta(seconds=WORKER_SILENT_SECONDS)
        if Host.objects.filter(seen(limit), name=settings.HOST_NAME).exists():
            return
        if not settings.REDIS_URL_IS_OURS and not redis_answers():
            logger.warning("no Redis responds at REDIS_URL; the study continues when it is back")
            return
        self._start_missing()

    def _start_missing(self) -> None:
        # Two commands that start at the same moment must not start two of each.
        with host_lock(settings.RUN_DIR / "processes.lock"):
            self._start_unresponsive()

    def _start_unresponsive(self) -> None:
        ours = {child.name for child in self._children}
        if "redis" not in ours and not redis_answers():
            if not settings.REDIS_URL_IS_OURS:
                raise ProcessFailed("redis_unreachable", "no Redis responds at REDIS_URL")
            self._start(Child("redis", private_redis_command()), redis_answers)
        if self._with_worker and "worker" not in ours and not worker_answers():
            self._start(Child("worker", [sys.executable, "manage.py", "worker"]), worker_answers)

    def _start(self, child: Child, answers: Callable[[], bool]) -> None:
        child.start()
        self._children.append(child)
        ready = wait_until(lambda: answers() or not child.is_alive(), START_SECONDS)
        if not ready or not child.is_alive():
            raise ProcessFailed(
                f"{child.name}_failed",
                f"{child.name} did not start; the end of {child.log}:\n{child.log_tail()}",
            )

    def _count_restart(self, child: Child) -> None:
        now = time.monotonic()
        recent = [
            at
            for at in self._restarts.setdefault(child.name, [])
            if now - at < HEALTHY_AFTER_SECONDS
        ]
        if len(recent) >= RESTARTS:
            raise ProcessFailed(
                f"{child.name}_failed", f"{child.name} keeps dying; see {child.log}"
            )
        self._restarts[child.name] = [*recent, now]

    def _stop_all(self) -> None:
        if self._children:
            child = self._children.pop()
            try:
                child.stop()
                if child.name == "worker":
                    # The process of its pool may outlive it.
                    wait_until(lambda: tidy_up() is not False, TERM_SECONDS)
            finally:
                self._stop_all()


def worker_answers() -> bool:
    """Whether this host's worker reported a moment ago; it does so while busy too."""
    limit = timedelta(seconds=WORKER_SILENT_SECONDS)
    host = Host.objects.filter(seen(limit), name=settings.HOST_NAME).exclude(worker="").first()
    return host is not None and is_alive(host)


def is_inspected() -> bool:
    """Whether a worker has said what this host has."""
    host = Host.objects.filter(name=settings.HOST_NAME).first()
    if host is None:
        return False
    try:
        inventory_of(host)
    except NotInspected:
        return False
    return True


def worker_name() -> str:
    """Return the name of this host's worker, as Celery knows it."""
    return f"bench@{settings.HOST_NAME}"


def web_command() -> list[str]:
    """Return the command that starts the web server."""
    return [
        *(sys.executable, "-m", "gunicorn", "-c", "python:advisor.processes.web"),
        *("--bind", web_address()),
    ]


def web_address() -> str:
    """The address and port of the web server, as in a URL."""
    address = settings.BIND_ADDRESS
    return f"[{address}]:{settings.PORT}" if ":" in address else f"{address}:{settings.PORT}"


def web_answers() -> bool:
    """Return whether the web server takes connections."""
    try:
        socket.create_connection((settings.BIND_ADDRESS, settings.PORT), timeout=1).close()
    except OSError:
        return False
    return True


def check_port(address: str, port: int) -> None:
    """Raise PortTaken if the web server could not listen there."""
    try:
        family, _, _, _, where = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0]
        socket.create_server(where[:2], family=family).close()
    except OSError as error:
        raise PortTaken(
            "port_taken",
            f"{web_address()} cannot be used ({error.strerror}): stop the program that "
            "listens there, or set ADVISOR_PORT to another port",
        ) from error

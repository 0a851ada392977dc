"""Which process is a host's worker: it joins under a name, is seen, leaves, or is gone.

A home has one worker, which holds a lock of the home for as long as it lives.
"""

from __future__ import annotations

import fcntl
import time
from collections.abc import Callable
from datetime import timedelta
from typing import IO

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from benchmarks.errors import BenchmarkError
from benchmarks.host_names import HOST_NAME
from benchmarks.jobs.locks import is_of_this_home, this_process
from benchmarks.models import Host

#: A worker that was not seen for this long is silent; it reports every few seconds.
WORKER_UNSEEN = timedelta(seconds=30)
_POLL_S = 1.0
#: The lock of this home, while this process is its worker.
_HELD: list[IO[str]] = []


class NameTaken(BenchmarkError, code="host_name_taken"):
    """A name that cannot be had: a live worker or another host has it, or it is no name."""


def seen(unseen: timedelta = WORKER_UNSEEN) -> Q:
    """Return the condition of hosts whose worker was seen lately, by the database's clock.

    If that clock was set back meanwhile, the worker was seen in its future until it reports again;
    one that is gone does not.
    """
    return Q(worker_seen_at__gt=Now() - unseen, worker_seen_at__lt=Now() + unseen)


def silent_hosts() -> QuerySet[Host]:
    """Return hosts whose worker was not seen for a while, or never."""
    return Host.objects.exclude(pk__in=Host.objects.filter(seen()).values("pk"))


def serving_hosts() -> QuerySet[Host]:
    """Return hosts whose worker lives and takes new work."""
    return Host.objects.filter(_lately(), drained_at=None, retired_at=None, idle_reason="")


def is_silent(host_id: int) -> bool:
    """Whether its worker was not seen for a while, or never."""
    return not Host.objects.filter(seen(), pk=host_id).exists()


def is_alive(host: Host) -> bool:
    """Whether its worker, if it is not this process, lives or at least was seen lately."""
    if host.worker in ("", this_process()):
        return False
    if is_of_this_home(host.worker):
        return not _HELD and not _hold_home(for_good=False)
    return Host.objects.filter(_lately(), pk=host.pk).exists()


def join_host(name: str, *, say: Callable[[str], None]) -> Host:
    """Make this process the worker of the host of that name, made if there is none.

    The name is free when its worker has left or is dead. A worker of another home, in another
    container or on another machine, is waited for: if it reports meanwhile it lives; if it is
    silent for long enough, it is gone. Raises NameTaken when it lives, or another worker does in
    this home.
    """
    if not (_HELD or _hold_home()):
        time.sleep(_POLL_S)  # a process that asks whether it is held holds it for a moment
        if not _hold_home():
            raise NameTaken(f"{settings.HOME} has a worker already: each needs a home of its own")
    host, _ = Host.objects.get_or_create(name=name)
    first: Host | None = None
    while (holder := _take(host.pk)) is not None:
        if first is None:
            say(f"{_taken(holder)}; waiting until it reports or is gone")
            first = holder
        elif (holder.worker, holder.worker_seen_at) != (first.worker, first.worker_seen_at):
            raise NameTaken(_taken(holder))
        time.sleep(_POLL_S)
    host.refresh_from_db()
    return host


def stay(host_id: int, name: str) -> None:
    """Say that this process lives.

    Raises NameTaken if another one is the host's worker now, or if the host has another name: one
    that was cut off for a while can be renamed.
    """
    mine = Host.objects.filter(pk=host_id, name=name, worker=this_process())
    if mine.update(worker_seen_at=Now()):
        return
    now = Host.objects.filter(pk=host_id).values_list("name", flat=True).first()
    if now != name:
        found = f"is called {now} now: start its worker with ADVISOR_HOST_NAME={now}"
        raise NameTaken(f"host {name} {found if now else 'is no longer in the database'}")
    if (holder := _take(host_id)) is not None:
        raise NameTaken(_taken(holder))


def leave_host(host_id: int) -> None:
    """Give the name back, so that another worker need not wait for it."""
    Host.objects.filter(pk=host_id, worker=this_process()).update(worker="")
    while _HELD:
        _HELD.pop().close()


def rename_host(host: Host, name: str) -> None:
    """Give the host another name; its history stays with it.

    Raises NameTaken for what is no name, if there is a host of that name, and while the host's
    worker lives: it takes its messages from the queue of the old name.
    """
    if not HOST_NAME.fullmatch(name):
        raise NameTaken(f"{name!r} is no name for a host: use letters, digits, '.', '-' and '_'")
    try:
        with transaction.atomic():
            held = Host.objects.select_for_update().get(pk=host.pk)
            if is_alive(held):
                raise NameTaken(f"{_taken(held)}: stop it first")
            Host.objects.filter(pk=host.pk).update(name=name)
    except IntegrityError:
        raise NameTaken(f"there is a host {name} already") from None
    host.refresh_from_db()


def _lately() -> Q:
    return seen(timedelta(seconds=settings.LOST_AFTER_SECONDS))


def _take(host_id: int) -> Host | None:
    """Become the worker; return the host as it is if its worker may be alive."""
    with transaction.atomic():
        host = Host.objects.select_for_update().get(pk=host_id)
        if is_alive(host):
            return host
        Host.objects.filter(pk=host_id).update(
            worker=this_process(), worker_seen_at=Now(), idle_reason=""
        )
    return None


def _hold_home(*, for_good: bool = True) -> bool:
    """Hold this home as its worker; False if another process does.

    The lock is of the process: one that it forks does not have it.
    """
    file = (settings.RUN_DIR / "worker.lock").open("a")
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return False
    if for_good:
        _HELD.append(file)
    else:
        file.close()
    return True


def _taken(host: Host) -> str:
    where = "here" if is_of_this_home(host.worker) else "in another home, perhaps elsewhere"
    when = f"{host.worker_seen_at:%Y-%m-%d %H:%M:%S %Z}" if host.worker_seen_at else "never"
    return f"host {host} has a worker already {where}, last seen {when}"

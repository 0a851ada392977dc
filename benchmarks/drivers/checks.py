"""Checks of both drivers, before a run and of its counters."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Mapping
from typing import Any

import pymysql
from pymysql.connections import Connection
from pymysql.cursors import Cursor

from benchmarks.drivers.protocol import Start, Target, TransactionCounts, Workload
from benchmarks.errors import RunFailed
from benchmarks.outcomes import Outcome

#: Transactions are abandoned after 2,000 attempts, which a healthy server never makes necessary.
MAX_FAILED_SHARE = 0.01
#: A driver that has not ended this long after warm-up and measured interval never will: a
#: transaction waits at most innodb_lock_wait_timeout (50 s by default) for each of its locks.
GRACE_S = 120.0
#: Longer than a load host takes to notice that it is cut off, which is then the reason.
_CONNECT_TIMEOUT_S = 20
_POLL_S = 0.1


def wait_to_begin(start: Start, should_stop: Callable[[], bool]) -> None:
    """Say that all is ready and wait until it may begin. Raises RunFailed (CANCELLED)."""
    start.ready()
    while (left := start.at - time.monotonic()) > 0:
        if should_stop():
            raise RunFailed(Outcome.CANCELLED, "The run was cancelled.")
        time.sleep(min(left, _POLL_S))


def connect(target: Target) -> Connection[Cursor]:
    """Connect as the driver's account, over TLS where the target has a certificate.

    Raises pymysql.Error or OSError, also for a server that has another certificate.
    """
    return pymysql.connect(
        **login(target),
        database=target.database,
        connect_timeout=_CONNECT_TIMEOUT_S,
        read_timeout=_CONNECT_TIMEOUT_S,
    )


def login(target: Target) -> dict[str, Any]:
    """Return pymysql's arguments for the driver's account.

    With a certificate, a server with that one at the address that it names is accepted, no other.
    """
    pem = target.certificate
    return {
        "host": target.host,
        "port": target.port,
        "user": target.user,
        "password": target.password,
        "ssl": ssl.create_default_context(cadata=pem) if pem else None,
        "ssl_disabled": not pem,
    }


def check_target(target: Target, workload: Workload) -> None:
    """Check that the account can log in over TCP and that the workload's data is there.

    A driver would only count failures otherwise. Logging in once also lets clients without TLS
    in that cannot ask for the server's public key: caching_sha2_password remembers the account.
    Raises `RunFailed` (DRIVER_FAILED).
    """
    try:
        with connect(target) as connection, connection.cursor() as cursor:
            for query, expected in workload.holds.items():
                cursor.execute(query)
                found = (cursor.fetchone() or ("nothing",))[0]
                if found != expected:
                    raise RunFailed(
                        Outcome.DRIVER_FAILED,
                        f"The data of {workload.name} is not there: {query} gives {found},"
                        f" not {expected}.",
                    )
    except (pymysql.Error, OSError) as error:
        raise RunFailed(
            Outcome.DRIVER_FAILED,
            f"The driver's account cannot work on {target.host}:{target.port}: {error}",
        ) from error


def verdict(
    counts: Mapping[str, TransactionCounts], workload: Workload
) -> tuple[Outcome, str] | None:
    """Return what is wrong with these counters, or None when they make a measurement."""
    completed = sum(count.completed for count in counts.values())
    failed = sum(count.failed for count in counts.values())
    if failed > MAX_FAILED_SHARE * (completed + failed):
        return Outcome.DRIVER_FAILED, f"{failed} of {completed + failed} transactions failed."
    if counts[workload.counted].completed == 0:
        return Outcome.ZERO_WORK, f"No {workload.noun} was completed in the measured interval."
    return None

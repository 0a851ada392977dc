"""The load host's own connection to the measured server; the driver has others.

It compares the clocks, and notices that the way to the measured host is cut: the driver's own
connections would wait for minutes. A server that is only slow is not taken for one that is gone,
because it is the measured host's kernel that answers keep-alive probes.

The clocks are compared by request and answer, as in NTP. The server read its clock somewhere
between the request and its answer: half the round trip is the largest error.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Self

import pymysql
from pymysql.connections import Connection
from pymysql.cursors import Cursor

from benchmarks.drivers.checks import login
from benchmarks.drivers.protocol import Target
from benchmarks.errors import RunFailed
from benchmarks.outcomes import Outcome

#: Seconds for which the measured host's kernel may leave our packets unanswered.
CUT_OFF_S = 10
_CONNECT_S = 20
#: Of so many comparisons of the clocks the fastest counts.
_TRIES = 12
_QUERY = "SELECT UTC_TIMESTAMP(6)"
#: A config may have the server end connections that say nothing for a while.
_STAY = "SET SESSION wait_timeout = 31536000"
_TCP = {
    socket.TCP_NODELAY: 1,
    socket.TCP_KEEPIDLE: 1,
    socket.TCP_KEEPINTVL: 1,
    socket.TCP_KEEPCNT: CUT_OFF_S,
    socket.TCP_USER_TIMEOUT: CUT_OFF_S * 1000,
}


@dataclass(frozen=True)
class ClockReading:
    """`offset_s` is the server host's time of day (seconds since 1970) less the load host's
    monotonic clock; `round_trip_s` is how long the fastest answer took.
    """

    offset_s: float
    round_trip_s: float


def read_clock(ask: Callable[[], datetime], *, tries: int = _TRIES) -> ClockReading:
    """Ask the other host for its time (UTC without a zone) several times."""
    found: list[ClockReading] = []
    for _ in range(tries):
        asked = time.monotonic()
        said = ask().replace(tzinfo=UTC).timestamp()
        answered = time.monotonic()
        found.append(ClockReading(said - (asked + answered) / 2, answered - asked))
    return min(found, key=lambda reading: reading.round_trip_s)


def time_of_day_less_monotonic() -> float:
    """Return this host's two clocks' difference; it changes only when the time of day is set."""
    before = time.monotonic()
    now = time.time()
    return now - (before + time.monotonic()) / 2


class Link:
    """Context manager; raises RunFailed: DRIVER_FAILED if the server does not let us in, LOST if
    nothing answers at its address or the connection breaks.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._broken = ""

    def __enter__(self) -> Self:
        target = self._target
        address = target.host, target.port
        with contextlib.ExitStack() as opened:
            try:
                raw = opened.enter_context(socket.create_connection(address, timeout=_CONNECT_S))
                self._handle = opened.enter_context(raw.dup())  # TLS takes `raw` away
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
                for option, value in _TCP.items():
                    raw.setsockopt(socket.IPPROTO_TCP, option, value)
                self._connection: Connection[Cursor] = Connection(
                    **login(target),
                    autocommit=True,
                    defer_connect=True,
                    init_command=_STAY,
                    read_timeout=_CONNECT_S,
                )
                self._connection.connect(raw)
            except (pymysql.Error, OSError) as error:
                raise RunFailed(
                    _blame(error),
                    f"The server on {target.host}:{target.port} cannot be used from here: {error}",
                ) from error
            opened.pop_all()
        return self

    def __exit__(self, *exc: object) -> None:
        with contextlib.suppress(pymysql.Error, OSError):
            self._connection.close()
        self._handle.close()

    @property
    def broken(self) -> str:
        """Return why the server can no longer be reached; "" as long as it can."""
        poll = select.poll()
        poll.register(self._handle, select.POLLRDHUP)
        if not self._broken and poll.poll(0):
            error = self._handle.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)  # said once only
            self._broken = os.strerror(error) if error else "the connection was closed"
        return self._broken

    def clock(self) -> ClockReading:
        """Compare the server host's clock with ours. Raises RunFailed: DRIVER_FAILED, LOST."""
        try:
            return read_clock(self._ask)
        except (pymysql.Error, OSError) as error:
            raise RunFailed(_blame(error), f"The server does not say its time: {error}") from error

    def look(self) -> None:
        """Ask now; `broken` says what came of it. A server that hangs does not break it."""
        with contextlib.suppress(pymysql.Error, OSError):
            self._ask()

    def _ask(self) -> datetime:
        with self._connection.cursor() as cursor:
            cursor.execute(_QUERY)
            row = cursor.fetchone()
        if not row or not isinstance(row[0], datetime):
            raise pymysql.err.InternalError(f"not a time: {row!r}")
        return row[0]


def _blame(error: pymysql.Error | OSError) -> Outcome:
    """A server's error may be the config's fault, an error of the network is not."""
    if isinstance(error, pymysql.Error):  # from 2000 to 2999 they are the client's own
        is_cut = bool(error.args) and error.args[0] in range(2000, 3000)
    else:
        is_cut = not isinstance(error, ConnectionRefusedError)
    return Outcome.LOST if is_cut else Outcome.DRIVER_FAILED

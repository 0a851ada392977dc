"""One request to one webhook, bounded in time and in what is read of the answer."""

from __future__ import annotations

import http.client
import io
import socket
import ssl
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from django.conf import settings

from advisor.webhooks.destinations import Destinations, Target

#: For the connection, the request and the head of the answer together.
TIMEOUT_S: Final = 10.0
#: Of the answer, whose status is all that counts.
MAX_ANSWER_BYTES: Final = 16 * 1024


class NoAnswer(Exception):
    """The request was not answered, for this reason."""


def post(target: Target, allowed: Destinations, headers: Mapping[str, str], body: bytes) -> int:
    """The status of the answer, whatever it is: no redirection is followed, no body is read.

    Raises NoAnswer.
    """
    deadline = time.monotonic() + TIMEOUT_S
    try:
        with _connected(target, _addresses(target, allowed), deadline) as connection:
            return _status(target, connection, deadline, headers, body)
    except TimeoutError as error:
        raise NoAnswer(f"no answer within {TIMEOUT_S:.0f} s") from error
    except ssl.SSLCertVerificationError as error:
        raise NoAnswer(f"its certificate is not to be trusted: {error.verify_message}") from error
    except OSError as error:
        raise NoAnswer(f"no connection: {error.strerror or error}") from error
    except UnicodeError as error:  # of a part of the name that is too long
        raise NoAnswer(f"{target.host} cannot be the name of a host") from error
    except http.client.HTTPException as error:
        raise NoAnswer(f"no answer in HTTP: {type(error).__name__}") from error


def _addresses(target: Target, allowed: Destinations) -> list[str]:
    """Those of the host's that may be reached, one at least. Raises NoAnswer, OSError."""
    found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    addresses = [str(address[0]) for *_, address in found]
    if usable := [one for one in addresses if allowed.may_reach(one)]:
        return usable
    raise NoAnswer(
        f"{target.host} is at {addresses[0]}, which is no address of the world and is not in "
        "ADVISOR_WEBHOOK_HOSTS"
    )


def _connected(target: Target, addresses: Sequence[str], deadline: float) -> socket.socket:
    connection = _first(addresses, target.port, deadline)
    if target.scheme == "http":
        return connection
    try:
        connection.settimeout(_left(deadline))
        return ssl.create_default_context().wrap_socket(connection, server_hostname=target.host)
    except BaseException:
        connection.close()
        raise


def _first(addresses: Sequence[str], port: int, deadline: float) -> socket.socket:
    """A connection to the first of them that takes one. Raises OSError."""
    for address in addresses[:-1]:
        with suppress(OSError):
            return socket.create_connection((address, port), _left(deadline))
    return socket.create_connection((addresses[-1], port), _left(deadline))


def _status(
    target: Target,
    connection: socket.socket,
    deadline: float,
    headers: Mapping[str, str],
    body: bytes,
) -> int:
    sender = http.client.HTTPConnection(target.host, target.port)
    sender.sock = connection
    connection.settimeout(_left(deadline))
    given = {
        "Host": target.authority,
        "Content-Type": "application/json",
        "User-Agent": f"mysql-oltp-tuning-advisor/{settings.CODE_VERSION}",
        "Connection": "close",
    }
    sender.request("POST", target.path, body, {**given, **headers})
    bounded: Any = _Bounded(connection, deadline)
    answer = http.client.HTTPResponse(bounded, method="POST")
    try:
        answer.begin()
        return answer.status
    finally:
        answer.close()


def _left(deadline: float) -> float:
    """Seconds until then. Raises TimeoutError."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


class _Bounded(io.RawIOBase):
    """What comes back on a connection until a deadline, so many bytes at most.

    A socket's own timeout begins anew with every byte. `http.client` takes it for the socket.
    """

    def __init__(self, connection: socket.socket, deadline: float) -> None:
        self._connection = connection
        self._deadline = deadline
        self._room = MAX_ANSWER_BYTES

    def makefile(self, *_: Any) -> io.BufferedReader:
        return io.BufferedReader(self, 1024)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._connection.settimeout(_left(self._deadline))
        count = self._connection.recv_into(memoryview(buffer)[: self._room])
        self._room -= count
        return count

"""Run the script's statements on a server through a connection of a read-only account."""

from __future__ import annotations

import ipaddress
import re
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pymysql
from pymysql.connections import Connection

from tuning.errors import InvalidRequest, TuningError
from tuning.server_profile.profile import Profile
from tuning.server_profile.reading import Row, read_profile, statements

_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,251}[A-Za-z0-9])?", re.ASCII)
_CONNECT_S = 10
_ANSWER_S = 60
#: Errors of a server that refuses an account one statement; the profile does without its part.
_NOT_ALLOWED = {1142, 1143, 1227}


@dataclass(frozen=True)
class Place:
    """Where a server listens and who asks: by a socket, or by a host and its port.

    ca: the file of the authority that signed the server's certificate; None: the system's own.
    checks_name: whether the certificate must name the host.
    Raises InvalidRequest about the field at fault.
    """

    user: str
    password: str = field(repr=False)
    host: str = ""
    port: int = 3306
    socket: Path | None = None
    ca: Path | None = None
    checks_name: bool = True

    def __post_init__(self) -> None:
        if self.socket is None:
            check_host(self.host)

    def __str__(self) -> str:
        return f"{self.host}:{self.port}" if self.socket is None else f"{self.socket}"

    @property
    def is_local(self) -> bool:
        """Whether no network lies between: a socket or a loopback address."""
        if self.socket is not None or self.host == "localhost":
            return True
        address = _address(self.host)
        return address is not None and address.is_loopback


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def check_host(text: str) -> None:
    """Raise InvalidRequest unless it is a plain host name or address, without anything else."""
    if _address(text) is None and _HOST.fullmatch(text) is None:
        reason = f"must be a host name or an address and nothing else, not {text[:60]!r}"
        raise InvalidRequest([("host", reason)])


class _Reader(Connection):
    """A connection that sends no SET: the handshake has named the character set already."""

    def set_character_set(self, charset: Any, collation: Any = None) -> None:
        """Leave the session as it is."""


def attach(
    place: Place,
    seconds: int,
    *,
    memory_bytes: int | None = None,
    hides_names: bool = False,
) -> Profile:
    """Read the server twice, `seconds` apart, and return its profile.

    Raises TuningError, cannot_attach, if the server cannot be reached, refuses the account or
    offers no TLS, and InvalidRequest for an answer that is no profile.
    """
    rows: list[Row] = []
    try:
        with _connect(place, seconds) as connection, connection.cursor() as cursor:
            for statement in statements(seconds):
                try:
                    cursor.execute(statement)
                except pymysql.err.MySQLError as error:
                    if error.args[0] in _NOT_ALLOWED:
                        continue
                    raise
                rows += (tuple(map(_text, row)) for row in cursor.fetchall())
    except (pymysql.err.MySQLError, OSError) as error:
        raise TuningError("cannot_attach", f"{place}: {_reason(error)}") from None
    return read_profile(rows, read_by="attach", memory_bytes=memory_bytes, hides_names=hides_names)


def _connect(place: Place, seconds: int) -> Connection[Any]:
    """Return a connection, with TLS unless no network lies between."""
    where: dict[str, Any] = {"host": place.host, "port": place.port}
    if place.socket is not None:
        where = {"unix_socket": str(place.socket)}
    return _Reader(
        user=place.user,
        password=place.password.encode(),
        ssl=_tls(place),
        autocommit=None,
        charset="utf8mb4",
        connect_timeout=_CONNECT_S,
        read_timeout=seconds + _ANSWER_S,
        write_timeout=_CONNECT_S,
        local_infile=False,
        **where,
    )


def _tls(place: Place) -> ssl.SSLContext | None:
    if place.is_local and place.ca is None:
        return None
    try:
        context = ssl.create_default_context(cafile=None if place.ca is None else str(place.ca))
    except (OSError, ssl.SSLError):
        raise InvalidRequest([("ssl_ca", "is not a file with a certificate")]) from None
    context.check_hostname = place.checks_name
    return context


def _text(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else f"{value}"


def _reason(error: Exception) -> str:
    """Return the server's own words, with a hint where TLS is the matter."""
    text = " ".join(f"{error.args[-1] if error.args else error}".split())[:300]
    if "doesn't support SSL" in text:
        return f"{text}. A password never goes over a network without TLS"
    if "certificate verify failed" in text:
        return f"{text}. Name the server's authority by --ssl-ca, or add --no-name-check"
    return text

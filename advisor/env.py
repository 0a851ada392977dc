"""Values of environment variables: each parser raises ValueError with what was expected."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit, urlunsplit
from zoneinfo import ZoneInfo

import environ
from django.core.exceptions import ImproperlyConfigured

from benchmarks.host_names import HOST_NAME

# Any other text is refused: a misspelt "true" would silently switch off HTTPS.
_ON = ("true", "on", "yes", "y", "ok", "1")
_OFF = ("false", "off", "no", "n", "0", "")
_MAX_LIMIT = 1_000_000
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class Setting:
    """An environment variable, and its line in docs/reference/settings.md.

    `shown`: what the document says of the default, where that is not the text itself.
    `is_secret`: no error repeats the text, which may have a password.
    """

    name: str
    default: str
    parse: Callable[[str], Any]
    help: str
    shown: str = ""
    is_secret: bool = False

    def read(self, environment: Mapping[str, str] = os.environ) -> Any:
        """Raises ImproperlyConfigured."""
        text = environment.get(self.name, self.default)
        try:
            return self.parse(text)
        except ValueError as error:
            shown = self.name if self.is_secret else f"{self.name}={text!r}"
            raise ImproperlyConfigured(f"{shown} is invalid: {error}") from error


def switch(text: str) -> bool:
    """Read true or false."""
    word = text.strip().lower()
    if word not in _ON + _OFF:
        raise ValueError("expected true or false")
    return word in _ON


def words(text: str) -> list[str]:
    """Texts that are separated by commas."""
    return [word for part in text.split(",") if (word := part.strip())]


def number(text: str) -> float:
    """Read a number that is not negative."""
    return _within(float(text), 0, _MAX_LIMIT)


def whole_number(text: str) -> int:
    """Read a whole number that is not negative."""
    return int(_within(int(text), 0, _MAX_LIMIT))


def port(text: str) -> int:
    """Read the number of a port."""
    return int(_within(int(text), 1, 65_535))


def port_or_any(text: str) -> int:
    """A port; 0 stands for any free one."""
    return int(_within(int(text), 0, 65_535))


def _within(value: float, least: int, most: int) -> float:
    if not least <= value <= most:
        raise ValueError(f"expected {least} to {most}")
    return value


def host_name(text: str) -> str:
    """The name of a host, which is that of its queue as well."""
    if not HOST_NAME.fullmatch(text):
        raise ValueError("use letters, digits, '.', '-' and '_'")
    return text


def bind_address(text: str) -> str:
    """An address or a name to listen on, without a port."""
    try:
        return str(ip_address(text.removeprefix("[").removesuffix("]")))
    except ValueError:
        is_name = re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]*", text) is not None
        if not is_name or re.fullmatch(r"[0-9.]+", text):
            raise
    return text


def address(text: str) -> str:
    """An IP address as a number; "" where there is none."""
    return str(ip_address(text)) if text else ""


def networks(text: str) -> list[IPv4Network | IPv6Network]:
    """Addresses and networks, separated by commas."""
    try:
        return [ip_network(word) for word in words(text)]
    except ValueError as error:
        example = "expected addresses and networks such as 10.0.0.5,172.16.0.0/12"
        raise ValueError(f"{example}: {error}") from error


def time_zone(text: str) -> str:
    """Read the name of a time zone."""
    try:
        ZoneInfo(text)
    except (ValueError, OSError, KeyError) as error:
        raise ValueError("expected a time zone such as Europe/Berlin") from error
    return text


def log_level(text: str) -> str:
    """Read one of Python's log levels, in any case."""
    known = logging.getLevelNamesMapping()
    if text.upper() not in known:
        raise ValueError(f"expected one of {', '.join(known)}")
    return text.upper()


def origins(text: str) -> list[str]:
    """Read origins with their scheme, separated by commas."""
    found = words(text)
    if any(not re.match(r"https?://[^/]", origin) for origin in found):
        raise ValueError("expected origins with scheme, such as https://advisor.example.org")
    return found


def notify_urls(text: str) -> list[str]:
    """Read URLs, separated by commas: https, or http on this machine."""
    found = words(text)
    for url in found:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("expected URLs such as https://ci.example.org/hook")
        if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
            raise ValueError("expected https: only this machine is notified without TLS")
    return found


def home(text: str) -> Path:
    """Read a path; `~` is the home of the user."""
    return Path(text).expanduser().resolve()


def paths(text: str) -> list[Path]:
    """Absolute paths, separated as in PATH."""
    found = [Path(part) for part in text.split(os.pathsep) if part]
    if relative := [str(path) for path in found if not path.is_absolute()]:
        raise ValueError(f"{relative[0]} is not an absolute path")
    return found


def path(text: str) -> Path | None:
    """One absolute path; None where there is none."""
    found = paths(text)
    return found[0] if found else None


def lock_file(text: str) -> Path:
    """A file that is locked; it is made if need be, its folder is not."""
    found = Path(text)
    if not found.is_absolute() or not found.parent.is_dir():
        raise ValueError("expected the absolute path of a file in an existing folder")
    return found


def database(url: str) -> dict[str, Any]:
    """A Django database entry, empty where there is no URL; only schemes that Django knows."""
    if not url:
        return {}
    parts = _split(url)
    if parts.scheme not in ("sqlite", "postgres", "postgresql"):
        raise ValueError(f"its scheme is {parts.scheme!r}: expected sqlite, postgres, postgresql")
    is_named = parts.path.strip("/") or "service=" in parts.query
    if not is_named or not url.startswith(f"{parts.scheme}://"):
        wanted = "a file: sqlite:////var/lib/advisor.sqlite3"
        if parts.scheme != "sqlite":
            wanted = "a database: postgres://user:password@host/name"
        raise ValueError(f"it does not name {wanted}")
    return dict(environ.Env.db_url_config(url))


def broker(url: str) -> str:
    """The URL of Redis; with TLS its certificate is verified unless the URL says otherwise."""
    if not url:
        return ""
    parts = _split(url)
    is_complete = parts.path if parts.scheme == "redis+socket" else parts.hostname
    if parts.scheme not in ("redis", "rediss", "redis+socket") or not is_complete:
        raise ValueError("expected redis://HOST, rediss://HOST or redis+socket:///PATH")
    if parts.scheme != "rediss":
        return url
    # Without these kombu would encrypt for whoever answers.
    verified = {"ssl_cert_reqs": "required", "ssl_check_hostname": "true"}
    return urlunsplit(parts._replace(query=urlencode(verified | dict(parse_qsl(parts.query)))))


def _split(url: str) -> SplitResult:
    parts = urlsplit(url)
    _ = parts.port  # read here, where a wrong one is noticed
    return parts

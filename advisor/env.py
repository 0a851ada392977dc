"""Settings from the environment: an invalid value is an error that says what was expected."""

from __future__ import annotations

import logging
import os
import re
import secrets
import stat
import tempfile
from contextlib import suppress
from hashlib import sha256
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit, urlunsplit
from zoneinfo import ZoneInfo

import environ
from django.core.exceptions import ImproperlyConfigured

from benchmarks.host_names import HOST_NAME
from benchmarks.storage.reserve import Reserve, parse_reserve

# The kernel's limit for a Unix socket path is 107 bytes; leave room for a suffix.
MAX_SOCKET_PATH = 100

env = environ.Env()

# Texts of switches; anything else is refused: a misspelt "true" would silently switch off HTTPS.
_ON = ("true", "on", "yes", "y", "ok", "1")
_OFF = ("false", "off", "no", "n", "0", "")
MAX_LIMIT = 1_000_000
MAX_PORT = 65_535


def read_text(name: str, default: str) -> str:
    """The variable as it is."""
    return str(env.str(name, default=default))


def read_switch(name: str, default: bool) -> bool:
    """On or off."""
    text = read_text(name, str(default)).strip().lower()
    if text not in _ON + _OFF:
        raise _invalid(name, "expected true or false")
    return text in _ON


def read_list(name: str, default: str) -> list[str]:
    """Texts that are separated by commas."""
    return [text for one in read_text(name, default).split(",") if (text := one.strip())]


def read_port(name: str, default: int) -> int:
    """A port on which something is offered to others."""
    return int(read_limit(name, default, kind=int, least=1, most=MAX_PORT))


def read_limit(
    name: str,
    default: float,
    kind: type[float] | type[int] = float,
    least: int = 0,
    most: int = MAX_LIMIT,
) -> Any:
    """A number from `least` to `most`."""
    text = read_text(name, str(default))
    try:
        value = kind(text)
    except ValueError as error:
        raise _invalid(name, f"{error}") from error
    if not least <= value <= most:
        raise _invalid(name, f"expected {least} to {most}")
    return value


def _invalid(name: str, why: str) -> ImproperlyConfigured:
    return ImproperlyConfigured(f"{name}={read_text(name, '')!r} is invalid: {why}")


def read_host_name(name: str, default: str) -> str:
    """The name of a host, which is that of its queue as well."""
    text = read_text(name, default)
    if name in env.ENVIRON and not HOST_NAME.fullmatch(text):
        raise _invalid(name, "use letters, digits, '.', '-' and '_'")
    return text


def read_bind(name: str, default: str) -> str:
    """An address to listen on, without a port."""
    text = read_text(name, default)
    bare = text.removeprefix("[").removesuffix("]")
    try:
        return str(ip_address(bare))
    except ValueError as error:
        is_name = re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]*", text) is not None
        if not is_name or re.fullmatch(r"[0-9.]+", text):
            raise _invalid(name, f"{error}") from error
    return text


def read_time_zone(name: str, default: str) -> str:
    """A time zone by its name in the zone database."""
    text = read_text(name, default)
    try:
        ZoneInfo(text)
    except (ValueError, OSError, KeyError) as error:
        raise _invalid(name, "expected a time zone such as Europe/Berlin") from error
    return text


def read_log_level(name: str, default: str) -> str:
    """One of Python's log levels."""
    text = read_text(name, default).upper()
    if text not in (known := logging.getLevelNamesMapping()):
        raise _invalid(name, f"expected one of {', '.join(known)}")
    return text


def read_origins(name: str) -> list[str]:
    """Origins, with their schemes."""
    origins = read_list(name, "")
    if any(not re.match(r"https?://[^/]", one) for one in origins):
        raise _invalid(name, "expected origins with scheme, such as https://advisor.example.org")
    return origins


def read_address(name: str) -> str:
    """An IP address as a number; "" where there is none."""
    text = read_text(name, "")
    try:
        return str(ip_address(text)) if text else ""
    except ValueError as error:
        raise _invalid(name, f"{error}") from error


def read_reserve(name: str) -> Reserve:
    """How much of a file system stays free."""
    try:
        return parse_reserve(read_text(name, ""))
    except ValueError as error:
        raise _invalid(name, f"{error}") from error


def read_paths(name: str) -> list[Path]:
    """Absolute paths, separated as in PATH."""
    paths = [Path(text) for text in read_text(name, "").split(os.pathsep) if text]
    if relative := [str(path) for path in paths if not path.is_absolute()]:
        raise ImproperlyConfigured(f"{name} has a path that is not absolute: {relative[0]}")
    return paths


def read_path(name: str, default: Path) -> Path:
    """One absolute path."""
    return (read_paths(name) or [default])[0]


def read_networks(name: str) -> list[IPv4Network | IPv6Network]:
    """Addresses and networks, separated by commas; none where the variable is not set."""
    try:
        return [ip_network(text) for text in read_list(name, "")]
    except ValueError as error:
        raise ImproperlyConfigured(
            f"{name} lists addresses and networks such as 10.0.0.5,172.16.0.0/12: {error}"
        ) from error


def read_database(name: str, default: str) -> dict[str, Any]:
    """A Django database entry from a URL; only schemes that Django can talk to are taken."""
    url = read_text(name, default)
    parts = _split(name, url)
    allowed = ("sqlite", "postgres", "postgresql")
    if parts.scheme not in allowed:
        raise ImproperlyConfigured(
            f"{name} has scheme {parts.scheme!r}: expected one of {', '.join(allowed)}"
        )
    is_named = parts.path.strip("/") or "service=" in parts.query
    if not is_named or not url.startswith(f"{parts.scheme}://"):
        wanted = "a file: sqlite:////var/lib/advisor.sqlite3"
        if parts.scheme != "sqlite":
            wanted = "a database: postgres://user:password@host/name"
        raise ImproperlyConfigured(f"{name} does not name {wanted}")
    return dict(env.db_url(name, default=default))


def _split(name: str, url: str) -> SplitResult:
    """The parts of a URL. Its text is in no error: it may have a password."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # read here, where a wrong one is noticed
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} is no URL: {error}") from error
    return parts


def read_broker(name: str, default: str) -> str:
    """The URL of Redis; with TLS its certificate is verified unless the URL says otherwise."""
    url = read_text(name, default)
    parts = _split(name, url)
    is_complete = parts.path if parts.scheme == "redis+socket" else parts.hostname
    if parts.scheme not in ("redis", "rediss", "redis+socket") or not is_complete:
        raise ImproperlyConfigured(
            f"{name} must be redis://HOST, rediss://HOST or redis+socket:///PATH"
        )
    if parts.scheme != "rediss":
        return url
    # Without these kombu would encrypt for whoever answers.
    verified = {"ssl_cert_reqs": "required", "ssl_check_hostname": "true"}
    return urlunsplit(parts._replace(query=urlencode(verified | dict(parse_qsl(parts.query)))))


def read_notify_urls(name: str, key_name: str) -> list[str]:
    """URLs that are told what has ended; the variable `key_name` has the key that signs."""
    urls = read_list(name, "")
    for url in urls:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise _invalid(name, "expected URLs such as https://ci.example.org/hook")
        if parts.scheme == "http" and parts.hostname not in ("localhost", "127.0.0.1", "::1"):
            raise _invalid(name, "expected https: only this machine is notified without TLS")
    if urls and not read_text(key_name, ""):
        raise ImproperlyConfigured(f"{name} needs {key_name}: the key that signs what is sent")
    return urls


def private_dir(path: Path) -> Path:
    """`path` in the home, made if need be, closed to everyone but this user."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(0o700)
    except OSError as error:
        raise ImproperlyConfigured(f"ADVISOR_HOME cannot be used: {error}") from error
    return path


def read_lock(name: str, default: Path) -> Path:
    """A file that is locked; it is made if need be, its folder is not."""
    path = Path(read_text(name, str(default)))
    if not path.is_absolute() or not path.parent.is_dir():
        raise ImproperlyConfigured(f"{name}={str(path)!r} is not a file in an existing folder")
    return path


def machine_wide_file() -> Path:
    """A file that all containers of this machine see as one, without anything mounted.

    It stands for a namespace of the kernel: that of times, which container engines leave alone,
    or of users on a kernel before 5.6.
    """
    times = Path("/proc/self/ns/time")
    return times if times.exists() else Path("/proc/self/ns/user")


def kept_secret(path: Path) -> str:
    """The secret in `path`; made on first use, readable by this user only."""
    if not path.exists():
        # Written whole and then linked: two processes that start together get the same secret.
        descriptor, draft = tempfile.mkstemp(dir=path.parent)
        try:
            with open(descriptor, "w") as file:
                file.write(secrets.token_urlsafe(50))
            with suppress(FileExistsError):
                os.link(draft, path)
        finally:
            os.unlink(draft)
    return path.read_text().strip()


def socket_path(run_dir: Path, name: str) -> Path:
    """`run_dir/name`, or a short private folder when that is too long for a Unix socket."""
    path = run_dir / name
    if len(str(path)) <= MAX_SOCKET_PATH:
        return path
    short = sha256(str(run_dir).encode()).hexdigest()[:12]
    folder = Path(tempfile.gettempdir()) / f"oltp-advisor-{os.geteuid()}-{short}"
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    # Anybody may have made a folder of that name in /tmp, to be the Redis that we talk to.
    facts = folder.lstat()
    if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.geteuid() or facts.st_mode & 0o077:
        raise ImproperlyConfigured(f"{folder} is not a private folder of this user: remove it")
    return folder / name

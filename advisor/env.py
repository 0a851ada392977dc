"""Settings from the environment: an invalid value is an error that says what was expected."""

from __future__ import annotations

import os
import secrets
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import environ
from django.core.exceptions import ImproperlyConfigured

from benchmarks.storage.reserve import Reserve, parse_reserve

# The kernel's limit for a Unix socket path is 107 bytes; leave room for a suffix.
MAX_SOCKET_PATH = 100

env = environ.Env()


def read(kind: Callable[..., Any], name: str, default: Any) -> Any:
    """Read `name` with one of django-environ's casts; a bad value names the variable."""
    try:
        return kind(name, default=default)
    except (ValueError, TypeError, ImproperlyConfigured) as error:
        value = env.str(name, default="")
        raise ImproperlyConfigured(f"{name}={value!r} is invalid: {error}") from error


def read_port(name: str, default: int) -> int:
    port = read(env.int, name, default)
    if not 1 <= port <= 65535:
        raise ImproperlyConfigured(f"{name}={port} is not a port: expected 1 to 65535")
    return int(port)


def read_limit(name: str, default: float, kind: type[float] | type[int] = float) -> Any:
    """A number that is not negative, nor infinite or NaN."""
    cast = env.int if kind is int else env.float
    value = read(cast, name, default)
    if not (0 <= value < float("inf")):
        raise ImproperlyConfigured(f"{name}={value} is invalid: expected 0 or more")
    return value


def read_address(name: str) -> str:
    """An IP address as a number; "" where there is none."""
    text: str = env.str(name, default="")
    try:
        return str(ip_address(text)) if text else ""
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}={text!r} is invalid: {error}") from error


def read_reserve(name: str) -> Reserve:
    """How much of a file system stays free."""
    text = env.str(name, default="")
    try:
        return parse_reserve(text)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}={text!r} is invalid: {error}") from error


def read_paths(name: str) -> list[Path]:
    """Absolute paths, separated as in PATH."""
    paths = [Path(text) for text in env.str(name, default="").split(os.pathsep) if text]
    if relative := [str(path) for path in paths if not path.is_absolute()]:
        raise ImproperlyConfigured(f"{name} has a path that is not absolute: {relative[0]}")
    return paths


def read_networks(name: str) -> list[IPv4Network | IPv6Network]:
    """Addresses and networks, separated by commas; none where the variable is not set."""
    texts = [text for one in env.str(name, default="").split(",") if (text := one.strip())]
    try:
        return [ip_network(text) for text in texts]
    except ValueError as error:
        raise ImproperlyConfigured(
            f"{name} lists addresses and networks such as 10.0.0.5,172.16.0.0/12: {error}"
        ) from error


def read_database(name: str, default: str) -> dict[str, Any]:
    """A Django database entry from a URL; only schemes that Django can talk to are taken."""
    url = env.str(name, default=default)
    scheme = urlsplit(url).scheme
    allowed = ("sqlite", "postgres", "postgresql")
    if scheme not in allowed:
        raise ImproperlyConfigured(
            f"{name} has scheme {scheme!r}: expected one of {', '.join(allowed)}"
        )
    return dict(env.db_url(name, default=default))


def read_broker(name: str, default: str) -> str:
    """The URL of Redis; with TLS its certificate is verified unless the URL says otherwise."""
    url: str = env.str(name, default=default)
    parts = urlsplit(url)
    if parts.scheme not in ("redis", "rediss", "redis+socket"):
        raise ImproperlyConfigured(
            f"{name} must start with redis://, rediss:// or redis+socket://"
        )
    if parts.scheme != "rediss":
        return url
    # Without these kombu would encrypt for whoever answers.
    verified = {"ssl_cert_reqs": "required", "ssl_check_hostname": "true"}
    return urlunsplit(parts._replace(query=urlencode(verified | dict(parse_qsl(parts.query)))))


def private_dir(path: Path) -> Path:
    """`path`, made if need be, closed to everyone but this user."""
    path.mkdir(parents=True, exist_ok=True)
    path.chmod(0o700)
    return path


def read_lock(name: str, default: Path) -> Path:
    """A file that is locked; it is made if need be, its folder is not."""
    path = Path(read(env.str, name, str(default)))
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

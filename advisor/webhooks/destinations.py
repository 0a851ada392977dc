"""Where webhooks may go: what an administrator of the machine listed in ADVISOR_WEBHOOK_HOSTS.

A name is held against the list when a webhook is made and whenever it is sent. The address that it
resolves to is judged where the connection is made, which then goes to that very address: between
the two nothing can be resolved again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final
from urllib.parse import SplitResult, urlsplit

MAX_URL: Final = 500
_PORTS: Final = {"https": 443, "http": 80}
_NAME: Final = re.compile(r"\.?[a-z0-9_-]+(\.[a-z0-9_-]+)*")
#: What the world's IPv6 routes lead to.
_GLOBAL_UNICAST: Final = IPv6Network("2000::/3")
#: Carry an address of IPv4 in their last bits.
_TRANSLATED: Final = IPv6Network("64:ff9b::/96")

Address = IPv4Address | IPv6Address


class UrlRefused(Exception):
    """No webhook goes there; `code` is a stable word, the text one line for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Target:
    """A checked URL. `host` is a name or an address, `path` has the query."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """As in the header `Host`."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


@dataclass(frozen=True)
class Entry:
    """A name that is listed; with a dot in front all names below it."""

    scheme: str
    host: str
    port: int

    def covers(self, target: Target) -> bool:
        if (self.scheme, self.port) != (target.scheme, target.port):
            return False
        if self.host.startswith("."):
            return target.host.endswith(self.host)
        return target.host == self.host


@dataclass(frozen=True)
class Destinations:
    """All that is listed. `networks`: addresses that are none of the world's and allowed.

    texts: the list as it was written.
    """

    texts: tuple[str, ...] = ()
    entries: tuple[Entry, ...] = ()
    networks: tuple[IPv4Network | IPv6Network, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.entries)

    def target(self, url: str) -> Target:
        """Raises UrlRefused: invalid_url, host_not_listed."""
        target = _target(url)
        if not any(entry.covers(target) for entry in self.entries):
            raise UrlRefused(
                "host_not_listed",
                f"{target.scheme}://{target.authority} is not in ADVISOR_WEBHOOK_HOSTS, where an "
                "administrator of this machine lists what webhooks may reach",
            )
        return target

    def may_reach(self, address: str) -> bool:
        """Whether a connection to this address may be made: to the world, or where listed."""
        found = _meant(ip_address(address.partition("%")[0]))
        return _is_of_the_world(found) or any(found in network for network in self.networks)


def parse_destinations(texts: Sequence[str]) -> Destinations:
    """From the texts of the list: `ci.example.org`, `.example.org`, `ci.example.org:8443`,
    `http://ci.internal:8080`, `10.1.2.3`, `10.0.0.0/8`. Raises ValueError.
    """
    entries: list[Entry] = []
    networks: list[IPv4Network | IPv6Network] = []
    for text in texts:
        if "/" in text and "://" not in text:
            networks.append(ip_network(text))
            continue
        entry = _entry(text)
        entries.append(entry)
        if (address := _address(entry.host)) is not None:
            networks.append(ip_network(address))
    return Destinations(tuple(texts), tuple(entries), tuple(networks))


def _entry(text: str) -> Entry:
    bare = _address(text)
    if bare is not None and bare.version == 6:
        return Entry("https", str(bare), _PORTS["https"])
    parts = urlsplit(text if "://" in text else f"https://{text}")
    host = _host(parts)
    is_name = host is not None and (_NAME.fullmatch(host) or _address(host) is not None)
    if host is None or not is_name or _has_more(parts) or parts.scheme not in _PORTS:
        raise ValueError(f"{text!r} is no host: expected such as ci.example.org:8443")
    return Entry(parts.scheme, host, parts.port or _PORTS[parts.scheme])


def _has_more(parts: SplitResult) -> bool:
    return bool(parts.path.strip("/") or parts.query or parts.fragment or "@" in parts.netloc)


def _target(url: str) -> Target:
    # First the characters: urlsplit passes over line ends and tabs.
    if not re.fullmatch(r"[!-~]+", url) or len(url) > MAX_URL:
        raise UrlRefused("invalid_url", f"a URL has 1 to {MAX_URL} ASCII characters, no spaces")
    try:
        parts = urlsplit(url)
        port, host = parts.port, _host(parts)
    except ValueError as error:
        raise UrlRefused("invalid_url", f"this is no URL: {error}") from error
    if parts.scheme not in _PORTS or not host:
        raise UrlRefused("invalid_url", "expected https:// and a host")
    if "@" in parts.netloc:
        raise UrlRefused(
            "invalid_url", "a URL with a password is not kept: the signature says who sends"
        )
    if parts.fragment or not (_NAME.fullmatch(host) or _address(host) is not None):
        raise UrlRefused("invalid_url", "expected a URL without #, whose host is a plain name")
    path = parts.path or "/"
    return Target(
        parts.scheme,
        host,
        _PORTS[parts.scheme] if port is None else port,
        f"{path}?{parts.query}" if parts.query else path,
    )


def _host(parts: SplitResult) -> str | None:
    """In the form in which hosts are compared."""
    host = (parts.hostname or "").removesuffix(".")
    address = _address(host)
    return str(address) if address is not None else host or None


def _address(text: str) -> Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None


def _meant(address: Address) -> Address:
    """Of IPv6 that only carries an address of IPv4, that one."""
    if isinstance(address, IPv6Address):
        if address in _TRANSLATED:
            return IPv4Address(int(address) & 0xFFFFFFFF)
        return address.ipv4_mapped or address.sixtofour or address
    return address


def _is_of_the_world(address: Address) -> bool:
    if isinstance(address, IPv6Address) and address not in _GLOBAL_UNICAST:
        return False
    return address.is_global and not address.is_multicast

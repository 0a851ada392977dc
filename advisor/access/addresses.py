"""IP addresses as they come with requests."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

# Who has an IPv6 address has all of its network.
IPV6_PREFIX = 64
_WITH_PORT = re.compile(r"(?:\[(?P<six>[^\]]+)\](?::\d+)?|(?P<four>[\d.]+):\d+)")


def parse(text: str) -> IPv4Address | IPv6Address | None:
    """The address, without its port; of IPv4 also where IPv6 carries it. None: it is none."""
    if found := _WITH_PORT.fullmatch(text):
        text = found["six"] or found["four"]
    try:
        address = ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def network_of(text: str) -> str:
    """What an address is counted as: itself, of IPv6 its network."""
    address = parse(text)
    if isinstance(address, IPv6Address):
        return str(ip_network((address, IPV6_PREFIX), strict=False))
    return str(address or text)

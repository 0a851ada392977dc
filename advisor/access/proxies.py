"""Headers of a proxy count only where ADVISOR_PROXY lists the proxy."""

from __future__ import annotations

import re
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse

FORWARDED = ("HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_PROTO", "HTTP_X_FORWARDED_HOST")
# Other servers and programs send these. Nothing here reads them, and no library may find them.
OTHERS = (
    "HTTP_FORWARDED",
    "HTTP_X_FORWARDED_PORT",
    "HTTP_X_FORWARDED_SSL",
    "HTTP_X_FORWARDED_PROTOCOL",
    "HTTP_X_REAL_IP",
)

IPV6_PREFIX = 64
_WITH_PORT = re.compile(r"(?:\[(?P<six>[^\]]+)\](?::\d+)?|(?P<four>[\d.]+):\d+)")


class ProxyMiddleware:
    """The first of all: afterwards REMOTE_ADDR, scheme and Host are the user's own.

    Of a header with several values the last counts, which the proxy itself has written; of
    the addresses the last that is not a listed proxy's.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        meta = request.META
        addresses, scheme, host = (_values(meta.pop(name, "")) for name in FORWARDED)
        for name in OTHERS:
            meta.pop(name, None)
        peer = meta.get("REMOTE_ADDR", "")
        if not is_listed(peer):
            if scheme:
                # A web server that believes this header itself is told otherwise.
                meta["wsgi.url_scheme"] = "http"
                if settings.SECURE_SSL_REDIRECT:
                    return _unlisted(peer)
            return self._get_response(request)
        if scheme:
            meta["wsgi.url_scheme"] = "https" if scheme[-1].lower() == "https" else "http"
        if host:
            meta["HTTP_HOST"] = host[-1]
        strangers = [one for one in addresses if not is_listed(one)]
        if strangers and (address := parse(strangers[-1])):
            meta["REMOTE_ADDR"] = str(address)
        return self._get_response(request)


def is_listed(text: str) -> bool:
    """Whether the address is of a proxy in ADVISOR_PROXY."""
    address = parse(text)
    return address is not None and any(address in network for network in settings.PROXIES)


def network_of(request: HttpRequest) -> str:
    """Return the address that wrong log-ins are counted for: of IPv6 the network of a /64.

    Whoever has an IPv6 address has all of its network. django-axes calls this.
    """
    address = parse(request.META.get("REMOTE_ADDR", ""))
    if isinstance(address, IPv6Address):
        return str(ip_network((address, IPV6_PREFIX), strict=False).network_address)
    return str(address or "")


def parse(text: str) -> IPv4Address | IPv6Address | None:
    """The address without its port, an IPv4 address also if IPv6 carries it; None if invalid."""
    if match := _WITH_PORT.fullmatch(text):
        text = match["six"] or match["four"]
    try:
        address = ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _values(header: Any) -> list[str]:
    return [text for one in str(header).split(",") if (text := one.strip())]


def _unlisted(peer: str) -> HttpResponse:
    """Instead of a redirection to HTTPS, which the same proxy would bring back for ever."""
    text = (
        "This server is behind a proxy that it has not been told to believe.\n"
        f"Set ADVISOR_PROXY to the address of the proxy ({peer}) and start it again.\n"
    )
    return HttpResponse(text, status=400, content_type="text/plain; charset=utf-8")

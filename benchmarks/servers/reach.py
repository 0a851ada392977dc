"""A server that a driver on another machine reaches: on which address, for whom, encrypted."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from benchmarks.errors import BenchmarkError

#: The clocks of two hosts may differ by any time; nobody trusts it but the driver of one run.
_VALID = datetime(1970, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class NotReachable(BenchmarkError, code="not_reachable"):
    """The server cannot be offered to a load host on that address, or not in that way."""


@dataclass(frozen=True)
class Reach:
    """How a load host reaches a server, which without a `Reach` listens on loopback only.

    `address` is this host's, named by its administrator, `client` the load host's as this host
    sees it, both as numbers. `port` 0 takes a free one. With `encrypted` the account can log in
    over TLS only. Raises NotReachable for an address that must not be used.
    """

    address: str
    client: str
    encrypted: bool = True
    port: int = 0

    def __post_init__(self) -> None:
        check_own_address(self.address)
        _parse(self.client)

    @property
    def require_clause(self) -> str:
        """Clause of CREATE USER about encryption, with the blank before it."""
        return " REQUIRE SSL" if self.encrypted else ""


def check_own_address(text: str) -> Address:
    """Return an address on which a server may be offered.

    Never all addresses of the host, and never one that the internet may route to. Raises
    NotReachable; it is also raised when this host does not have the address.
    """
    address = _parse(text)
    if address.is_unspecified:
        raise NotReachable(f"{text} stands for every address of this host; name a single one")
    if address.is_multicast or address.is_global:
        raise NotReachable(
            f"{text} is a public address; a measured server is only offered on a private network"
        )
    if address.version == 6 and address.is_link_local:
        raise NotReachable(
            f"{text} is a link-local address, which others reach only by naming an interface of "
            "their own; name an address of a private network"
        )
    try:
        free_port(text)
    except OSError as error:
        raise NotReachable(f"this host does not have the address {text}: {error}") from error
    return address


def own_address_towards(other: str) -> str:
    """Return this host's address from which it would reach `other`; no packet is sent.

    Raises NotReachable when there is no route.
    """
    try:
        with socket.socket(_family(_parse(other)), socket.SOCK_DGRAM) as probe:
            probe.connect((other, 9))
            found: str = probe.getsockname()[0]
    except OSError as error:
        raise NotReachable(f"there is no way from this host to {other}: {error}") from error
    return found


def free_port(address: str = "127.0.0.1") -> int:
    """Return a TCP port of that address that is free at this moment; raises OSError."""
    with socket.socket(_family(_parse(address)), socket.SOCK_STREAM) as probe:
        probe.bind((address, 0))
        port: int = probe.getsockname()[1]
        return port


class Certificate(NamedTuple):
    """A key and its self-signed certificate, the only one that its clients trust."""

    certificate: str
    key: str


def make_certificate(address: str) -> Certificate:
    """Make a fresh certificate for a server on that address, as PEM; for one run only."""
    # Late imports: everything that reads a config imports this module.
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, address)])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_VALID[0])
        .not_valid_after(_VALID[1])
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(_parse(address))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    return Certificate(pem.decode(), private.decode())


def _parse(text: str) -> Address:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        raise NotReachable(
            f"{text!r} is not an IP address; names are not looked up on a measured server"
        ) from None


def _family(address: Address) -> socket.AddressFamily:
    return socket.AF_INET6 if address.version == 6 else socket.AF_INET

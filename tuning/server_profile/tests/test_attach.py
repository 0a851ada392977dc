"""Attaching refuses what is no host, and never goes over a network without TLS."""

from __future__ import annotations

from pathlib import Path

import pytest

from tuning.errors import InvalidRequest
from tuning.server_profile.attach import Place

PASSWORD = "not-in-any-text"


@pytest.mark.parametrize(
    "host",
    [
        "",
        "--host=evil",
        "-h",
        "db1?x",
        "db1/x",
        "db1:3306",
        "user@db1",
        "db1 x",
        "db1\n",
        "mysql://db1",
        "db1;ssl=0",
        "db1,db2",
        "a" * 300,
        "../socket",
        "db1\0",
    ],
)
def test_a_host_is_a_name_or_an_address_and_nothing_else(host: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        Place("reader", PASSWORD, host=host)
    assert refused.value.faults[0][0] == "host"


@pytest.mark.parametrize(
    ("host", "is_local"),
    [
        ("127.0.0.1", True),
        ("::1", True),
        ("localhost", True),
        ("10.0.0.1", False),
        ("db1.example.net", False),
        ("localhost.example.net", False),
        ("192.0.2.1", False),
    ],
)
def test_only_loopback_and_sockets_need_no_tls(host: str, is_local: bool) -> None:
    assert Place("reader", PASSWORD, host=host).is_local is is_local
    assert Place("reader", PASSWORD, socket=Path("/run/s.sock")).is_local


def test_a_place_does_not_show_its_password() -> None:
    assert PASSWORD not in repr(Place("reader", PASSWORD, host="db1"))

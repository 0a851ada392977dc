"""A server named in words: flavour and version in scope, or what is known instead."""

from __future__ import annotations

import pytest

from benchmarks.servers.binary import Flavour
from tuning.catalogue.target import RELEASES, ServerTraits, parse_traits, parse_version


def test_every_release_in_scope_is_read() -> None:
    for traits in RELEASES:
        version = ".".join(map(str, traits.version))
        assert parse_traits(f"{traits.flavour} {version}") == traits
    assert parse_traits("MySQL Server 8.0.30") == ServerTraits(Flavour.MYSQL, (8, 0, 30))
    assert parse_traits("mysql 9.7").series == (9, 7)
    assert parse_traits("mariadb-12.1").series == (12, 1)


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("mysql 5.5", "5.7, 8.0 to 8.4, 9.0 and later"),
        ("mysql 6.0", "5.7, 8.0 to 8.4, 9.0 and later"),
        ("mysql 8.0.1000", "mysql, percona, mariadb"),
        ("percona 10.6", "8.0 to 8.4"),
        ("mariadb 8.0", "10.6 to 10.11, 11.0 to 11.8, 12.0 and later"),
        ("mysql 99999999999999999999", "5.7"),
        ("mysql \u0668.0", "mysql, percona, mariadb"),
        ("oracle 23", "mysql, percona, mariadb"),
        ("mysql", "mysql, percona, mariadb"),
    ],
)
def test_what_is_out_of_scope_is_refused_with_what_is_known(text: str, known: str) -> None:
    with pytest.raises(ValueError, match=known):
        parse_traits(text)


@pytest.mark.parametrize("text", ["", "8.", "\u0668.0", "8.0.1.1", "9" * 5000, " 8", "-8"])
def test_a_version_is_plain_digits(text: str) -> None:
    with pytest.raises(ValueError, match="not a version"):
        parse_version(text)

from __future__ import annotations

from datetime import UTC

import pytest
from django.db.backends.postgresql.psycopg_any import BaseTzLoader, get_adapters_template
from psycopg import DataError
from psycopg.postgres import types
from psycopg.pq import Format

from advisor.processes.postgres_times import FastTimes, read_times_fast

OID = types["timestamptz"].oid


class Usual(BaseTzLoader):
    timezone = UTC


@pytest.mark.parametrize(
    "text",
    [
        *("2026-11-23 03:43:58+00", "2026-11-23 03:43:58.1+00", "2026-02-28 23:59:59.000042+00"),
        *("0001-01-01 00:00:00+00", "9999-12-31 23:59:59.999999+00"),
    ],
)
def test_times_are_those_that_django_reads(text: str) -> None:
    found = FastTimes(OID).load(memoryview(text.encode()))
    usual = Usual(OID).load(text.encode())
    assert (found, found.tzinfo) == (usual, usual.tzinfo)


@pytest.mark.parametrize("text", ["infinity", "0044-03-15 12:00:00+00 BC"])
def test_what_python_has_no_time_for_is_refused_as_usual(text: str) -> None:
    for kind in (FastTimes, Usual):
        with pytest.raises(DataError):
            kind(OID).load(text.encode())


def test_django_gives_its_connections_the_fast_ones() -> None:
    read_times_fast()
    # What DatabaseWrapper.get_connection_params takes.
    assert get_adapters_template(True, UTC).get_loader(OID, Format.TEXT) is FastTimes

"""The web server's connections to SQLite: kept for the next request, if they are fit for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.db import Error
from django.db.utils import ConnectionHandler

from advisor.processes.kept_sqlite import base
from advisor.processes.kept_sqlite.base import DatabaseWrapper

pytestmark = pytest.mark.django_db
Connect = Callable[[], DatabaseWrapper]


@pytest.fixture
def connect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connect]:
    """Makes what Django has for each thread: a wrapper of its own, of one database."""
    monkeypatch.setattr(base, "_KEPT", [])
    name = "advisor.processes.kept_sqlite"
    made: list[DatabaseWrapper] = []

    def make() -> DatabaseWrapper:
        handler = ConnectionHandler({"default": {"ENGINE": name, "NAME": tmp_path / "db.sqlite3"}})
        found = handler["default"]
        assert isinstance(found, DatabaseWrapper)
        found.inc_thread_sharing()
        found.connect()
        made.append(found)
        return found

    yield make
    for one in made:
        one.close()
    for _, connection in base._KEPT:
        connection.close()


def execute(wrapper: DatabaseWrapper, sql: str) -> None:
    with wrapper.cursor() as cursor:
        cursor.execute(sql)


def test_the_next_request_takes_the_connection_of_the_last(connect: Connect) -> None:
    first = connect()
    raw = first.connection
    execute(first, "CREATE TABLE things (id INTEGER)")
    at_once = connect()
    assert at_once.connection is not raw
    first.close()
    assert first.connection is None
    second = connect()
    assert second.connection is raw
    execute(second, "INSERT INTO things VALUES (1)")


def test_one_that_failed_or_is_in_the_middle_of_something_is_closed(connect: Connect) -> None:
    failed, busy = connect(), connect()
    with pytest.raises(Error):
        execute(failed, "SELECT no_such_column")
    failed.close()
    busy.ensure_connection()
    assert busy.connection is not None
    busy.connection.execute("BEGIN")
    busy.close()
    assert base._KEPT == []


def test_a_file_that_took_the_place_of_another_is_opened_anew(
    connect: Connect, tmp_path: Path
) -> None:
    first = connect()
    raw = first.connection
    execute(first, "CREATE TABLE things (id INTEGER)")
    first.close()
    (tmp_path / "db.sqlite3").unlink()
    second = connect()
    assert second.connection is not raw
    with pytest.raises(Error, match="no such table"):
        execute(second, "INSERT INTO things VALUES (1)")


def test_a_file_that_is_replaced_while_it_is_read_is_opened_anew(
    connect: Connect, tmp_path: Path
) -> None:
    first = connect()
    execute(first, "CREATE TABLE things (id INTEGER)")
    (tmp_path / "db.sqlite3").unlink()
    (tmp_path / "db.sqlite3").touch()
    first.close()
    second = connect()
    with pytest.raises(Error, match="no such table"):
        execute(second, "INSERT INTO things VALUES (1)")


def test_no_more_are_kept_than_are_of_use(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "MAX_KEPT", 2)
    several = [connect() for _ in range(4)]
    for one in several:
        one.close()
    assert len(base._KEPT) == 2


def test_the_file_is_read_in_place(connect: Connect) -> None:
    wrapper = connect()
    with wrapper.cursor() as cursor:
        cursor.execute("PRAGMA mmap_size")
        assert cursor.fetchall() == [(base.MAPPED,)]

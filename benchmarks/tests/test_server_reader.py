"""The reader of a server's counters while a run lasts, without a server."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pymysql
import pytest

from benchmarks.telemetry.server_reader import ServerReader
from benchmarks.telemetry.write_debt import DebtReading, WriteDebt

PERIOD_S = 0.02
LOST = pymysql.err.OperationalError(2013, "lost")


class Server:
    """A server and its connections: 100 commits at each reading, 100 bytes of redo at each debt.

    The queries of the numbers in `fails_at` lose their connection.
    """

    def __init__(self, fails_at: Sequence[int] = (), debts_fail_at: Sequence[int] = ()) -> None:
        self.asked = self.debts = self.connected = self.closed = 0
        self._fails_at, self._debts_fail_at = fails_at, debts_fail_at
        self._rows: list[tuple[str, ...]] = []

    def connect(self, **patience: Any) -> Any:
        assert patience["read_timeout"] > 0
        self.connected += 1
        return self

    def cursor(self) -> Any:
        return self

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None: ...

    def execute(self, query: str) -> None:
        if "ENGINE" in query:
            self._rows = [("InnoDB", "", "History list length 37\n")]
        elif "LIKE" in query:
            self.debts += 1
            if self.debts in self._debts_fail_at:
                raise LOST
            self._rows = [
                *(("Innodb_redo_log_current_lsn", str(5000 + 100 * self.debts)),),
                *(("Innodb_redo_log_checkpoint_lsn", "1200"), ("Com_commit", "99")),
                *(("Innodb_buffer_pool_bytes_dirty", "0"), ("Innodb_page_size", "16384")),
                *(("Innodb_buffer_pool_pages_flushed", "10"),),
            ]
        else:
            self.asked += 1
            if self.asked in self._fails_at:
                raise LOST
            self._rows = [("Com_commit", str(100 * self.asked))]

    def fetchall(self) -> list[tuple[str, ...]]:
        return self._rows

    def fetchone(self) -> tuple[str, ...]:
        return self._rows[0]

    def close(self) -> None:
        self.closed += 1


def count_for(server: Server, seconds: float) -> ServerReader:
    with ServerReader(server.connect, period_s=PERIOD_S) as counter:
        time.sleep(seconds)
    return counter


def test_the_server_is_read_again_and_again_over_one_connection() -> None:
    server = Server()
    count_for(server, 10 * PERIOD_S)
    assert 4 <= server.asked <= 12
    assert (server.connected, server.closed) == (1, 1)


def test_a_server_that_lost_the_connection_is_asked_over_a_new_one() -> None:
    server = Server(fails_at=[2])
    counter = count_for(server, 10 * PERIOD_S)
    assert (server.connected, server.closed) == (2, 2)
    assert len(counter.commits) == server.asked - 1


@pytest.mark.parametrize(
    ("read", "end", "commits"),
    [
        # The first half second had 100 commits left of the reading before, and so on.
        ([(8.5, 0), (9.5, 100), (10.5, 300), (11.5, 500), (12.5, 500)], None, [200, 100]),
        ([(8.5, 0), (9.5, 100), (10.5, 300), (11.5, 500), (12.5, 500)], 11.2, [200]),
        # Where the server did not answer, its commits are spread.
        ([(10.0, 0), (11.0, 90), (14.0, 390)], None, [90, 100, 100, 100]),
        # A second that is nearly over is judged only when the driver has ended.
        ([(10.0, 0), (11.0, 100), (11.96, 196)], None, [100]),
        ([(10.0, 0), (11.0, 100), (11.96, 196)], 11.97, [100, 96]),
        # Seconds whose begin was not seen are not judged.
        ([], None, []),
        ([(10.2, 5), (12.0, 100)], None, []),
        ([(9.8, 5), (10.8, 100)], None, []),
    ],
)
def test_commits_stand_in_their_second_of_the_measured_interval(
    read: list[tuple[float, int]], end: float | None, commits: list[int]
) -> None:
    counter = ServerReader(Server().connect)
    counter.commits = read
    assert counter.commits_per_second(10.0, end or float("inf")) == commits


def read_both(server: Server) -> WriteDebt:
    with ServerReader(server.connect) as reader:
        reader.begin()
        reader.end()
    return reader.write_debt({"innodb_log_file_size": "1000", "innodb_log_files_in_group": "2"})


def test_the_write_debt_is_read_at_both_ends() -> None:
    found = read_both(Server())
    assert (found.start.lsn, found.end.lsn, found.start.history_length) == (5100, 5200, 37)
    assert (found.redo_bytes, found.redo_capacity_bytes, found.missing) == (100, 2000, {})
    assert found.seconds > 0


@pytest.mark.parametrize("fails", [1, 2])
def test_where_one_reading_failed_no_time_is_known(fails: int) -> None:
    found = read_both(Server(debts_fail_at=[fails]))
    assert (found.seconds, found.redo_mb_s, found.is_marked) == (0.0, None, False)
    assert "lost" in found.missing["lsn"]


def test_a_debt_that_was_not_read_says_so() -> None:
    unread = ServerReader(Server().connect).write_debt({})
    assert (unread.start, unread.missing["lsn"]) == (DebtReading(), "it was not read")

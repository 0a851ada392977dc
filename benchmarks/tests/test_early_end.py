"""The live counts and their reader, without a server: readings in, verdicts out."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import pymysql
import pytest

from benchmarks.measurement.early_stop import Cut, CutWatch
from benchmarks.telemetry.server_reader import ServerReader

PERIOD_S = 0.02


class Server:
    """Stands for a server and its connections: 100 commits at each reading."""

    def __init__(self, fails_at: Sequence[int] = ()) -> None:
        self.asked = 0
        self.connected = 0
        self.closed = 0
        self._fails_at = fails_at

    def connect(self, **patience: Any) -> Any:
        assert patience["read_timeout"] > 0
        self.connected += 1
        return self

    def cursor(self) -> Any:
        return self

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def execute(self, query: str) -> None:
        assert "Com" in query
        self.asked += 1
        if self.asked in self._fails_at:
            raise pymysql.err.OperationalError(2013, "Lost connection during query")

    def fetchall(self) -> list[tuple[str, str]]:
        return [("Com_commit", str(100 * self.asked))]

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


@pytest.fixture
def growing() -> Iterator[list[int]]:
    return iter([[], [5], [5], [5, 6], [5, 6, 7], [5, 6, 7, 8]])


def test_the_rule_is_asked_after_each_further_second_until_it_speaks(
    growing: Iterator[list[int]],
) -> None:
    asked: list[list[int]] = []

    def rule(counts: Sequence[int]) -> Cut | None:
        asked.append(list(counts))
        return Cut("slow", 60.0) if len(counts) == 3 else None

    cut_watch = CutWatch(rule, lambda: next(growing), lambda: False)
    assert [cut_watch.should_stop() for _ in range(7)] == [False] * 4 + [True] * 3
    assert asked == [[5], [5, 6], [5, 6, 7]]
    assert cut_watch.found == Cut("slow", 60.0)


def test_without_a_rule_only_a_cancelled_run_ends() -> None:
    cancelled = iter([False, True])
    cut_watch = CutWatch(None, lambda: [1, 2, 3], lambda: next(cancelled))
    assert [cut_watch.should_stop(), cut_watch.should_stop()] == [False, True]
    assert cut_watch.found is None

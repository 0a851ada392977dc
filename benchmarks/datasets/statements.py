"""Long statements that can be abandoned: each runs in a thread with a connection of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

import pymysql
from pymysql.connections import Connection

from benchmarks.errors import RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.servers.instance import ServerInstance

T = TypeVar("T")
POLL_S = 0.2


def cancelled() -> RunFailed:
    """Make the error of a load or a clone that was asked to stop."""
    return RunFailed(Outcome.CANCELLED, "cancelled while the dataset was being prepared")


def run_all(
    instance: ServerInstance,
    tasks: Sequence[Callable[[Connection[Any]], T]],
    should_stop: Callable[[], bool],
    *,
    database: str | None = None,
) -> list[T]:
    """Run the tasks side by side, each on a connection of its own; return results in order.

    Raises what the first failed task raised, or RunFailed(CANCELLED); the others' statements are
    killed before it returns.
    """
    with contextlib.ExitStack() as stack:
        connections = [
            stack.enter_context(contextlib.closing(instance.connect(database=database)))
            for _ in tasks
        ]
        pool = stack.enter_context(ThreadPoolExecutor(len(tasks)))
        futures = [
            pool.submit(task, connection)
            for task, connection in zip(tasks, connections, strict=True)
        ]
        try:
            _wait(futures, should_stop)
        except BaseException:
            _kill(instance, connections, futures)
            raise
        return [future.result() for future in futures]


def _wait(futures: Sequence[Future[T]], should_stop: Callable[[], bool]) -> None:
    pending: set[Future[T]] = set(futures)
    while pending:
        done, pending = wait(pending, timeout=POLL_S, return_when=FIRST_EXCEPTION)
        for future in done:
            future.result()
        if pending and should_stop():
            raise cancelled()


def _kill(
    instance: ServerInstance,
    connections: Sequence[Connection[Any]],
    futures: Sequence[Future[T]],
) -> None:
    # A server that has ended has closed the connections, which ends the threads too.
    if not instance.alive():
        return
    with contextlib.suppress(pymysql.Error), instance.connect() as admin, admin.cursor() as cursor:
        for connection, future in zip(connections, futures, strict=True):
            if not future.done():
                number: int = connection.thread_id()  # type: ignore[no-untyped-call]
                cursor.execute(f"KILL {number}")


def execute_each(statements: Sequence[str]) -> Callable[[Connection[Any]], list[Any]]:
    """A task that runs statements one after the other and returns the first row of each."""

    def task(connection: Connection[Any]) -> list[Any]:
        rows: list[Any] = []
        with connection.cursor() as cursor:
            cursor.execute("SET SESSION foreign_key_checks = 0")
            for statement in statements:
                cursor.execute(statement)
                rows.append(cursor.fetchone())
        return rows

    return task

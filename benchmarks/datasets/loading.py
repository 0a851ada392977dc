"""The steps of a load: progress, statements that can be abandoned, and rows in batches."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from pathlib import Path
from tempfile import NamedTemporaryFile
from threading import Lock
from typing import Any, NamedTuple, TypeVar

import pymysql
from pymysql.connections import Connection
from pymysql.cursors import Cursor

from benchmarks.datasets.text import Bytes
from benchmarks.errors import RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.servers.failures import ANSWER_S
from benchmarks.servers.instance import ServerInstance

T = TypeVar("T")
#: Takes the part of the whole load, 0..1, that is done, and its phase.
ProgressCallback = Callable[[float, str], None]
POLL_S = 0.2
#: Seconds in which a killed statement ends, or the rows of a batch are made.
_END_S = 10.0


def ignore(fraction: float, phase: str) -> None:
    """Do nothing, for callers that do not show progress."""


def never() -> bool:
    """A `should_stop` that is never true."""
    return False


def cancelled() -> RunFailed:
    """Make the error of a load that was asked to stop."""
    return RunFailed(Outcome.CANCELLED, "cancelled while the dataset was being prepared")


class Meter:
    """Turns finished parts of planned phases into one fraction.

    `plan` gives each phase, in order, and its seconds; only their proportion matters.
    """

    def __init__(self, report: ProgressCallback, plan: Mapping[str, float]) -> None:
        self._report = report
        self._plan = plan
        self._phase = next(iter(plan))

    def enter(self, phase: str) -> None:
        """Begin the next phase."""
        self._phase = phase
        self.advance(0.0)

    def advance(self, share: float) -> None:
        """Report how much of the current phase is done, 0..1."""
        names, seconds = list(self._plan), list(self._plan.values())
        before = sum(seconds[: names.index(self._phase)])
        done = before + self._plan[self._phase] * min(1.0, max(0.0, share))
        self._report(done / sum(seconds), self._phase)


class Batch(NamedTuple):
    """Rows of one table: `make(*arguments)` gives them as LOAD DATA reads them."""

    table: str
    make: Callable[..., Bytes]
    arguments: tuple[int, ...] = ()


def load_rows(
    instance: ServerInstance,
    schema: str,
    batches: Sequence[Batch],
    *,
    jobs: int,
    on_rows: Callable[[int], None],
    should_stop: Callable[[], bool],
) -> Mapping[str, int]:
    """Load the batches in their order with `jobs` threads; return the rows of each table.

    `on_rows` is called by this thread with the number of rows so far.
    Raises pymysql.Error, OSError and RunFailed: CANCELLED.
    """
    waiting = iter(batches)
    loaded: Counter[str] = Counter()
    lock = Lock()

    def load(connection: Connection[Cursor]) -> None:
        with connection.cursor() as cursor:
            # unique_checks stays on: there is no secondary unique key to save work on, and
            # off it makes MariaDB load through temporary files, which took half as long again.
            cursor.execute("SET SESSION foreign_key_checks = 0")
            for batch in waiting:
                rows = send(cursor, instance.paths.rows_dir, batch)
                with lock:
                    loaded[batch.table] += rows

    def look() -> bool:
        on_rows(loaded.total())
        return should_stop()

    run_all(instance, [load] * min(jobs, len(batches)), look, database=schema)
    return loaded


def send(cursor: Cursor, folder: Path, batch: Batch) -> int:
    """Load a batch in one transaction, through a file in `folder`; return the number of rows.

    The file is deleted before the system would write it to the disk. Raises pymysql.Error, also
    for any row that does not fit, and OSError.
    """
    with NamedTemporaryFile(dir=folder) as file:
        file.write(batch.make(*batch.arguments).data)
        file.flush()
        os.fchmod(file.fileno(), 0o644)  # for the server's user
        # binary: the rows are ASCII, which every character set of the servers contains.
        load = f"LOAD DATA INFILE %s INTO TABLE {batch.table} CHARACTER SET binary"
        return cursor.execute(load, (file.name,))


def run_all(
    instance: ServerInstance,
    tasks: Sequence[Callable[[Connection[Cursor]], T]],
    should_stop: Callable[[], bool],
    *,
    database: str | None = None,
) -> list[T]:
    """Run the tasks in threads, each on a connection of its own; return results in order.

    Raises what the first failed task raised, or RunFailed(CANCELLED); the others' statements are
    killed before it returns.
    """
    with contextlib.ExitStack() as stack:
        connections = [
            stack.enter_context(contextlib.closing(instance.connect(database=database)))
            for _ in tasks
        ]
        pool = stack.enter_context(ThreadPoolExecutor(len(tasks)))
        futures = list(map(pool.submit, tasks, connections))
        pending: set[Future[T]] = set(futures)
        try:
            while pending:
                done, pending = wait(pending, timeout=POLL_S, return_when=FIRST_EXCEPTION)
                for future in done:
                    future.result()
                if pending and should_stop():
                    raise cancelled()
        except BaseException:
            left = [connections[at] for at, future in enumerate(futures) if not future.done()]
            _kill(instance, left)
            if wait(futures, timeout=_END_S).not_done:
                instance.kill()  # it hangs, and nothing else ends the threads
            raise
        return [future.result() for future in futures]


def _kill(instance: ServerInstance, connections: Sequence[Connection[Any]]) -> None:
    # A server that has ended has closed the connections, which ends the threads too.
    if not instance.alive():
        return
    with (
        contextlib.suppress(pymysql.Error),
        instance.connect(connect_timeout=ANSWER_S, read_timeout=ANSWER_S) as admin,
        admin.cursor() as cursor,
    ):
        for connection in connections:
            number: int = connection.thread_id()  # type: ignore[no-untyped-call]
            cursor.execute(f"KILL {number}")


def execute_each(statements: Sequence[str]) -> Callable[[Connection[Any]], list[Any]]:
    """Make a task that runs statements in order and returns the first row of each."""

    def task(connection: Connection[Any]) -> list[Any]:
        rows: list[Any] = []
        with connection.cursor() as cursor:
            cursor.execute("SET SESSION foreign_key_checks = 0")
            for statement in statements:
                cursor.execute(statement)
                rows.append(cursor.fetchone())
        return rows

    return task

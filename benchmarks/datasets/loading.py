"""Loading of rows: `row_loader` makes and loads them in a program of its own.

Celery's processes may have no children of multiprocessing; a program may.
"""

from __future__ import annotations

import json
import os
import select
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from benchmarks.datasets.row_loader import Order
from benchmarks.datasets.statements import POLL_S, cancelled
from benchmarks.datasets.text import Bytes
from benchmarks.errors import LoadFailed, RunFailed
from benchmarks.processes.child import PIPE, Child
from benchmarks.processes.kills import blame_for_kill, oom_kills
from benchmarks.processes.users import server_user
from benchmarks.servers.instance import ServerInstance

_ROOT = Path(__file__).resolve().parents[2]
_PROGRAM = [sys.executable, "-c", "from benchmarks.datasets.row_loader import main; main()"]


class Batch(NamedTuple):
    """Rows of one table: `make`, a function of a module, gives them as LOAD DATA reads them."""

    table: str
    make: Callable[..., Bytes]
    arguments: tuple[int, ...]


def load_rows(
    instance: ServerInstance,
    schema: str,
    batches: Sequence[Batch],
    *,
    jobs: int,
    on_rows: Callable[[int], None],
    should_stop: Callable[[], bool],
) -> Mapping[str, int]:
    """Load the batches in their order with `jobs` processes; return the rows of each table.

    `on_rows` is called with the number of rows so far. Raises LoadFailed and
    RunFailed: CANCELLED, LOST, OUT_OF_MEMORY; every process has been killed by then.
    """
    account = {
        "socket": str(instance.socket),
        "user": instance.admin.user,
        "password": instance.admin.password,
        "database": schema,
    }
    named = [
        (batch.table, f"{batch.make.__module__}:{batch.make.__qualname__}", batch.arguments)
        for batch in batches
    ]
    user = server_user()
    order = Order(account, astuple(user) if user else None, min(jobs, len(batches)), named)
    oom_kills_before = oom_kills()
    loaded: Counter[str] = Counter()
    with os.fdopen(os.memfd_create("order"), "w+b") as given:
        given.write(json.dumps(order).encode())
        given.seek(0)
        # The program starts as we do, because the servers' user may not reach our own files.
        with Child(
            _PROGRAM, cwd=_ROOT, stdin=given, stdout=PIPE, stderr=None, as_ourselves=True
        ) as program:
            for told in _told(cast(IO[bytes], program.process.stdout), should_stop):
                if "rows" in told:
                    loaded[told["table"]] += told["rows"]
                    on_rows(loaded.total())
                elif "failed" in told:
                    raise LoadFailed(told["failed"])
                else:
                    raise _blame("a loading process", told["status"], oom_kills_before)
            if status := program.process.wait():
                raise _blame("the loading program", status, oom_kills_before)
    return loaded


def _told(output: IO[bytes], should_stop: Callable[[], bool]) -> Iterator[dict[str, Any]]:
    """Yield what the program tells until its end. Raises RunFailed: CANCELLED."""
    told = b""
    while True:
        if should_stop():
            raise cancelled()
        if select.select([output], [], [], POLL_S)[0]:
            if not (read := os.read(output.fileno(), 65536)):
                return
            *lines, told = (told + read).split(b"\n")
            yield from map(json.loads, lines)


def _blame(what: str, status: int, oom_kills_before: int | None) -> LoadFailed | RunFailed:
    if blame := blame_for_kill(what, status, oom_kills_before):
        return RunFailed(*blame)
    return LoadFailed(f"{what} ended with status {status}")

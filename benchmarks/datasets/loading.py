"""Loading of rows: several loading programs (`row_loader`), each given one batch after the other.

Celery's processes may have no children of multiprocessing; programs they may start.
"""

from __future__ import annotations

import json
import os
import selectors
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import astuple
from pathlib import Path
from typing import NamedTuple

from benchmarks.datasets.statements import POLL_S, cancelled
from benchmarks.datasets.text import Bytes
from benchmarks.errors import LoadFailed, RunFailed
from benchmarks.processes.child import PIPE, Child
from benchmarks.processes.users import server_user
from benchmarks.servers.instance import ServerInstance

_ROOT = Path(__file__).resolve().parents[2]
_PROGRAM = [sys.executable, "-c", "from benchmarks.datasets.row_loader import main; main()"]
_WHAT = "a loading process"
_MAX_LINE = 65_536
_END_S = 5.0


class Batch(NamedTuple):
    """Rows of one table: `make`, a function of a module, gives them as LOAD DATA reads them."""

    table: str
    make: Callable[..., Bytes]
    arguments: tuple[int, ...]

    @property
    def maker(self) -> str:
        """The name of `make`, as another program finds it."""
        return f"{self.make.__module__}:{self.make.__qualname__}"


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
    user = server_user()
    makers = sorted({batch.maker for batch in batches})
    order = json.dumps([account, astuple(user) if user else None, makers])
    left = iter(batches)
    loaded: Counter[str] = Counter()
    with ExitStack() as stack:
        working = stack.enter_context(selectors.DefaultSelector())
        for _ in range(min(jobs, len(batches))):
            loader = stack.enter_context(_Loader())
            loader.say(order)
            working.register(loader.stdout, selectors.EVENT_READ, loader)
            loader.take(next(left))
        while working.get_map():
            if should_stop():
                raise cancelled()
            for key, _ in working.select(POLL_S):
                loader = key.data
                if (rows := loader.rows()) is None:
                    continue
                loaded[loader.table] += rows
                on_rows(loaded.total())
                if (batch := next(left, None)) is not None:
                    loader.take(batch)
                else:
                    working.unregister(loader.stdout)
    return loaded


class _Loader(Child):
    """A loading program, which is killed when the block is left.

    It starts as we do, because the servers' user may not be able to read our own files.
    """

    def __init__(self) -> None:
        super().__init__(
            _PROGRAM, cwd=_ROOT, stdin=PIPE, stdout=PIPE, stderr=None, as_ourselves=True
        )
        assert self.process.stdin is not None  # noqa: S101 - both are pipes
        assert self.process.stdout is not None  # noqa: S101
        self._stdin, self.stdout = self.process.stdin, self.process.stdout
        self._said = b""
        self.table = ""

    def say(self, line: str) -> None:
        """Send it a line. Raises LoadFailed, RunFailed."""
        try:
            self._stdin.write(line.encode() + b"\n")
            self._stdin.flush()
        except BrokenPipeError:
            raise self._ended() from None

    def take(self, batch: Batch) -> None:
        """Have it load the batch. Raises LoadFailed, RunFailed."""
        self.table = batch.table
        self.say(json.dumps([batch.table, batch.maker, batch.arguments]))

    def rows(self) -> int | None:
        """Return the rows of its batch once they are in, to be asked when it has said something.

        Raises LoadFailed, RunFailed.
        """
        read = os.read(self.stdout.fileno(), _MAX_LINE)
        self._said += read
        if not read or len(self._said) > _MAX_LINE:
            raise self._ended()
        if not self._said.endswith(b"\n"):
            return None
        told, self._said = json.loads(self._said), b""
        if isinstance(told, str):
            raise LoadFailed(told)
        return int(told)

    def _ended(self) -> LoadFailed | RunFailed:
        status = self.wait(_END_S)
        if blame := self.blame(_WHAT):
            return RunFailed(*blame)
        return LoadFailed(f"{_WHAT} ended with status {status}")

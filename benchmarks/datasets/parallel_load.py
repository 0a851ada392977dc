"""The loading processes and their shares of the work."""

from __future__ import annotations

import contextlib
import json
import selectors
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, cast

import benchmarks
from benchmarks.datasets import rules
from benchmarks.datasets.statements import POLL_S, cancelled
from benchmarks.errors import LoadFailed, RunFailed
from benchmarks.processes.kills import blame_for_kill, oom_kills
from benchmarks.processes.users import clean_environment, server_user
from benchmarks.servers.instance import ServerInstance

#: Cost of one warehouse's rows of a table, relative to the others' (measured); the order is that
#: of loading.
COST: Mapping[str, float] = {
    "item": 0.25,
    "stock": 0.62,
    "order_line": 0.95,
    "customer": 0.28,
    "orders": 0.08,
    "history": 0.08,
    "new_orders": 0.02,
    "district": 0.002,
    "warehouse": 0.002,
}


#: One thread each: there are as many processes as processors.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@dataclass(frozen=True)
class Batch:
    """The rows of one warehouse in one table; `item` has no warehouse (0)."""

    table: str
    warehouse: int

    @property
    def cost(self) -> float:
        """Relative time it takes."""
        return COST[self.table]


class BatchQueue:
    """Batches in an order that keeps processes out of each other's way.

    Each table is loaded in key order, so that its pages come to lie in key order on the disk, and
    two processes load the same table at once only when no other one is left.
    """

    def __init__(self, warehouses: int) -> None:
        self._left = {
            table: [
                Batch(table, number)
                for number in ((0,) if table == "item" else range(warehouses, 0, -1))
            ]
            for table in COST
        }
        self._active = dict.fromkeys(COST, 0)
        self.total = sum(batch.cost for batches in self._left.values() for batch in batches)

    def take(self) -> Batch | None:
        """The next batch, None when all are taken."""
        tables = [table for table, batches in self._left.items() if batches]
        if not tables:
            return None
        table = min(tables, key=lambda name: (self._active[name], -self._cost_left(name)))
        self._active[table] += 1
        return self._left[table].pop()

    def done(self, batch: Batch) -> None:
        """The batch's rows are in."""
        self._active[batch.table] -= 1

    def _cost_left(self, table: str) -> float:
        return len(self._left[table]) * COST[table]


class LoadingProcess:
    """One loading process."""

    def __init__(self, instance: ServerInstance, seed: int) -> None:
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by end()
        self._oom_kills_before = oom_kills()
        root = str(Path(benchmarks.__file__).parents[1])
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.datasets.loading_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            bufsize=1,
            cwd=root,
            env=clean_environment() | {"PYTHONPATH": root} | dict.fromkeys(_THREADS, "1"),
            start_new_session=True,  # Ctrl-C is for us; we end it
        )
        # `Popen` with PIPE never makes None.
        self._stdin = cast(IO[str], self.process.stdin)
        self.stdout = cast(IO[str], self.process.stdout)
        self._tell(
            {
                "socket": str(instance.socket),
                "user": instance.admin.user,
                "password": instance.admin.password,
                "database": rules.DATABASE,
                "seed": seed,
                "as_user": asdict(user) if (user := server_user()) else None,
            }
        )

    def start(self, batch: Batch) -> None:
        """Give the process its next batch."""
        self._tell({"table": batch.table, "warehouse": batch.warehouse})

    def answer(self) -> tuple[Batch, int]:
        """The batch that has just ended and its rows; LoadFailed when it went wrong."""
        line = self.stdout.readline()
        if not line:
            self._errors.seek(0)
            tail = self._errors.read()[-4000:].decode(errors="replace")
            status = self.process.wait(10)
            if blame := blame_for_kill("a loading process", status, self._oom_kills_before):
                raise RunFailed(*blame, log_tail=tail)
            raise LoadFailed(f"a loading process ended with status {status}", log_tail=tail)
        reply = json.loads(line)
        if "error" in reply:
            raise LoadFailed(f"a loading process failed: {reply['error']}")
        return Batch(reply["table"], reply["warehouse"]), int(reply["rows"])

    def end(self) -> None:
        """Kill the process, if it has not ended; it holds nothing worth saving."""
        self.process.kill()
        self.process.wait()
        for pipe in (self._stdin, self.stdout, self._errors):
            with contextlib.suppress(BrokenPipeError):  # of what was still buffered for it
                pipe.close()

    def _tell(self, message: object) -> None:
        with contextlib.suppress(BrokenPipeError):  # it has ended, and its answer has the reason
            self._stdin.write(json.dumps(message) + "\n")


def load_rows(
    instance: ServerInstance,
    warehouses: int,
    *,
    seed: int,
    jobs: int,
    on_rows: Callable[[int, float], None],
    should_stop: Callable[[], bool],
) -> dict[str, int]:
    """Load all rows with `jobs` processes and return the rows of each table.

    `on_rows` is called with the rows and the share of the whole, 0..1, that have just come in.
    Raises LoadFailed and RunFailed(CANCELLED); every process has ended by then.
    """
    queue = BatchQueue(warehouses)
    rows = dict.fromkeys(COST, 0)
    loaders: list[LoadingProcess] = []
    done = 0.0
    try:
        with selectors.DefaultSelector() as selector:
            for _ in range(jobs):
                batch = queue.take()
                if batch is None:
                    break
                loader = LoadingProcess(instance, seed)
                loaders.append(loader)
                selector.register(loader.stdout, selectors.EVENT_READ, loader)
                loader.start(batch)
            while selector.get_map():
                if should_stop():
                    raise cancelled()
                for key, _ in selector.select(POLL_S):
                    loader = key.data
                    batch, count = loader.answer()
                    queue.done(batch)
                    rows[batch.table] += count
                    done += batch.cost
                    on_rows(count, done / queue.total)
                    following = queue.take()
                    if following is None:
                        selector.unregister(key.fileobj)
                    else:
                        loader.start(following)
    finally:
        for loader in loaders:
            loader.end()
    return rows

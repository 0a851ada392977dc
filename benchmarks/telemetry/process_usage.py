"""Other load on the host during a run: CPU and I/O of every process, separated from ours.

The host's own counters say how much was used, but not by whom, and they charge a run's own kernel
threads (write-back, the file system's journal) to no process. So the processes are counted now and
then, seldom enough to cost next to nothing.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import psutil

# Even root may be kept from looking at a few, init in some virtual machines.
_FEW_HIDDEN = 0.05
# A count takes some 0.1 ms per process. It is made this often, but never takes more than this
# share of one CPU's time.
_PERIOD_S = 5.0
_MAX_OF_A_CPU = 0.005
_COUNTERS = ("name", "ppid", "cpu_times", "io_counters")


@dataclass(frozen=True, slots=True)
class ForeignProgram:
    """Usage of one foreign program: all processes of one name together."""

    name: str
    cpu_s: float
    io_bytes: int


@dataclass(frozen=True, slots=True)
class ProcessUsage:
    """Processes' use of the host from the first count to the last.

    `own_*_bytes` came from and went to storage for this process and all that descends from it,
    mysqld and the driver among them. `foreign` are the programs that have nothing to do with the
    run, the busiest first; `kernel_cpu_s` is the time of the kernel's own threads, which work for
    everybody. `sees_io` is whether the I/O of nearly every process of the host can be seen, which
    takes root and no container as a rule.
    """

    seconds: float
    foreign: tuple[ForeignProgram, ...] = ()
    kernel_cpu_s: float = 0.0
    own_read_bytes: int = 0
    own_write_bytes: int = 0
    sees_io: bool = False


class _Use(NamedTuple):
    """CPU seconds and bytes from and to storage."""

    cpu_s: float = 0.0
    read_bytes: int = 0
    write_bytes: int = 0


@dataclass(slots=True)
class _Process:
    """A process's counters when it was first counted, and last."""

    name: str
    kernel: bool
    ours: bool
    first: _Use
    last: _Use
    hidden: bool


class ProcessCounter:
    """Counts what processes use, in a thread of its own between `begin` and `end`.

    Ours are `roots`, by default this process, and all their descendants.
    """

    def __init__(self, *roots: int, period_s: float = _PERIOD_S) -> None:
        self._roots = frozenset(roots or {os.getpid()})
        self._period_s = period_s
        # psutil compares pid and start since boot: pids are given out again, and clocks are set.
        self._known: dict[psutil.Process, _Process] = {}
        self._times: list[float] = []
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="process_usage", daemon=True)

    def begin(self) -> None:
        """Make the first count, in the other thread."""
        self._thread.start()

    def end(self) -> None:
        """Make the last count, here and now."""
        self._ended.set()
        with self._lock:
            self.count()

    def close(self) -> None:
        """End the thread."""
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join()

    def count(self) -> None:
        """Count once. A process that has ended keeps the usage of its last count."""
        self._times.append(time.monotonic())
        seen: dict[int, dict[str, Any]] = {}
        for pid in psutil.pids():
            with contextlib.suppress(psutil.NoSuchProcess):
                process = psutil.Process(pid)
                seen[pid] = {"process": process, **process.as_dict(_COUNTERS)}
        for pid, facts in seen.items():
            self._note(pid, facts, seen)

    def process_usage(self) -> ProcessUsage | None:
        """Return the findings so far; None before the first count."""
        if not self._times:
            return None
        every = list(self._known.values())
        kernel = [process for process in every if process.kernel]
        programs: dict[str, list[_Process]] = {}
        for process in every:
            if not process.kernel and not process.ours:
                programs.setdefault(process.name, []).append(process)
        foreign = [
            ForeignProgram(name, used.cpu_s, used.read_bytes + used.write_bytes)
            for name, used in ((name, _total(found)) for name, found in programs.items())
        ]
        ours = _total(process for process in every if process.ours)
        return ProcessUsage(
            seconds=self._times[-1] - self._times[0],
            foreign=tuple(sorted(foreign, key=lambda n: -n.cpu_s)),
            kernel_cpu_s=_total(kernel).cpu_s,
            own_read_bytes=ours.read_bytes,
            own_write_bytes=ours.write_bytes,
            # From inside of most containers the kernel's threads cannot be seen.
            sees_io=bool(kernel) and sum(p.hidden for p in every) <= _FEW_HIDDEN * len(every),
        )

    def _run(self) -> None:
        pause = 0.0
        while not self._ended.wait(pause):
            began = time.thread_time()
            with self._lock:
                if not self._ended.is_set():
                    self.count()
            pause = max(self._period_s, (time.thread_time() - began) / _MAX_OF_A_CPU)

    def _note(
        self, pid: int, facts: Mapping[str, Any], seen: Mapping[int, Mapping[str, Any]]
    ) -> None:
        cpu, io = facts["cpu_times"], facts["io_counters"]
        moved = (io.read_bytes, io.write_bytes) if io else (0, 0)
        use = _Use(cpu.user + cpu.system, *moved)
        known = self._known.get(facts["process"])
        if known is None:
            kernel = 2 in (pid, facts["ppid"]) and seen.get(2, {}).get("name") == "kthreadd"
            # All usage of a process that was born since the first count counts.
            first = use if len(self._times) == 1 else _Use()
            known = _Process("", kernel, self._is_ours(pid, seen), first, use, hidden=io is None)
            self._known[facts["process"]] = known
        # The name changes when a program is executed in place of another.
        known.name, known.last = facts["name"], use

    def _is_ours(self, pid: int, seen: Mapping[int, Mapping[str, Any]]) -> bool:
        for _ in seen:  # at most: a pid that was given out again may be its own ancestor
            if pid in self._roots or pid not in seen:
                break
            pid = seen[pid]["ppid"]
        return pid in self._roots


def _total(processes: Iterable[_Process]) -> _Use:
    """Return the sum over these from their first count to their last."""
    grown = [
        [max(0, after - before) for before, after in zip(p.first, p.last, strict=True)]
        for p in processes
    ]
    return _Use(*map(sum, zip(*grown, strict=True))) if grown else _Use()

"""Other load on the host during a run: CPU and I/O of every process, separated from ours.

The host's own counters say how much was used, but not by whom, and they charge a run's own kernel
threads (write-back, the file system's journal) to no process. So the processes are counted now and
then, seldom enough to cost next to nothing.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import NamedTuple, Self

from benchmarks.telemetry.host import PROC, fastest_cpu_hz

_TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")
_PF_KTHREAD = 0x00200000


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
    takes root and no container as a rule. `clock_ratio` is the fastest CPU's clock rate in the
    second half by that in the first, None where the host does not report it or too few counts
    were made.
    """

    seconds: float
    foreign: tuple[ForeignProgram, ...] = ()
    kernel_cpu_s: float = 0.0
    own_read_bytes: int = 0
    own_write_bytes: int = 0
    sees_io: bool = False
    clock_ratio: float | None = None


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


# Even root may be kept from looking at a few, init in some virtual machines.
_FEW_HIDDEN = 0.05
# Fewer in either half could all have met one moment of the governor's.
_CLOCKS_IN_A_HALF = 5
# A count takes some 20 us per process. It is made this often, but never takes more than this
# share of one CPU's time.
_PERIOD_S = 5.0
_MAX_OF_A_CPU = 0.005

# pid and start time: a pid alone may be given out again.
_Key = tuple[int, int]


@dataclass(slots=True)
class ProcessCounter:
    """Counts what processes use, repeatedly. Ours are `roots` and all their descendants."""

    proc_root: Path = PROC
    roots: frozenset[int] = field(default_factory=lambda: frozenset({os.getpid()}))
    _known: dict[_Key, _Process] = field(default_factory=dict)
    _clocks: list[float] = field(default_factory=list)
    _times: list[float] = field(default_factory=list)
    _hidden: set[_Key] = field(default_factory=set)

    def count(self) -> None:
        """Count once. A process that has ended keeps the usage of its last count."""
        self._times.append(time.monotonic())
        stats = dict(self._read_stats())
        parents = {pid: int(stat[1]) for pid, (_, stat) in stats.items()}
        for pid, (name, stat) in stats.items():
            self._see(pid, name, stat, parents)
        if (clock := fastest_cpu_hz()) is not None:
            self._clocks.append(clock)

    def process_usage(self) -> ProcessUsage | None:
        """Return the findings so far; None before the first count."""
        if not self._times:
            return None
        every = list(self._known.values())
        programs: dict[str, list[_Process]] = {}
        for process in every:
            if not process.kernel and not process.ours:
                programs.setdefault(process.name, []).append(process)
        foreign = []
        for name, found in programs.items():
            used = _total(found)
            foreign.append(ForeignProgram(name, used.cpu_s, used.read_bytes + used.write_bytes))
        kernel = [process for process in every if process.kernel]
        ours = _total(process for process in every if process.ours)
        return ProcessUsage(
            seconds=self._times[-1] - self._times[0],
            foreign=tuple(sorted(foreign, key=lambda n: -n.cpu_s)),
            kernel_cpu_s=_total(kernel).cpu_s,
            own_read_bytes=ours.read_bytes,
            own_write_bytes=ours.write_bytes,
            # From inside of most containers the kernel's threads cannot be seen.
            sees_io=bool(kernel) and len(self._hidden) <= _FEW_HIDDEN * len(every),
            clock_ratio=_clock_ratio(self._clocks),
        )

    def _read_stats(self) -> Iterator[tuple[int, tuple[str, list[str]]]]:
        for entry in os.scandir(self.proc_root):
            if entry.name.isdigit():
                try:
                    text = Path(entry.path, "stat").read_text(errors="replace")
                except OSError:
                    continue  # it ended meanwhile
                name, _, rest = text.partition("(")[2].rpartition(")")
                yield int(entry.name), (name, rest.split())

    def _see(self, pid: int, name: str, stat: list[str], parents: dict[int, int]) -> None:
        # Fields of proc(5) from the state on, so field n is stat[n - 3].
        key = (pid, int(stat[19]))
        kernel = bool(int(stat[6]) & _PF_KTHREAD)
        read, written = (0, 0) if kernel else self._io(key)
        use = _Use((int(stat[11]) + int(stat[12])) * _TICK_S, read, written)
        process = self._known.get(key)
        if process is None:
            # All usage of a process that was born since the first count counts.
            first = use if len(self._times) == 1 else _Use()
            self._known[key] = _Process(name, kernel, self._is_ours(pid, parents), first, use)
        else:
            # The name changes when a program is executed in place of another.
            process.name, process.last = name, use

    def _is_ours(self, pid: int, parents: dict[int, int]) -> bool:
        seen: set[int] = set()
        while pid and pid not in seen:
            if pid in self.roots:
                return True
            seen.add(pid)
            pid = parents.get(pid, 0)
        return False

    def _io(self, key: _Key) -> tuple[int, int]:
        """Bytes fetched from and sent to storage; zeros where they are not ours to see."""
        try:
            text = (self.proc_root / str(key[0]) / "io").read_text()
        except PermissionError:
            self._hidden.add(key)
            return 0, 0
        except OSError:
            return 0, 0
        counters = dict(line.split(": ") for line in text.splitlines())
        return int(counters.get("read_bytes", 0)), int(counters.get("write_bytes", 0))


class ProcessWatcher:
    """Context manager: counts from `begin` on in a thread of its own until `end`."""

    def __init__(
        self, counter: ProcessCounter | None = None, *, period_s: float = _PERIOD_S
    ) -> None:
        self._counter = counter or ProcessCounter()
        self._period_s = period_s
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="process_usage", daemon=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join()

    def begin(self) -> None:
        """Make the first count, in the other thread."""
        self._thread.start()

    def end(self) -> None:
        """Make the last count, here and now."""
        self._ended.set()
        with self._lock:
            self._counter.count()

    def process_usage(self) -> ProcessUsage | None:
        """Return the findings so far; None before the first count."""
        return self._counter.process_usage()

    def _run(self) -> None:
        pause = 0.0
        while not self._ended.wait(pause):
            began = time.thread_time()
            with self._lock:
                if not self._ended.is_set():
                    self._counter.count()
            pause = max(self._period_s, (time.thread_time() - began) / _MAX_OF_A_CPU)


def _total(processes: Iterable[_Process]) -> _Use:
    """Return the sum over these from their first count to their last."""
    grown = [
        [max(0, after - before) for before, after in zip(p.first, p.last, strict=True)]
        for p in processes
    ]
    return _Use(*map(sum, zip(*grown, strict=True))) if grown else _Use()


def _clock_ratio(clocks: list[float]) -> float | None:
    half = len(clocks) // 2
    if half < _CLOCKS_IN_A_HALF:
        return None
    return median(clocks[-half:]) / median(clocks[:half])

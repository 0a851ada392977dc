"""sysbench: our TPC-C workload for it (`tpcc.lua`), and its own OLTP scripts (`oltp.lua`)."""

from __future__ import annotations

import fcntl
import hashlib
import mmap
import os
import re
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import numpy as np

from benchmarks.drivers.checks import GRACE_S, check_target, verdict
from benchmarks.drivers.child import Child, watch
from benchmarks.drivers.protocol import (
    DriverResult,
    Load,
    Phase,
    Start,
    Target,
    Workload,
)
from benchmarks.drivers.sysbench_records import PREFIX, RecordCounter
from benchmarks.drivers.workloads import OLTP_DRIVER, TPCC
from benchmarks.drivers.workplace import hand_over, workplace
from benchmarks.errors import NoDriver, RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.processes.child import run

_TPCC: Final = Path(__file__).with_name("tpcc.lua")
_OLTP: Final = Path(__file__).with_name("oltp.lua")
_RECORDER: Final = Path(__file__).with_name("recorder.lua")
_CONFIG: Final = "sysbench.cnf"
_CERTIFICATE: Final = "server-cert.pem"
_VERSION: Final = re.compile(r"^sysbench (1\.\d+[\w.]*)", re.MULTILINE)
#: How often the records are counted while the workload runs, in seconds.
_TAKE_EVERY_S: Final = 1.0


def find_sysbench() -> Path | None:
    """`sysbench` on PATH, or None where it is not installed."""
    found = shutil.which("sysbench")
    return Path(found) if found else None


class Sysbench:
    """Runs one `sysbench` with a workload that records its transactions.

    The threads run until they are asked to end, through a file that both sides map, and record
    every transaction with the monotonic clock, which all processes of a host share. So we
    decide when measuring begins and ends, and afterwards pick the transactions that ended in
    between. `grace_s` is how long it may take to connect, and how much longer than warm-up and
    measured interval the rest may take.
    """

    name = OLTP_DRIVER
    encrypts = True

    def __init__(self, program: Path, *, grace_s: float = GRACE_S) -> None:
        self._program = program
        self._grace_s = grace_s
        scripts = b"".join(path.read_bytes() for path in (_TPCC, _OLTP, _RECORDER))
        self.version = f"{_version(program)} scripts:{hashlib.sha256(scripts).hexdigest()[:12]}"

    def run(
        self,
        target: Target,
        load: Load,
        work_dir: Path,
        *,
        on_phase: Callable[[Phase], None],
        should_stop: Callable[[], bool],
        start: Start | None = None,
    ) -> DriverResult:
        """See `protocol.LocalDriver`."""
        workload = load.workload
        check_target(target, workload)
        script = _TPCC if workload.name == TPCC else _OLTP
        if target.certificate and script is _OLTP:
            why = f"sysbench does not check the certificate of a server for {workload.name}"
            raise RunFailed(Outcome.DRIVER_FAILED, why)
        with workplace(work_dir) as directory:
            if target.certificate:
                (directory / _CERTIFICATE).write_text(target.certificate)
            # Copies: that user may not be able to read where we are installed.
            for path in (script, _RECORDER):
                (directory / path.name).write_bytes(path.read_bytes())
            # No list of processes shows the password.
            (directory / _CONFIG).write_text(f"mysql-password={target.password}\n")
            hand_over(directory)
            with (
                _Control(load.connections) as control,
                Child(
                    [str(self._program), *_arguments(target, load, script, control.name)],
                    cwd=directory,
                    env={"OLTP_SCRIPT": workload.name},
                    secrets=(target.password,),
                    pass_fds=(control.descriptor,),
                ) as child,
            ):
                records = RecordCounter(directory, workload, measure_s=load.measure_s)
                deadline = time.monotonic() + self._grace_s
                begins = _wait_to_begin(child, control, start or Start(), deadline, should_stop)
                deadline = time.monotonic() + load.warmup_s + load.measure_s + self._grace_s
                measured = _follow(
                    child, control, records, load, begins, deadline, on_phase, should_stop
                )
                return _collect(child, control, records, workload, measured)


def _version(program: Path) -> str:
    try:
        said = run(program, "--version").output
    except OSError as error:
        raise NoDriver(f"{program} cannot be run: {error}") from error
    if not (version := _VERSION.search(said)):
        raise NoDriver(f"{program} is not sysbench 1.0 or later: it says {said.strip()!r}.")
    return version[1]


def _arguments(target: Target, load: Load, script: Path, control: str) -> list[str]:
    seed = max(1, load.seed % 2**31)
    parameters = load.workload.parameters.items()
    return [
        f"--config-file={_CONFIG}",
        f"./{script.name}",
        f"--mysql-host={target.host}",
        f"--mysql-port={target.port}",
        f"--mysql-user={target.user}",
        f"--mysql-db={target.database}",
        f"--threads={load.connections}",
        *(f"--{name.replace('_', '-')}={value}" for name, value in parameters),
        f"--workload-seed={seed}" if script is _TPCC else f"--rand-seed={seed}",
        *([f"--certificate={_CERTIFICATE}"] if target.certificate else []),
        f"--control={control}",
        f"--records={PREFIX}",
        # The workload has its own loop, which these two do not end; without --time there would
        # be a warning.
        "--events=0",
        "--time=1000000",
        "run",
    ]


class _Control:
    """The memory shared with recorder.lua: its `recorder_control`, a word of command first.

    Nobody can make it smaller, which would end us with SIGBUS.
    """

    _STATES_AT = 96
    _GO, _STOP = 1, 2
    _READY, _ENDED, _BROKEN = 1, 2, -1

    def __init__(self, threads: int) -> None:
        size = self._STATES_AT + 4 * threads
        self.descriptor = os.memfd_create("driver-control", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(self.descriptor, size)
            seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
            fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, seals)
            self._map = mmap.mmap(self.descriptor, size)
        except OSError:
            os.close(self.descriptor)
            raise

    @property
    def name(self) -> str:
        """Opens it in a process that inherits the descriptor."""
        return f"/proc/self/fd/{self.descriptor}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._map.close()
        os.close(self.descriptor)

    def all_ready(self) -> bool:
        """Whether every thread is connected and waits for `go`."""
        return all(state == self._READY for state in self._states())

    def all_ended(self) -> bool:
        """Whether every thread ended its work and wrote down all of it."""
        return all(state == self._ENDED for state in self._states())

    def broken(self) -> int:
        """How many threads gave up."""
        return self._states().count(self._BROKEN)

    def go(self) -> None:
        """Let every thread begin."""
        self._map[0:4] = self._GO.to_bytes(4, sys.byteorder)

    def stop(self) -> None:
        """Let every thread end after the transaction that it is in."""
        self._map[0:4] = self._STOP.to_bytes(4, sys.byteorder)

    def _states(self) -> list[int]:
        return [
            int(state) for state in np.frombuffer(self._map[self._STATES_AT :], dtype=np.int32)
        ]


@dataclass(frozen=True)
class _Measured:
    """The measured interval on the monotonic clock, and the driver's CPU seconds in it."""

    begin: float
    end: float
    cpu_seconds: float


def _wait_to_begin(
    child: Child,
    control: _Control,
    start: Start,
    deadline: float,
    should_stop: Callable[[], bool],
) -> bool:
    """Wait until all threads are connected, then for as long as it takes until they may begin;
    False if one gave up or they ended. Raises RunFailed: TIMED_OUT if not all are connected by
    `deadline`, CANCELLED.
    """
    for _ in watch(child, deadline=deadline, should_stop=should_stop):
        if control.broken():
            return False
        if control.all_ready():
            break
    else:
        return False
    start.ready()
    for _ in watch(
        child,
        deadline=float("inf"),
        should_stop=should_stop,
        until=lambda: start.at,
    ):
        if control.broken():
            return False
        if time.monotonic() >= start.at:
            return True
    return False


def _follow(
    child: Child,
    control: _Control,
    records: RecordCounter,
    load: Load,
    begins: bool,
    deadline: float,
    on_phase: Callable[[Phase], None],
    should_stop: Callable[[], bool],
) -> _Measured:
    """Let the threads begin, announce the phases by the clock, count what is recorded and end the
    threads; back when they all have ended. Without `begins` only to say what became of them.
    """
    cpu: dict[Phase, float] = {}
    at: dict[Phase, float] = {}
    next_phase_at = [float("inf")]
    taken = time.monotonic()

    def begin(reached: Phase, seconds: float) -> Phase:
        at[reached] = time.monotonic()
        next_phase_at[0] = at[reached] + seconds
        cpu[reached] = child.cpu_seconds()
        on_phase(reached)
        return reached

    phase: Phase | None = None
    if begins:
        control.go()
        phase = begin(Phase.WARMING, load.warmup_s)
    for _ in watch(
        child, deadline=deadline, should_stop=should_stop, until=lambda: next_phase_at[0]
    ):
        if control.broken():
            break
        due = time.monotonic() >= next_phase_at[0]
        if phase is Phase.WARMING and due:
            phase = begin(Phase.MEASURING, load.measure_s)
            records.begin(at[Phase.MEASURING])
        elif phase is Phase.MEASURING and due:
            phase = begin(Phase.STOPPING, float("inf"))
            control.stop()
            records.end(at[Phase.STOPPING])
        elif time.monotonic() - taken >= _TAKE_EVERY_S:
            taken = time.monotonic()
            _take(child, records)
    for _ in watch(child, deadline=deadline, should_stop=should_stop):
        pass  # also after a break, so that the error has all that it said
    status = child.wait(max(0.0, deadline - time.monotonic()))
    if killed := child.ended_by_another():
        raise killed
    if broken := control.broken():
        raise child.failure(
            Outcome.DRIVER_FAILED,
            f"{broken} of {load.connections} connections failed: {_reason(child)}",
        )
    if phase is not Phase.STOPPING or status != 0:
        raise child.failure(
            Outcome.DRIVER_FAILED, f"sysbench ended with status {status}: {_reason(child)}"
        )
    return _Measured(
        begin=at[Phase.MEASURING],
        end=at[Phase.STOPPING],
        cpu_seconds=cpu[Phase.STOPPING] - cpu[Phase.MEASURING],
    )


def _reason(child: Child) -> str:
    """The first line that names an error, else the last of all lines."""
    lines = child.output().splitlines()
    errors = (line for line in lines if line.startswith(("FATAL", "thread ")))
    return next(errors, child.last_line())


def _collect(
    child: Child,
    control: _Control,
    records: RecordCounter,
    workload: Workload,
    measured: _Measured,
) -> DriverResult:
    """Judge and count the transactions that ended in the measured interval."""
    if not control.all_ended():
        raise child.failure(Outcome.DRIVER_FAILED, "A thread ended without its last records.")
    _take(child, records)
    counts = records.counts()
    if wrong := verdict(counts, workload):
        raise child.failure(*wrong)
    return DriverResult(
        measured_seconds=measured.end - measured.begin,
        times=records.times,
        counts=counts,
        driver_cpu_seconds=measured.cpu_seconds,
        output=child.output(),
    )


def _take(child: Child, records: RecordCounter) -> None:
    try:
        records.take()
    except (OSError, ValueError) as error:
        message = f"The records of the transactions cannot be read: {error}"
        raise child.failure(Outcome.DRIVER_FAILED, message) from error

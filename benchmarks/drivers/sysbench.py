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
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from benchmarks.drivers.checks import GRACE_S, check_target, verdict
from benchmarks.drivers.program import Program, workplace
from benchmarks.drivers.protocol import DriverResult, Load, Phase, Start, Target
from benchmarks.drivers.sysbench_records import PREFIX, RecordCounter
from benchmarks.drivers.workloads import OLTP_DRIVER, TPCC
from benchmarks.errors import NoDriver, RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.ownership import give
from benchmarks.processes.child import run

_TPCC: Final = Path(__file__).with_name("tpcc.lua")
_OLTP: Final = Path(__file__).with_name("oltp.lua")
_RECORDER: Final = Path(__file__).with_name("recorder.lua")
_CONFIG: Final = "sysbench.cnf"
_CERTIFICATE: Final = "server-cert.pem"
_VERSION: Final = re.compile(r"^sysbench (1\.\d+[\w.]*)", re.MULTILINE)
#: How often the records are counted while the workload runs, in seconds.
_TAKE_EVERY_S: Final = 1.0
_NEVER: Final = float("inf")


def find_sysbench() -> Path | None:
    """Return `sysbench` on PATH, or None where it is not installed."""
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
        try:
            said = run(program, "--version").output
        except OSError as error:
            raise NoDriver(f"{program} cannot be run: {error}") from error
        if not (version := _VERSION.search(said)):
            raise NoDriver(f"{program} is not sysbench 1.0 or later: it says {said.strip()!r}.")
        scripts = b"".join(path.read_bytes() for path in (_TPCC, _OLTP, _RECORDER))
        self.version = f"{version[1]} scripts:{hashlib.sha256(scripts).hexdigest()[:12]}"

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
            give(directory)
            with (
                closing(_Control(load.connections)) as control,
                Program(
                    [str(self._program), *_arguments(target, load, script, control.name)],
                    cwd=directory,
                    env={"OLTP_SCRIPT": workload.name},
                    secrets=(target.password,),
                    pass_fds=(control.descriptor,),
                ) as program,
            ):
                records = RecordCounter(directory, workload, measure_s=load.measure_s)
                drive = _Drive(program, control, records, load, start or Start(), self._grace_s)
                drive.follow(on_phase, should_stop)
                return drive.result()


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

    GO, STOP = 1, 2
    READY, ENDED, BROKEN = 1, 2, -1
    _STATES_AT = 96

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

    def close(self) -> None:
        """Forget the memory; the program still has it."""
        self._map.close()
        os.close(self.descriptor)

    def command(self, word: int) -> None:
        """Let every thread begin, or end after the transaction that it is in."""
        self._map[0:4] = word.to_bytes(4, sys.byteorder)

    def are_all(self, state: int) -> bool:
        """Whether every thread is in that state."""
        return bool((self._states() == state).all())

    def broken(self) -> int:
        """Return how many threads gave up."""
        return int((self._states() == self.BROKEN).sum())

    def _states(self) -> npt.NDArray[np.int32]:
        return np.frombuffer(self._map[self._STATES_AT :], dtype=np.int32)


@dataclass
class _Drive:
    """One run of the program."""

    program: Program
    control: _Control
    records: RecordCounter
    load: Load
    start: Start
    grace_s: float
    cpu_s: dict[Phase, float] = field(default_factory=dict)

    def follow(self, on_phase: Callable[[Phase], None], should_stop: Callable[[], bool]) -> None:
        """Let the threads begin once they may, announce the phases by the clock, count what is
        recorded and end the threads; back when the program has ended.

        Raises RunFailed: TIMED_OUT if not all are connected or ended in time, CANCELLED.
        """
        load, control, program = self.load, self.control, self.program
        program.deadline = time.monotonic() + self.grace_s
        is_ready, taken = False, 0.0
        for _ in program.lines(should_stop):
            if control.broken():
                break
            if not is_ready and control.are_all(control.READY):
                # The word to begin may take as long as it likes.
                is_ready, program.deadline = True, _NEVER
                self.start.ready()
            if is_ready and not self.cpu_s:
                program.wake_at = self.start.at
            now = time.monotonic()
            if now < program.wake_at:
                if now - taken >= _TAKE_EVERY_S:
                    taken = now
                    self._take()
            elif not self.cpu_s:
                control.command(control.GO)
                program.wake_at = now + load.warmup_s
                program.deadline = program.wake_at + load.measure_s + self.grace_s
                self._enter(Phase.WARMING, on_phase)
            elif Phase.MEASURING not in self.cpu_s:
                self.records.begin = now
                program.wake_at = now + load.measure_s
                self._enter(Phase.MEASURING, on_phase)
            else:
                self.records.end = now
                program.wake_at = _NEVER
                control.command(control.STOP)
                self._enter(Phase.STOPPING, on_phase)
        program.deadline = min(program.deadline, time.monotonic() + self.grace_s)
        for _ in program.lines(should_stop):
            pass  # also after a break, so that the error has all that it said
        self._check(program.end())

    def result(self) -> DriverResult:
        """Judge and count the transactions that ended in the measured interval."""
        self._take()
        counts = self.records.counts()
        if wrong := verdict(counts, self.load.workload):
            raise self.program.failure(*wrong)
        return DriverResult(
            measured_seconds=self.records.end - self.records.begin,
            times=self.records.times,
            counts=counts,
            driver_cpu_seconds=self.cpu_s[Phase.STOPPING] - self.cpu_s[Phase.MEASURING],
            output=self.program.output(),
        )

    def _enter(self, phase: Phase, on_phase: Callable[[Phase], None]) -> None:
        self.cpu_s[phase] = self.program.cpu_seconds()
        on_phase(phase)

    def _take(self) -> None:
        try:
            self.records.take()
        except (OSError, ValueError) as error:
            what = f"The records of the transactions cannot be read: {error}"
            raise self._failure(what) from error

    def _check(self, status: int | None) -> None:
        """Raise RunFailed unless the program ended as it was asked to."""
        lines = self.program.output().splitlines()
        errors = (line for line in lines if line.startswith(("FATAL", "thread ")))
        reason = next(errors, self.program.last_line())
        if broken := self.control.broken():
            connections = self.load.connections
            raise self._failure(f"{broken} of {connections} connections failed: {reason}")
        if Phase.STOPPING not in self.cpu_s or status != 0:
            raise self._failure(f"sysbench ended with status {status}: {reason}")
        if not self.control.are_all(_Control.ENDED):
            raise self._failure("A thread ended without its last records.")

    def _failure(self, message: str) -> RunFailed:
        return self.program.failure(Outcome.DRIVER_FAILED, message)

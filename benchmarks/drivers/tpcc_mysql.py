"""The real tpcc-mysql: `tpcc_start`, a program of the system that this project does not ship."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.drivers.checks import GRACE_S, check_target, verdict, wait_to_begin
from benchmarks.drivers.program import Program, workplace
from benchmarks.drivers.protocol import (
    DriverResult,
    Load,
    Phase,
    ReportedSecond,
    Start,
    Target,
)
from benchmarks.drivers.tpcc_output import TpccOutput, measured_response_times
from benchmarks.drivers.workloads import TPCC
from benchmarks.errors import RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.ownership import give

#: Response-time limits in ms. The program's defaults are TPC-C's seconds, compared with ms.
_LIMITS = ("-0", "5000", "-1", "5000", "-2", "5000", "-3", "80000", "-4", "20000")
NOT_ENCRYPTED = "tpcc_start cannot be asked to use TLS: use sysbench"
_RESPONSE_TIMES = "response-times.txt"
#: Seconds by which wall time may exceed the measured seconds before it is used instead of them.
_LATE_TICK_S = 0.5


def find_tpcc_start() -> Path | None:
    """Return `tpcc_start` under TPCC_MYSQL_HOME, else on PATH; None where it is not installed."""
    home = os.environ.get("TPCC_MYSQL_HOME")
    found = shutil.which("tpcc_start", path=home) if home else None
    found = found or shutil.which("tpcc_start")
    return Path(found) if found else None


class TpccMysql:
    """Runs one `tpcc_start` and reads its output and its file of response times.

    `grace_s` is how long it may take longer than warm-up and measured interval together.
    """

    name = "tpcc-mysql"
    encrypts = False

    def __init__(self, program: Path, *, grace_s: float = GRACE_S) -> None:
        self._program = program.resolve()
        self._grace_s = grace_s
        # The program does not know its own version.
        digest = hashlib.sha256(self._program.read_bytes()).hexdigest()
        self.version = f"sha256:{digest[:12]}"
        self._output = TpccOutput()

    @property
    def reported(self) -> ReportedSecond | None:
        """See `protocol.ReportsSeconds`."""
        return self._output.newest

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
        if workload.name != TPCC:
            raise RunFailed(Outcome.DRIVER_FAILED, f"tpcc_start cannot drive {workload.name}.")
        check_target(target, workload)
        if target.certificate:
            raise RunFailed(Outcome.DRIVER_FAILED, NOT_ENCRYPTED)
        # The program cuts all its arguments at 127 characters: it gets the name of its file of
        # response times only, and the folder as its working directory.
        argv = [
            *(str(self._program), "-h", target.host, "-P", str(target.port)),
            *("-d", target.database, "-u", target.user, "-p", target.password),
            *("-w", str(workload.parameters["warehouses"]), "-c", str(load.connections)),
            *("-r", str(load.warmup_s), "-l", str(load.measure_s)),
            *("-i", "1", "-f", _RESPONSE_TIMES, *_LIMITS),
        ]
        with workplace(work_dir) as directory:
            give(directory)
            wait_to_begin(start or Start(), should_stop)
            with Program(argv, cwd=directory, secrets=(target.password,)) as program:
                seconds = load.warmup_s + load.measure_s + self._grace_s
                program.deadline = time.monotonic() + seconds
                self._output = output = TpccOutput()
                at, cpu_s = _follow(program, output, load, on_phase, should_stop)
                _check(program, output, load)
                try:
                    times = measured_response_times(
                        directory / _RESPONSE_TIMES,
                        completed=output.counts[workload.counted].completed,
                        measure_s=load.measure_s,
                    )
                except ValueError as error:
                    raise program.failure(Outcome.DRIVER_FAILED, str(error)) from error
                # Its timer ticks once a second; on a host that stands still ticks may be lost,
                # and measuring then takes longer than the ticks say.
                wall = at[Phase.STOPPING] - at[Phase.MEASURING]
                ticked = float(load.measure_s)
                return DriverResult(
                    measured_seconds=wall if wall > ticked + _LATE_TICK_S else ticked,
                    times=times,
                    counts=output.counts,
                    driver_cpu_seconds=cpu_s[Phase.STOPPING] - cpu_s[Phase.MEASURING],
                    output=program.output(),
                )


def _follow(
    program: Program,
    output: TpccOutput,
    load: Load,
    on_phase: Callable[[Phase], None],
    should_stop: Callable[[], bool],
) -> tuple[dict[Phase, float], dict[Phase, float]]:
    """Announce the phases as the output shows them; return when each began, and its CPU seconds.

    The end of measuring is the line of the last interval: "STOPPING THREADS" stays in the
    program's buffer until the first of its threads has ended.
    """
    at: dict[Phase, float] = {}
    cpu_s: dict[Phase, float] = {}
    for lines in program.lines(should_stop):
        for line in lines.errors:
            output.feed_error(line)
        for line in lines.output:
            output.feed(line)
            for phase, is_reached in (
                (Phase.WARMING, output.ramp_up_started),
                (Phase.MEASURING, output.measuring_started),
                (Phase.STOPPING, len(output.intervals) >= load.measure_s),
            ):
                if is_reached and phase not in at:
                    at[phase], cpu_s[phase] = time.monotonic(), program.cpu_seconds()
                    on_phase(phase)
        # Without this it would continue to fail until its time is over.
        _check_connections(program, output, load)
    return at, cpu_s


def _check(program: Program, output: TpccOutput, load: Load) -> None:
    """Raise RunFailed unless the program ended with results that make a measurement."""
    status = program.end()
    _check_connections(program, output, load)
    is_complete = output.finished and len(output.intervals) >= load.measure_s
    if status is None or status < 0 or not is_complete:
        why = f"tpcc_start ended with status {status} and without its results"
        raise program.failure(Outcome.DRIVER_FAILED, f"{why}: {program.last_line()}")
    if wrong := verdict(output.counts, load.workload):
        outcome, message = wrong
        if reason := output.commonest_error():
            message = f"{message} Most often: {reason}"
        raise program.failure(outcome, message)


def _check_connections(program: Program, output: TpccOutput, load: Load) -> None:
    """Raise DRIVER_FAILED when not every connection is, and still is, at work."""
    why = ""
    if output.connection_lost:
        why = f"A connection failed: {output.connection_lost}"
    elif output.lost_threads:
        reason = output.commonest_error() or "no reason given"
        why = f"{output.lost_threads} of {load.connections} connections failed: {reason}"
    if why:
        raise program.failure(Outcome.DRIVER_FAILED, why)

"""The real tpcc-mysql: `tpcc_start`, a program of the system that this project does not ship."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.drivers.checks import GRACE_S, check_target, verdict, wait_to_begin
from benchmarks.drivers.child import Child, watch
from benchmarks.drivers.protocol import (
    DriverResult,
    Load,
    Phase,
    ReportedSecond,
    Start,
    Target,
)
from benchmarks.drivers.tpcc_output import TpccOutput
from benchmarks.drivers.tpcc_times import measured_response_times
from benchmarks.drivers.workloads import TPCC
from benchmarks.drivers.workplace import hand_over, workplace
from benchmarks.errors import RunFailed
from benchmarks.outcomes import Outcome

#: Response-time limits in ms. The program's defaults are TPC-C's seconds, compared with ms.
_LIMITS = ("-0", "5000", "-1", "5000", "-2", "5000", "-3", "80000", "-4", "20000")
NOT_ENCRYPTED = (
    "tpcc_start cannot be asked to use TLS, and the client library that it is linked with does not"
    " by itself; build it with MySQL's own client library (libmysqlclient), or use sysbench"
)
#: Which client library it is linked with, as it stands in the program. MySQL's own uses TLS where
#: the server has it since 5.7.11, whose number is 20. MariaDB's does not: before 3.4 it has to be
#: asked, and since then it refuses a server whose certificate it cannot check.
_MYSQL_LIBRARY = re.compile(rb"libmysqlclient\.so\.(\d+)\0")
_FIRST_WITH_TLS = 20
_RESPONSE_TIMES = "response-times.txt"
#: By how much wall time may exceed the measured seconds before it is used instead of them.
_LATE_TICK_S = 0.5
#: Exit status of the loader, for a program whose libraries are not there, and of shells.
_NOT_STARTED = 127


def find_tpcc_start() -> Path | None:
    """`tpcc_start` under TPCC_MYSQL_HOME, else on PATH; None where it is not installed."""
    home = os.environ.get("TPCC_MYSQL_HOME")
    found = shutil.which("tpcc_start", path=home) if home else None
    found = found or shutil.which("tpcc_start")
    return Path(found) if found else None


class TpccMysql:
    """Runs one `tpcc_start` and reads its output and its file of response times.

    `grace_s` is how long it may take longer than warm-up and measured interval together;
    `encrypts` says whether its connections use TLS where the server has it, for it cannot be asked
    to.
    """

    name = "tpcc-mysql"

    def __init__(self, program: Path, *, grace_s: float = GRACE_S) -> None:
        self._program = program.resolve()
        self._grace_s = grace_s
        # The program does not know its own version.
        content = self._program.read_bytes()
        self.version = f"sha256:{hashlib.sha256(content).hexdigest()[:12]}"
        library = _MYSQL_LIBRARY.search(content)
        self.encrypts = library is not None and int(library[1]) >= _FIRST_WITH_TLS
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
        if target.certificate and not self.encrypts:
            raise RunFailed(Outcome.DRIVER_FAILED, NOT_ENCRYPTED)
        # The directory is the program's working directory because the program cuts all its
        # arguments at 127 characters: it gets the file's name only.
        with workplace(work_dir) as directory:
            hand_over(directory)
            argv = [str(self._program), *_arguments(target, load)]
            wait_to_begin(start or Start(), should_stop)
            with Child(argv, cwd=directory, secrets=(target.password,)) as child:
                deadline = time.monotonic() + load.warmup_s + load.measure_s + self._grace_s
                self._output = output = TpccOutput()
                return _follow(child, output, directory, load, deadline, on_phase, should_stop)


def _arguments(target: Target, load: Load) -> list[str]:
    return [
        *("-h", target.host, "-P", str(target.port), "-d", target.database),
        *("-u", target.user, "-p", target.password),
        *("-w", str(load.workload.parameters["warehouses"]), "-c", str(load.connections)),
        *("-r", str(load.warmup_s), "-l", str(load.measure_s)),
        *("-i", "1", "-f", _RESPONSE_TIMES, *_LIMITS),
    ]


def _follow(
    child: Child,
    output: TpccOutput,
    directory: Path,
    load: Load,
    deadline: float,
    on_phase: Callable[[Phase], None],
    should_stop: Callable[[], bool],
) -> DriverResult:
    """Announce the phases as the output shows them, then judge and collect.

    The program flushes its output before each of the three moments, so a pipe shows them at once.
    The end of measuring is the line of the last interval: "STOPPING THREADS" stays in the
    program's buffer until the first of its threads has ended.
    """
    phase: Phase | None = None
    cpu: dict[Phase, float] = {}
    at: dict[Phase, float] = {}

    def begin(reached: Phase) -> Phase:
        at[reached] = time.monotonic()
        cpu[reached] = child.cpu_seconds()
        on_phase(reached)
        return reached

    for lines in watch(child, deadline=deadline, should_stop=should_stop):
        for line in lines.errors:
            output.feed_error(line)
        for line in lines.output:
            output.feed(line)
            if phase is None and output.ramp_up_started:
                phase = begin(Phase.WARMING)
            if phase is Phase.WARMING and output.measuring_started:
                phase = begin(Phase.MEASURING)
            if phase is Phase.MEASURING and len(output.intervals) >= load.measure_s:
                phase = begin(Phase.STOPPING)
        # Without this it would continue to fail until its time is over.
        _fail_without_connections(child, output, load)
    status = child.wait(max(0.0, deadline - time.monotonic()))
    if killed := child.ended_by_another():
        raise killed
    _fail_without_connections(child, output, load)
    if status == _NOT_STARTED:
        why = f"tpcc_start cannot be started: {child.last_line()}"
        raise child.failure(Outcome.DRIVER_FAILED, why)
    if status is None or status < 0 or not output.finished or phase is not Phase.STOPPING:
        how = "without its results" if status is None or status >= 0 else f"by signal {-status}"
        raise child.failure(Outcome.DRIVER_FAILED, f"tpcc_start ended {how}.")
    if wrong := verdict(output.counts, load.workload):
        outcome, message = wrong
        if reason := output.commonest_error():
            message = f"{message} Most often: {reason}"
        raise child.failure(outcome, message)
    try:
        times = measured_response_times(
            directory / _RESPONSE_TIMES,
            completed=output.counts[load.workload.counted].completed,
            measure_s=load.measure_s,
        )
    except ValueError as error:
        raise child.failure(Outcome.DRIVER_FAILED, str(error)) from error
    # Its timer ticks once a second; on a host that stands still ticks may be lost, and measuring
    # then takes longer than the ticks say.
    wall = at[Phase.STOPPING] - at[Phase.MEASURING]
    ticked = float(load.measure_s)
    return DriverResult(
        measured_seconds=wall if wall > ticked + _LATE_TICK_S else ticked,
        times=times,
        counts=output.counts,
        driver_cpu_seconds=cpu[Phase.STOPPING] - cpu[Phase.MEASURING],
        output=child.output(),
    )


def _fail_without_connections(child: Child, output: TpccOutput, load: Load) -> None:
    """Raise DRIVER_FAILED when not every connection is, and still is, at work."""
    if output.connection_lost:
        raise child.failure(
            Outcome.DRIVER_FAILED, f"A connection failed: {output.connection_lost}"
        )
    if output.lost_threads:
        raise child.failure(
            Outcome.DRIVER_FAILED,
            f"{output.lost_threads} of {load.connections} connections failed:"
            f" {output.commonest_error() or 'no reason given'}",
        )

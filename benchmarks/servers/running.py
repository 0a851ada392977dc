"""A server for the length of a block: always ended, and swept when its worker was killed."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pymysql

from benchmarks.emulation.device import CgroupLimits
from benchmarks.errors import EmulationUnavailable, RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.ownership import delete, forget_cached, free_folders, give
from benchmarks.processes.child import Child, check_reachable
from benchmarks.processes.orphans import end_by_argument
from benchmarks.servers import errorlog
from benchmarks.servers.accounts import TPCC_SCHEMA, Account, account_sql
from benchmarks.servers.binary import ServerBinary
from benchmarks.servers.failures import explain_failed_start, explain_unclean_end
from benchmarks.servers.instance import ServerInstance
from benchmarks.servers.options import render_config
from benchmarks.servers.paths import InstancePaths, make_run_dir, open_console, write_private
from benchmarks.servers.reach import NotReachable, Reach, free_port, make_certificate

log = logging.getLogger(__name__)

PORT_ATTEMPTS = 4  # the first and three more
FAILED_STOP_S = 10.0  # after an error or Ctrl-C the data directory is not kept
OOM_SCORE_ADJ = "700"
STOP_S = 30.0
SLOW_STOP_S = 900.0  # a slow shutdown merges and purges everything
_POLL_S = 0.05


@contextlib.contextmanager
def running_server(
    binary: ServerBinary,
    *,
    data_dir: Path,
    run_dir: Path,
    log_dir: Path | None = None,
    options: Mapping[str, str | None],
    deadline_s: float = 120,
    should_stop: Callable[[], bool] = lambda: False,
    fast_shutdown: bool = True,
    resource_limits: CgroupLimits | None = None,
    reach: Reach | None = None,
    schema: str = TPCC_SCHEMA,
) -> Iterator[ServerInstance]:
    """Run `binary` on `data_dir` for the length of the block.

    The block must be left by the thread that entered it: the server dies with that thread.

    run_dir: made in a folder of ours; my.cnf and the error log stay in it.
    options: the candidate's knobs (value None: a bare option; log_bin takes ON or OFF).
    fast_shutdown: leaves the data directory as after a crash, to be thrown away. Without, it is
    purged and flushed completely, and RunFailed is raised when that did not succeed.
    resource_limits: hold from the first instruction, on files that are not in the page cache.
    reach: a load host can log in as the driver, and nobody else. Without, only this host can.
    schema: where the driver's account can work.

    Raises ValueError when `options` reach for what is ours, DeviceUnusable when the server's
    user cannot write in a directory, NoServerUser, EmulationUnavailable, NotReachable when another
    program has the port of the `reach`, and RunFailed: NO_START, OUT_OF_MEMORY, DISK_FULL or LOST
    when the server ends, TIMED_OUT when it lives and never answers, CANCELLED when `should_stop`.
    """
    paths = InstancePaths(
        data_dir.absolute(), run_dir.absolute(), log_dir.absolute() if log_dir else None
    )
    start = _Start(binary, paths, options, fast_shutdown, resource_limits, reach, schema)
    start.config(port=1)  # refuses options that reach for what is ours
    run_dir.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as afterwards:
        # An interrupt may come between the start of a server and the note of its process.
        afterwards.callback(end_servers, paths.run_dir)
        afterwards.callback(paths.init_file.unlink, missing_ok=True)
        start.hand_over()
        instance = start.until_it_answers(deadline_s, should_stop)
        patience_s = FAILED_STOP_S
        try:
            yield instance
            patience_s = STOP_S if fast_shutdown else SLOW_STOP_S
        finally:
            instance.stop(patience_s)
        if not fast_shutdown and instance.exit_status != 0:
            raise explain_unclean_end(instance)


@dataclass(frozen=True)
class _Start:
    """How a server is to be started; see `running_server`."""

    binary: ServerBinary
    paths: InstancePaths
    options: Mapping[str, str | None]
    fast_shutdown: bool
    limits: CgroupLimits | None
    reach: Reach | None
    schema: str

    def config(self, port: int) -> str:
        return render_config(
            self.binary,
            self.paths,
            port=port,
            options=self.options,
            fast_shutdown=self.fast_shutdown,
            reach=self.reach,
        )

    def hand_over(self) -> None:
        """Give the server its data and a new folder of its own."""
        make_run_dir(self.paths)
        data_folders = list(filter(None, (self.paths.data_dir, self.paths.log_dir)))
        for folder in (self.paths.own_dir, *data_folders):
            give(folder)
            check_reachable(folder)
        if self.limits is not None:
            for folder in data_folders:
                forget_cached(folder)

    def until_it_answers(
        self, deadline_s: float, should_stop: Callable[[], bool]
    ) -> ServerInstance:
        """Return a server that answers; raises the reason why there is none."""
        deadline = time.monotonic() + deadline_s
        reach = self.reach
        for attempts_left in reversed(range(PORT_ATTEMPTS)):
            port = (reach.port or free_port(reach.address)) if reach else free_port()
            began = time.monotonic()
            instance = self._spawn(port)
            try:
                while not _answers(instance, should_stop):
                    if time.monotonic() > deadline:
                        late = f"the server runs but did not answer within {deadline_s:.0f} s"
                        tail = errorlog.meaningful(instance.log_lines())
                        raise RunFailed(Outcome.TIMED_OUT, late, log_tail=tail)
                    time.sleep(_POLL_S)
                instance.start_s = time.monotonic() - began
                if self.limits is not None and not self.limits.holds(instance.pid):
                    raise EmulationUnavailable(f"the server runs outside of {self.limits.label}")
                return instance
            except BaseException as error:
                instance.stop(FAILED_STOP_S)
                taken = errorlog.matching(instance.log_lines(), errorlog.PORT_TAKEN)
                if not (isinstance(error, RunFailed) and taken):
                    raise
                if reach is not None and reach.port:  # no other one will do
                    why = errorlog.strip_prefix(taken[0])
                    raise NotReachable(f"{reach.address}, port {port}: {why}") from error
                if not attempts_left:
                    raise
                log.warning("port %d was taken before the server could have it", port)
                delete(self.paths.error_log)
            finally:
                self.paths.init_file.unlink(missing_ok=True)
        raise AssertionError("unreachable")

    def _spawn(self, port: int) -> ServerInstance:
        binary, paths, reach = self.binary, self.paths, self.reach
        admin, driver = Account("advisor_admin"), Account("tpcc")
        write_private(paths.config, self.config(port))
        write_private(paths.init_file, account_sql(binary, admin, driver, reach, self.schema))
        certificate = ""
        if reach is not None and reach.encrypted:
            certificate, key = make_certificate(reach.address)
            write_private(paths.certificate, certificate)
            write_private(paths.key, key)
        with open_console(paths) as console:
            process = Child(
                [str(binary.path), defaults_argument(paths.run_dir)],
                cwd=paths.run_dir,
                stdout=console,
                entry=self.limits.entry_words if self.limits is not None else (),
            )
        with contextlib.suppress(OSError):  # short of memory, the kernel must not take the worker
            Path(f"/proc/{process.pid}/oom_score_adj").write_text(OOM_SCORE_ADJ)
        return ServerInstance(
            binary, paths, port, process, admin, driver, self.limits, reach, certificate
        )


def _answers(instance: ServerInstance, should_stop: Callable[[], bool]) -> bool:
    """Whether both accounts can log in; raises the reason if the server ended or is to end."""
    if not instance.alive():
        why = explain_failed_start(instance)
        # On a full disk it cannot even write that into its log; who watches the disk knows.
        is_unexplained = isinstance(why, RunFailed) and why.outcome is Outcome.NO_START
        if is_unexplained and should_stop():
            raise RunFailed(Outcome.CANCELLED, f"the start was to end: {why}") from why
        raise why
    if should_stop():
        raise RunFailed(Outcome.CANCELLED, "cancelled while the server was starting")
    # The driver's first login is made here, over the socket: it fills the server's password cache,
    # so that every client library can log in over plain TCP. An account of a load host does not
    # exist on the socket.
    local = [] if instance.reach else [instance.driver_account]
    try:
        for account in (instance.admin, *local):
            instance.connect(account, connect_timeout=2, read_timeout=5).close()
    except pymysql.err.OperationalError:
        return False
    return True


def defaults_argument(run_dir: Path) -> str:
    """Return the first argument of a server that keeps its my.cnf in `run_dir`."""
    return f"--defaults-file={run_dir / 'my.cnf'}"


def end_servers(folder: Path) -> bool:
    """End every server whose my.cnf is in `folder` or one level below; whether all are gone.

    PR_SET_PDEATHSIG ends the server of a worker that was killed in most cases, but not in all.
    """
    run_dirs = [folder, *(path for path in folder.glob("*") if path.is_dir())]
    return end_by_argument({defaults_argument(path) for path in run_dirs})


def sweep_folders(parent: Path, pattern: str = "*") -> list[Path]:
    """Delete the folders in `parent` that no process holds, and end the servers in them.

    Returns the folders that are gone. Safe at any time and from several processes. A folder whose
    server cannot be ended stays for the next sweep.
    """
    gone = []
    for path in free_folders(parent, pattern):
        if end_servers(path):
            delete(path)
        if not path.exists():
            gone.append(path)
    return gone

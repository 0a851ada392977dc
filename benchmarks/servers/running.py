"""A server for the length of a block: started on loopback, always ended."""

from __future__ import annotations

import contextlib
import logging
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pymysql

from benchmarks.emulation.device import CgroupLimits
from benchmarks.errors import EmulationUnavailable, RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.ownership.deleting import delete
from benchmarks.ownership.handover import give
from benchmarks.ownership.walking import forget_cached
from benchmarks.processes.child import Child, check_reachable
from benchmarks.servers import errorlog
from benchmarks.servers.accounts import (
    ADMIN_USER,
    DRIVER_USER,
    TPCC_SCHEMA,
    account_sql,
    new_account,
)
from benchmarks.servers.binary import ServerBinary
from benchmarks.servers.failures import explain_failed_start, explain_unclean_end
from benchmarks.servers.instance import ServerInstance
from benchmarks.servers.leftovers import defaults_argument, end_servers
from benchmarks.servers.options import render_config
from benchmarks.servers.paths import InstancePaths, make_run_dir, open_console, write_private
from benchmarks.servers.reach import NotReachable, Reach, make_certificate

log = logging.getLogger(__name__)

PORT_ATTEMPTS = 4  # the first and three more
FAILED_STOP_S = 10.0  # after an error or Ctrl-C the data directory is not kept
OOM_SCORE_ADJ = "700"
_POLL_S = 0.05
STOP_S = 30.0
SLOW_STOP_S = 900.0  # a slow shutdown merges and purges everything


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

    `options` are the candidate's knobs (value None: a bare option; log_bin takes ON or OFF).
    `run_dir` is made, in a folder of ours, and stays ours but for the server's own part of it;
    my.cnf and the error log stay in it for the caller to read or delete.
    With `fast_shutdown` the data directory is left as after a crash, to be thrown away; without,
    it is purged and flushed completely, and RunFailed is raised when that did not succeed.
    With `resource_limits` (benchmarks.emulation) the server is held to them from the first
    instruction until it is asked to stop, on files that are not in the page cache.
    The driver's account can work in `schema`.
    With a `reach` a load host can log in as the driver, and nobody else; else the server listens
    on loopback only.
    The block must be left by the thread that entered it: the server dies with that thread.

    Raises ValueError when `options` reach for what is ours, DeviceUnusable when the server's
    user cannot write in a directory, NoServerUser, EmulationUnavailable when it cannot be put
    under the `resource_limits`, and RunFailed: NO_START, OUT_OF_MEMORY, DISK_FULL or LOST when
    the server ends, TIMED_OUT when it lives and never answers, CANCELLED when `should_stop`.
    """
    run_dir.mkdir(parents=True, exist_ok=True)
    paths = InstancePaths(
        data_dir.absolute(), run_dir.absolute(), log_dir.absolute() if log_dir else None
    )
    start = _Start(binary, paths, options, fast_shutdown, resource_limits, reach, schema)
    with contextlib.ExitStack() as afterwards:
        # An interrupt may come between the start of a server and the note of its process.
        afterwards.callback(end_servers, paths.run_dir)
        afterwards.callback(paths.init_file.unlink, missing_ok=True)
        start.prepare()
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

    def prepare(self) -> None:
        """Give the server its data and a new folder of its own; the rest of the run's stays ours.

        Refuses options that reach for what is ours.
        """
        self._config(port=1)
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
        """Return a server that answers; raises the reason why there is none.

        NotReachable where another program has the one port that load hosts may reach.
        """
        deadline = time.monotonic() + deadline_s
        for attempt in range(1, PORT_ATTEMPTS + 1):
            reach = self.reach
            port = (reach.port or free_port(reach.address)) if reach else free_port()
            instance = self._spawn(port)
            try:
                _wait_until_ready(instance, deadline, deadline_s, should_stop)
                if self.limits is not None and not self.limits.holds(instance.pid):
                    raise EmulationUnavailable(f"the server runs outside of {self.limits.label}")
                return instance
            except BaseException as error:
                instance.stop(FAILED_STOP_S)
                taken = errorlog.matching(instance.log_lines(), errorlog.PORT_TAKEN)
                if not (isinstance(error, RunFailed) and taken):
                    raise
                if reach is not None and reach.port:  # no other one will do
                    raise NotReachable(
                        f"{reach.address}, port {port}: {errorlog.strip_prefix(taken[0])}"
                    ) from error
                if attempt == PORT_ATTEMPTS:
                    raise
                log.warning("port %d was taken before the server could have it", port)
                delete(self.paths.error_log)
            finally:
                self.paths.init_file.unlink(missing_ok=True)
        raise AssertionError("unreachable")

    def _config(self, port: int) -> str:
        return render_config(
            self.binary,
            self.paths,
            port=port,
            options=self.options,
            fast_shutdown=self.fast_shutdown,
            reach=self.reach,
        )

    def _spawn(self, port: int) -> ServerInstance:
        binary, paths, reach = self.binary, self.paths, self.reach
        admin, driver = new_account(ADMIN_USER), new_account(DRIVER_USER)
        write_private(paths.config, self._config(port))
        write_private(paths.init_file, account_sql(binary, admin, driver, reach, self.schema))
        certificate = ""
        if reach is not None and reach.encrypted:
            made = make_certificate(reach.address)
            certificate = made.certificate
            write_private(paths.certificate, made.certificate)
            write_private(paths.key, made.key)
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


def _wait_until_ready(
    instance: ServerInstance,
    deadline: float,
    deadline_s: float,
    should_stop: Callable[[], bool],
) -> None:
    refused = ""
    while True:
        if not instance.alive():
            why = explain_failed_start(instance)
            # On a full disk it cannot even write that into its log; who watches the disk knows.
            is_unexplained = isinstance(why, RunFailed) and why.outcome is Outcome.NO_START
            if is_unexplained and should_stop():
                raise RunFailed(Outcome.CANCELLED, f"the start was to end: {why}") from why
            raise why
        if should_stop():
            raise RunFailed(Outcome.CANCELLED, "cancelled while the server was starting")
        try:
            # The driver's first login is made here, over the socket: it fills the server's
            # password cache, so that every client library can log in over plain TCP. An
            # account of a load host does not exist on the socket.
            local = [] if instance.reach else [instance.driver_account]
            for account in (instance.admin, *local):
                instance.connect(account, connect_timeout=2, read_timeout=5).close()
            instance.note_ready()
            return
        except pymysql.err.OperationalError as error:
            refused = errorlog.redact(str(error), instance.admin.password)
        if time.monotonic() > deadline:
            raise RunFailed(
                Outcome.TIMED_OUT,
                f"the server runs but did not answer within {deadline_s:.0f} s ({refused})",
                log_tail="\n".join(errorlog.meaningful(instance.log_lines())),
            )
        time.sleep(_POLL_S)


def free_port(address: str = "127.0.0.1") -> int:
    """A TCP port of that address that is free at this moment."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.bind((address, 0))
        port: int = probe.getsockname()[1]
        return port

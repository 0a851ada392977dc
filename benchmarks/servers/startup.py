"""Starting a server: folders, my.cnf, the process, and the wait until it answers."""

from __future__ import annotations

import contextlib
import logging
import os
import socket as sockets
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

import pymysql

from benchmarks.errors import EmulationUnavailable, RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.ownership.deleting import delete
from benchmarks.ownership.handover import give
from benchmarks.processes.child import Child, check_reachable
from benchmarks.processes.users import ServerUser, server_user
from benchmarks.servers import errorlog
from benchmarks.servers.accounts import ADMIN_USER, DRIVER_USER, account_sql, new_account
from benchmarks.servers.binary import ServerBinary
from benchmarks.servers.failures import explain_failed_start
from benchmarks.servers.instance import ServerInstance
from benchmarks.servers.leftovers import defaults_argument
from benchmarks.servers.options import InstancePaths, render_config, write_private
from benchmarks.servers.reach import NotReachable, Reach, make_certificate
from benchmarks.servers.resource_limits import ResourceLimits

log = logging.getLogger(__name__)

PORT_ATTEMPTS = 4  # the first and three more
FAILED_STOP_S = 10.0  # after an error or Ctrl-C the data directory is not kept
OOM_SCORE_ADJ = "700"
_POLL_S = 0.05


def prepare(
    binary: ServerBinary,
    paths: InstancePaths,
    options: Mapping[str, str | None],
) -> None:
    """Give the server its data and a new folder of its own; the rest of the run's stays ours.

    Refuses options that reach for what is ours.
    """
    render_config(binary, paths, port=1, options=options, fast_shutdown=True)  # refuse early
    make_run_dir(paths, server_user())
    theirs = {paths.own_dir, paths.data_dir, paths.log_dir}
    for folder in sorted(filter(None, theirs)):
        give(folder)
        check_reachable(folder)


def make_run_dir(paths: InstancePaths, user: ServerUser | None) -> None:
    """A run's folder as it is before a server is started: nothing in it is of an earlier one."""
    paths.run_dir.chmod(0o700 if user is None else 0o711)
    delete(paths.console)
    delete(paths.own_dir)
    paths.own_dir.mkdir(mode=0o700)
    paths.tmp_dir.mkdir(mode=0o700)
    give(paths.own_dir)


def open_console(paths: InstancePaths) -> IO[bytes]:
    """The file that takes what the server prints."""
    return open(paths.console, "wb", opener=lambda name, flags: os.open(name, flags, 0o600))


def start(
    binary: ServerBinary,
    paths: InstancePaths,
    options: Mapping[str, str | None],
    fast_shutdown: bool,
    deadline_s: float,
    should_stop: Callable[[], bool],
    resource_limits: ResourceLimits | None,
    reach: Reach | None = None,
) -> ServerInstance:
    """A server that answers, or the reason why there is none; see `running_server`.

    NotReachable where another program has the one port that load hosts may reach.
    """
    deadline = time.monotonic() + deadline_s
    for attempt in range(1, PORT_ATTEMPTS + 1):
        port = (reach.port or free_port(reach.address)) if reach else free_port()
        text = render_config(
            binary, paths, port=port, options=options, fast_shutdown=fast_shutdown, reach=reach
        )
        instance = _spawn(binary, paths, port, text, resource_limits, reach)
        try:
            _wait_until_ready(instance, deadline, deadline_s, should_stop)
            if resource_limits is not None and not resource_limits.holds(instance.pid):
                raise EmulationUnavailable(f"the server runs outside of {resource_limits.label}")
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
            log.warning("port %d was taken before the server could have it; trying another", port)
            delete(paths.error_log)
        finally:
            paths.init_file.unlink(missing_ok=True)
    raise AssertionError("unreachable")


def _spawn(
    binary: ServerBinary,
    paths: InstancePaths,
    port: int,
    text: str,
    resource_limits: ResourceLimits | None,
    reach: Reach | None,
) -> ServerInstance:
    user = server_user()
    # Before root's rights are dropped.
    entry = resource_limits.entry_words if resource_limits is not None else []
    admin, driver = new_account(ADMIN_USER), new_account(DRIVER_USER)
    write_private(paths.config, text, user)
    write_private(paths.init_file, account_sql(binary, admin, driver, reach), user)
    certificate = ""
    if reach is not None and reach.encrypted:
        made = make_certificate(reach.address)
        certificate = made.certificate
        write_private(paths.certificate, made.certificate, user)
        write_private(paths.key, made.key, user)
    with open_console(paths) as console:
        process = Child(
            [str(binary.path), defaults_argument(paths.run_dir)],
            cwd=paths.run_dir,
            stdout=console,
            entry=entry,
        )
    with contextlib.suppress(OSError):  # short of memory, the kernel must not take the worker
        Path(f"/proc/{process.pid}/oom_score_adj").write_text(OOM_SCORE_ADJ)
    return ServerInstance(
        binary, paths, port, process, admin, driver, resource_limits, reach, certificate
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
    family = sockets.AF_INET6 if ":" in address else sockets.AF_INET
    with sockets.socket(family, sockets.SOCK_STREAM) as probe:
        probe.bind((address, 0))
        port: int = probe.getsockname()[1]
        return port

"""A server for the length of a block: started on loopback, always ended."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from benchmarks.ownership.deleting import delete
from benchmarks.servers.binary import ServerBinary
from benchmarks.servers.failures import explain_unclean_end
from benchmarks.servers.instance import ServerInstance
from benchmarks.servers.options import OWN, InstancePaths
from benchmarks.servers.pagecache import forget_cached
from benchmarks.servers.process import find_by_argument, kill_checked
from benchmarks.servers.reach import Reach
from benchmarks.servers.registry import MARK, defaults_argument, register
from benchmarks.servers.resource_limits import ResourceLimits
from benchmarks.servers.startup import FAILED_STOP_S, prepare, start

SOCKET_LIMIT = 107  # bytes of sockaddr_un.sun_path, less its terminating zero
STOP_S = 30.0
SLOW_STOP_S = 900.0  # a slow shutdown merges and purges everything


@contextlib.contextmanager
def running_server(
    binary: ServerBinary,
    *,
    data_dir: Path,
    run_dir: Path,
    registry: Path,
    log_dir: Path | None = None,
    options: Mapping[str, str | None],
    deadline_s: float = 120,
    should_stop: Callable[[], bool] = lambda: False,
    fast_shutdown: bool = True,
    resource_limits: ResourceLimits | None = None,
    reach: Reach | None = None,
) -> Iterator[ServerInstance]:
    """Run `binary` on `data_dir` for the length of the block.

    `options` are the candidate's knobs (value None: a bare option; log_bin takes ON or OFF).
    `run_dir` is made, in a folder of ours, and stays ours but for the server's own part of it;
    my.cnf and the error log stay in it for the caller to read or delete.
    With `fast_shutdown` the data directory is left as after a crash, to be thrown away; without,
    it is purged and flushed completely, and RunFailed is raised when that did not succeed.
    With `resource_limits` (benchmarks.emulation) the server is held to them from the first
    instruction until it is asked to stop, on files that are not in the page cache.
    With a `reach` a load host can log in as the driver, and nobody else; else the server listens
    on loopback only.
    The block must be left by the thread that entered it: the server dies with that thread.

    Raises ValueError when `options` reach for what is ours, DeviceUnusable when the server's
    user cannot write in a directory, NoServerUser, EmulationUnavailable when it cannot be put
    under the `resource_limits`, and RunFailed: NO_START, OUT_OF_MEMORY, DISK_FULL or LOST when
    the server ends, TIMED_OUT when it lives and never answers, CANCELLED when `should_stop`.
    """
    data_dir, run_dir = data_dir.absolute(), run_dir.absolute()
    log_dir = log_dir.absolute() if log_dir is not None else None
    run_dir.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as afterwards:
        socket, socket_dir = _socket_path(run_dir)
        if socket_dir is not None:
            afterwards.callback(delete, socket_dir)
        paths = InstancePaths(data_dir=data_dir, run_dir=run_dir, socket=socket, log_dir=log_dir)
        record = register(
            registry,
            data_dir=data_dir,
            run_dir=run_dir,
            socket_dir=socket_dir,
            log_dir=log_dir,
        )
        afterwards.callback(record.remove)
        afterwards.callback(_sweep, paths)
        prepare(binary, paths, options)
        if resource_limits is not None:
            for folder in (paths.data_dir, paths.log_dir):
                if folder is not None:
                    forget_cached(folder)
        instance = start(
            binary,
            paths,
            record,
            options,
            fast_shutdown,
            deadline_s,
            should_stop,
            resource_limits,
            reach,
        )
        patience_s = FAILED_STOP_S
        try:
            yield instance
            patience_s = STOP_S if fast_shutdown else SLOW_STOP_S
        finally:
            instance.stop(patience_s)
        if not fast_shutdown and instance.exit_status != 0:
            raise explain_unclean_end(instance)


def _sweep(paths: InstancePaths) -> None:
    """Leave no secret and no process, even when an interrupt came between start and note."""
    argument = defaults_argument(paths.run_dir)
    for pid in find_by_argument(argument):
        kill_checked(pid, argument)
    paths.init_file.unlink(missing_ok=True)


def _socket_path(run_dir: Path) -> tuple[Path, Path | None]:
    """The socket's path, and the directory made for it when `run_dir` is too long a name."""
    socket = run_dir / OWN / "mysqld.sock"
    if len(os.fsencode(socket)) <= SOCKET_LIMIT:
        return socket, None
    base = tempfile.gettempdir()
    if len(os.fsencode(base)) > SOCKET_LIMIT - len("/advisor-12345678/own/mysqld.sock"):
        base = "/tmp"  # noqa: S108  mkdtemp makes the name and its mode safe
    socket_dir = Path(tempfile.mkdtemp(prefix="advisor-", dir=base))
    (socket_dir / MARK).touch()
    (socket_dir / OWN).mkdir(mode=0o700)
    socket_dir.chmod(0o711)  # the server passes through; what it may change is below
    return socket_dir / OWN / "mysqld.sock", socket_dir

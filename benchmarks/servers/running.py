"""A server for the length of a block: started on loopback, always ended."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from benchmarks.servers.binary import ServerBinary
from benchmarks.servers.failures import explain_unclean_end
from benchmarks.servers.instance import ServerInstance
from benchmarks.servers.leftovers import end_servers
from benchmarks.servers.options import InstancePaths
from benchmarks.servers.pagecache import forget_cached
from benchmarks.servers.reach import Reach
from benchmarks.servers.resource_limits import ResourceLimits
from benchmarks.servers.startup import FAILED_STOP_S, prepare, start

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
        paths = InstancePaths(data_dir, run_dir, log_dir)
        # An interrupt may come between the start of a server and the note of its process.
        afterwards.callback(end_servers, run_dir)
        afterwards.callback(paths.init_file.unlink, missing_ok=True)
        prepare(binary, paths, options)
        if resource_limits is not None:
            for folder in (paths.data_dir, paths.log_dir):
                if folder is not None:
                    forget_cached(folder)
        instance = start(
            binary,
            paths,
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

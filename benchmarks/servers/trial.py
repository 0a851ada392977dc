"""A trial start: whether the server accepts these options, and with which effective values.

First the server's own check of its options, then a start on a copy of an empty data directory
(`benchmarks.datasets.golden`), from which the variables are read back. Takes a second or three;
everything of it is gone afterwards.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.emulation.device import CgroupLimits
from benchmarks.errors import NO_SPACE_ERRNOS, RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.ownership import give, held_folder, make_ours
from benchmarks.processes.child import NULL, Child, describe_exit
from benchmarks.servers import errorlog
from benchmarks.servers.binary import Flavour, ServerBinary
from benchmarks.servers.failures import variables_of
from benchmarks.servers.options import render_config
from benchmarks.servers.paths import InstancePaths, make_run_dir, open_console, write_private
from benchmarks.servers.running import defaults_argument, running_server, sweep_folders
from benchmarks.storage.copying import copy_tree, directory_bytes
from benchmarks.storage.reserve import ReserveWatch, require_room

VALIDATES_SINCE = (8, 0, 16)
LAZY_REDO_SINCE = (8, 0, 30)
REDO_FILES = 32  # the server makes one and a spare at first
_CHECK_DEADLINE_S = 30.0
_SPARE_BYTES = 64 * 1024**2
_SLOWEST_REDO = 50 * 1024**2  # bytes a second at which a redo log may be written out
_WARNING = re.compile(r"\[Warning\]|\bWARNING:")
_MAX_WARNINGS = 30
# Messages about our own options, which come with every config.
_OURS = re.compile(
    r"Failed to initialize TLS|Failed to set up SSL|Insecure configuration for --pid-file"
    r"|TIMESTAMP with implicit DEFAULT|CA certificate .* is self signed"
)


@dataclass(frozen=True)
class Trial:
    """A server that started: SHOW GLOBAL VARIABLES, and what it warned of in `log_tail`."""

    variables: dict[str, str] = field(repr=False)
    log_tail: str
    seconds: float


def try_config(
    binary: ServerBinary,
    options: Mapping[str, str | None],
    *,
    pristine: Path,
    work_dir: Path,
    redo_bytes: int = 0,
    deadline_s: float = 60,
    should_stop: Callable[[], bool] = lambda: False,
    resource_limits: CgroupLimits | None = None,
) -> Trial:
    """Start `binary` with `options` on a copy of `pristine`, read its variables and stop it.

    work_dir: made; it should be on the device that runs use, for their file system decides what
    works. redo_bytes: the size of the redo log asked for; older servers write all of it, and the
    deadline grows with it. Raises RunFailed: INVALID_CONFIG when the server's own check refuses
    the options, NO_START, OUT_OF_MEMORY, TIMED_OUT, DISK_FULL, CRASHED, CANCELLED, LOST if the
    server was killed from outside; DeviceUnusable, NoServerUser; ValueError when `options` reach
    for what is ours.
    """
    start = time.monotonic()
    if binary.flavour is not Flavour.MARIADB and binary.version >= LAZY_REDO_SINCE:
        redo_bytes = 2 * redo_bytes // REDO_FILES  # the part made before the server answers

    with _trial_dir(work_dir) as run_dir, ReserveWatch([run_dir], should_stop) as watch:
        needed = directory_bytes(pristine) + redo_bytes + _SPARE_BYTES
        require_room(work_dir, needed, "a trial start with its redo log")
        _check_options(binary, options, run_dir, watch.should_stop)
        data_dir = run_dir / "data"
        copy_tree(pristine, lambda name: data_dir / name, watch.should_stop, through_cache=True)
        with running_server(
            binary,
            data_dir=data_dir,
            run_dir=run_dir,
            options=options,
            deadline_s=deadline_s + redo_bytes / _SLOWEST_REDO,
            should_stop=watch.should_stop,
            resource_limits=resource_limits,
        ) as server:
            warnings = errorlog.matching(server.log_lines(), _WARNING)
            warnings = [line for line in warnings if not _OURS.search(line)]
            tail = "\n".join(warnings[-_MAX_WARNINGS:])
            return Trial(variables_of(server), tail, time.monotonic() - start)


@contextlib.contextmanager
def _trial_dir(work_dir: Path) -> Iterator[Path]:
    """Make a folder for this trial, gone afterwards."""
    work_dir.parent.mkdir(parents=True, exist_ok=True)
    make_ours(work_dir)
    sweep_folders(work_dir)
    folder = work_dir.absolute() / f"trial-{secrets.token_hex(4)}"
    try:
        with held_folder(folder):
            yield folder
    except OSError as error:
        if error.errno not in NO_SPACE_ERRNOS:
            raise
        raise RunFailed(Outcome.DISK_FULL, f"{work_dir}: no room for a trial start") from error


def _check_options(
    binary: ServerBinary,
    options: Mapping[str, str | None],
    run_dir: Path,
    should_stop: Callable[[], bool],
) -> None:
    """Let the server read its options without starting, on an empty data directory."""
    validates = binary.flavour is not Flavour.MARIADB and binary.version >= VALIDATES_SINCE
    data_dir = run_dir / "empty"
    data_dir.mkdir(mode=0o700)
    paths = InstancePaths(data_dir, run_dir)
    text = render_config(binary, paths, port=1, options=options, fast_shutdown=True)
    make_run_dir(paths)
    write_private(paths.config, text)
    write_private(paths.init_file, "")
    give(data_dir)
    command = [str(binary.path), defaults_argument(run_dir)]
    command += ["--validate-config"] if validates else ["--verbose", "--help"]
    with (
        open_console(paths) as console,
        # Without a check of its own the server prints its help.
        Child(
            command, cwd=run_dir, stdout=console if validates else NULL, stderr=console
        ) as server,
    ):
        status = server.finish(
            "the server that checks its config", _CHECK_DEADLINE_S, should_stop=should_stop
        )
    lines = errorlog.said(paths, 200)
    if status != 0:
        what = f"the server refuses the config when asked to check it ({describe_exit(status)})"
        raise RunFailed(
            Outcome.INVALID_CONFIG,
            errorlog.with_first_error(what, lines),
            log_tail=errorlog.meaningful(lines),
        )

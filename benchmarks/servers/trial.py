"""A trial start: whether the server accepts these options, and with which effective values.

First the server's own check of its options, then a start on a copy of an empty data directory
(`benchmarks.datasets.pristine`), from which the variables are read back. Takes a second or three;
everything of it is gone afterwards.
"""

from __future__ import annotations

import contextlib
import logging
import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.emulation.device import CgroupLimits
from benchmarks.errors import NO_SPACE_ERRNOS, RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.ownership.deleting import delete
from benchmarks.ownership.handover import give
from benchmarks.ownership.held import held_folder
from benchmarks.ownership.ours import make_ours
from benchmarks.processes.child import NULL, Child
from benchmarks.processes.kills import describe_exit
from benchmarks.servers import errorlog
from benchmarks.servers.binary import Flavour, ServerBinary
from benchmarks.servers.failures import variables_of
from benchmarks.servers.leftovers import sweep_folders
from benchmarks.servers.options import render_config
from benchmarks.servers.paths import InstancePaths, make_run_dir, open_console, write_private
from benchmarks.servers.running import running_server
from benchmarks.storage.copying import copy_tree
from benchmarks.storage.human import human_bytes
from benchmarks.storage.reserve import ReserveWatch, room_of

log = logging.getLogger(__name__)

VALIDATES_SINCE = (8, 0, 16)
LAZY_REDO_SINCE = (8, 0, 30)
REDO_FILES = 32  # of which the server makes one and a spare at first
_CHECK_DEADLINE_S = 30.0
_STARTS = 3  # of a server that was killed from outside
_SPARE_BYTES = 64 * 1024**2
_SLOWEST_REDO = 50 * 1024**2  # bytes a second at which a redo log may be written out
_FULL_DISK = "no room for a trial start"
_WARNING = re.compile(r"\[Warning\]|\bWARNING:")
_MAX_WARNINGS = 30
# Messages about our own options, which come with every config.
_OURS = re.compile(
    r"Failed to initialize TLS|Failed to set up SSL|Insecure configuration for --pid-file"
    r"|TIMESTAMP with implicit DEFAULT|CA certificate .* is self signed"
)


@dataclass(frozen=True)
class Trial:
    """A server that started: SHOW GLOBAL VARIABLES, and what it warned of in `log_tail`.

    `validated` is True when the server has a check of its own and passed it, None where it has
    none and only read its options (MySQL before 8.0.16, MariaDB).
    """

    variables: dict[str, str] = field(repr=False)
    validated: bool | None
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

    `work_dir` is made; it should be on the device that runs use, for their file system decides
    what works. `redo_bytes` is the size of the redo log asked for, which older servers write out
    in full; the deadline grows with it. Raises RunFailed: INVALID_CONFIG when the server's own
    check refuses the options, NO_START, OUT_OF_MEMORY, TIMED_OUT, DISK_FULL, CRASHED, CANCELLED,
    LOST if the server was killed from outside three times;
    DeviceUnusable, NoServerUser; ValueError when `options` reach for what is ours.
    """
    start = time.monotonic()
    redo = _redo_at_start(binary, redo_bytes)

    def start_once() -> Trial:
        with _trial_dir(work_dir) as run_dir, ReserveWatch([run_dir], should_stop) as watch:
            _check_room(work_dir, pristine, redo)
            validated = _own_check(binary, options, run_dir, watch.should_stop)
            data_dir = run_dir / "data"
            copy_tree(
                pristine, lambda name: data_dir / name, watch.should_stop, through_cache=True
            )
            with running_server(
                binary,
                data_dir=data_dir,
                run_dir=run_dir,
                options=options,
                deadline_s=deadline_s + redo / _SLOWEST_REDO,
                should_stop=watch.should_stop,
                resource_limits=resource_limits,
            ) as server:
                warnings = [
                    line
                    for line in server.log_lines()
                    if _WARNING.search(line) and not _OURS.search(line)
                ]
                return Trial(
                    variables=variables_of(server),
                    validated=validated,
                    log_tail="\n".join(warnings[-_MAX_WARNINGS:]),
                    seconds=time.monotonic() - start,
                )

    for left in reversed(range(_STARTS)):
        try:
            return start_once()
        except RunFailed as failure:
            if failure.outcome is not Outcome.LOST or not left:
                raise
            log.warning("a trial start is made again: %s", failure)
    raise AssertionError("unreachable")


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
        raise RunFailed(Outcome.DISK_FULL, f"{work_dir}: {_FULL_DISK}") from error


def _redo_at_start(binary: ServerBinary, redo_bytes: int) -> int:
    """How much of the redo log the server makes before it answers."""
    if binary.flavour is not Flavour.MARIADB and binary.version >= LAZY_REDO_SINCE:
        return 2 * redo_bytes // REDO_FILES
    return redo_bytes


def _check_room(work_dir: Path, pristine: Path, redo: int) -> None:
    empty = sum(path.lstat().st_size for path in pristine.rglob("*") if path.is_file())
    needed = empty + redo + _SPARE_BYTES
    room = room_of(work_dir)
    if room.usable < needed:
        raise RunFailed(
            Outcome.DISK_FULL,
            f"{work_dir}: {_FULL_DISK}, which takes {human_bytes(needed)} with its redo "
            f"log: {human_bytes(room.free)} free, {human_bytes(room.reserve)} stay free",
        )


def _own_check(
    binary: ServerBinary,
    options: Mapping[str, str | None],
    run_dir: Path,
    should_stop: Callable[[], bool],
) -> bool | None:
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
    command = [str(binary.path), f"--defaults-file={paths.config}"]
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
    for path in (data_dir, paths.own_dir, paths.console, paths.init_file):
        delete(path)
    if status != 0:
        what = f"the server refuses the config when asked to check it ({describe_exit(status)})"
        reason = errorlog.first_error(lines)
        raise RunFailed(
            Outcome.INVALID_CONFIG,
            f"{what}: {reason}" if reason else what,
            log_tail="\n".join(errorlog.meaningful(lines)),
        )
    return True if validates else None

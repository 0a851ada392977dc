"""The written record of running servers, and the reaper of those whose owner died.

A worker killed with SIGKILL runs no clean-up. PR_SET_PDEATHSIG ends its mysqld in most cases; for
the others, and for the directories left behind, the next worker reads this record.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import secrets
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from benchmarks.ownership.deleting import delete
from benchmarks.servers.process import (
    ProcessId,
    find_by_argument,
    kill_checked,
    process_id,
    this_process,
)
from benchmarks.storage.held import hold, is_free, release

_DRAFT_S = 60.0  # a record is written in less than a millisecond

log = logging.getLogger(__name__)

MARK = ".advisor-run"  # present in every run directory that we made; nothing else is deleted


@dataclass(frozen=True)
class Entry:
    """One server: its process (None until started), its directories and who started it."""

    owner: ProcessId
    server: ProcessId | None
    data_dir: Path
    run_dir: Path
    socket_dir: Path | None
    log_dir: Path | None

    @property
    def argument(self) -> str:
        """The command-line argument that only this server has."""
        return defaults_argument(self.run_dir)

    def is_over(self) -> bool:
        """Whether its owner is dead for certain.

        Of one in another container that is known only by the lock on the folder; one whose folder
        is gone has nothing left.
        """
        if self.owner.is_seen_from_here():
            return self.owner.is_dead()
        if self.run_dir.exists():
            return is_free(self.run_dir)
        return self.run_dir.parent.exists()


def defaults_argument(run_dir: Path) -> str:
    """The first argument of a server that keeps its my.cnf in `run_dir`."""
    return f"--defaults-file={run_dir / 'my.cnf'}"


class Record:
    """The file of one entry; `started()` adds the process once it is known.

    The server's folder is held as long as its owner lives.
    """

    def __init__(self, path: Path, entry: Entry) -> None:
        self._path = path
        self._entry = entry
        self._held = hold(entry.run_dir)
        self._write()

    def started(self, pid: int) -> None:
        """Note the server's pid."""
        self._entry = replace(self._entry, server=process_id(pid))
        self._write()

    def remove(self) -> None:
        """The server has ended and nothing is left behind."""
        self._path.unlink(missing_ok=True)
        release(self._held)
        self._held = None

    def _write(self) -> None:
        temporary = self._path.with_suffix(".tmp")
        temporary.write_text(json.dumps(asdict(self._entry), default=str))
        temporary.rename(self._path)


def register(
    registry: Path,
    *,
    data_dir: Path,
    run_dir: Path,
    socket_dir: Path | None,
    log_dir: Path | None = None,
) -> Record:
    """Write down a server that is about to be started by this process."""
    registry.mkdir(parents=True, exist_ok=True)
    owner = this_process()
    (run_dir / MARK).touch()
    entry = Entry(owner, None, data_dir, run_dir, socket_dir, log_dir)
    return Record(registry / f"{run_dir.name}-{secrets.token_hex(4)}.json", entry)


def reap(registry: Path) -> list[str]:
    """End the servers of dead owners and delete their run and socket directories.

    Returns one line per action. Servers whose owner is alive are left alone; safe to call from
    several processes at once.
    """
    if not registry.is_dir():
        return []
    done: list[str] = []
    with _locked(registry):
        entries = _entries(registry)
        over = {path: entry.is_over() for path, entry in entries.items()}
        in_use = {entry.run_dir for path, entry in entries.items() if not over[path]}
        for path, entry in entries.items():
            if not over[path]:
                continue
            if entry.run_dir not in in_use and not _reap_one(entry, done):
                continue  # kept for the next reaper
            path.unlink(missing_ok=True)
    return done


def _reap_one(entry: Entry, done: list[str]) -> bool:
    """End the server and delete its directories; False when it would not end."""
    # Sought by its argument, not by the pid in the entry: the owner may have died before it
    # could write the pid, and the pid may be another process's by now.
    for pid in find_by_argument(entry.argument):
        try:
            if kill_checked(pid, entry.argument):
                done.append(f"killed orphaned server {pid} of {entry.run_dir}")
        except PermissionError:
            log.error("orphaned server %d of %s is another user's", pid, entry.run_dir)
    if find_by_argument(entry.argument):
        log.error("an orphaned server of %s is still there", entry.run_dir)
        return False
    for folder in (entry.run_dir, entry.socket_dir):
        if folder is not None and (folder / MARK).is_file() and not folder.is_symlink():
            delete(folder)
            if not folder.exists():
                done.append(f"deleted {folder}")
    if entry.log_dir is not None and _delete_redo_log(entry.log_dir):
        done.append(f"deleted the redo log in {entry.log_dir}")
    return True


def _entries(registry: Path) -> dict[Path, Entry]:
    """All entries by their file; those that cannot be read are set aside."""
    found: dict[Path, Entry] = {}
    for draft in registry.glob("*.tmp"):
        # Its writer was killed at that moment, before it started anything.
        with contextlib.suppress(FileNotFoundError):
            if time.time() - draft.stat().st_mtime > _DRAFT_S:
                draft.unlink()
    for path in sorted(registry.glob("*.json")):
        try:
            found[path] = _read(path)
        except FileNotFoundError:
            continue  # its server has just ended
        except (ValueError, KeyError, TypeError) as error:
            log.warning("unreadable entry %s in the server registry: %s", path.name, error)
            path.rename(path.with_suffix(".unreadable"))
    return found


def _delete_redo_log(log_dir: Path) -> bool:
    """Delete InnoDB's redo files and the directory if nothing else is in it.

    Nothing else, because `log_dir` may be a place that is not ours alone.
    """
    found = [*log_dir.glob("#innodb_redo"), *log_dir.glob("ib_logfile*")]
    for path in found:
        delete(path)
    with contextlib.suppress(OSError):
        log_dir.rmdir()
    return bool(found)


def _read(path: Path) -> Entry:
    raw = json.loads(path.read_text())
    return Entry(
        owner=ProcessId(**raw["owner"]),
        server=ProcessId(**raw["server"]) if raw["server"] else None,
        data_dir=Path(raw["data_dir"]),
        run_dir=Path(raw["run_dir"]),
        socket_dir=Path(raw["socket_dir"]) if raw["socket_dir"] else None,
        log_dir=Path(raw["log_dir"]) if raw["log_dir"] else None,
    )


@contextlib.contextmanager
def _locked(registry: Path) -> Iterator[None]:
    with (registry / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield

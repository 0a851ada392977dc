"""Processes identified through /proc, so that no signal ever reaches another program."""

from __future__ import annotations

import os
import re
import select
import signal
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_PF_KTHREAD = 0x00200000
_TEXT = re.compile(r"([0-9a-f-]+)\.(\d+)\.(\d+)\.(\d+)")
_EXEC_POLLS = 100  # of a millisecond: a wrapper, setpriv and the server follow each other


@dataclass(frozen=True)
class ProcessId:
    """A pid that cannot be mistaken for another process's, on any machine, in any container.

    `started` is in clock ticks since the boot `boot`; `namespace` is the PID namespace's inode.
    """

    pid: int
    started: int
    boot: str
    namespace: int

    def is_seen_from_here(self) -> bool:
        """Whether /proc can tell if it lives: not for another PID namespace, machine or boot."""
        return self.boot == boot_id() and self.namespace == pid_namespace()

    def is_dead(self) -> bool:
        """Whether it is certain that this very process is gone or a zombie, with all its threads.

        Then it has no lock any more.
        """
        return self.is_seen_from_here() and _started(self.pid) != self.started

    def as_text(self) -> str:
        """Four words without a blank, for rows and for the names of folders."""
        return f"{self.boot}.{self.namespace}.{self.pid}.{self.started}"

    @classmethod
    def from_text(cls, text: str) -> ProcessId | None:
        """Read the text that `as_text` wrote; None for any other text."""
        match = _TEXT.fullmatch(text)
        if match is None:
            return None
        return cls(int(match[3]), int(match[4]), boot=match[1], namespace=int(match[2]))


def this_process() -> ProcessId:
    """Raises RuntimeError where /proc is missing or that of another PID namespace."""
    found = process_id(os.getpid())
    if found is None or os.readlink(_PROC / "self") != str(os.getpid()):
        raise RuntimeError("/proc does not show this process; is it mounted in this namespace?")
    return found


def pid_namespace() -> int:
    """The inode of our PID namespace; a container has one of its own."""
    return (_PROC / "self/ns/pid").stat().st_ino


def boot_id() -> str:
    """Changes with every boot, when pids and start times begin anew."""
    return (_PROC / "sys/kernel/random/boot_id").read_text().strip()


def process_id(pid: int) -> ProcessId | None:
    """The identity of a living process, None when there is none with that pid."""
    started = _started(pid)
    return None if started is None else ProcessId(pid, started, boot_id(), pid_namespace())


def command_line(pid: int) -> list[str]:
    """The arguments of a process; empty for one that is gone, a zombie or a kernel thread."""
    for _ in range(_EXEC_POLLS):
        try:
            raw = (_PROC / str(pid) / "cmdline").read_bytes()
        except OSError:
            return []
        if raw or not _is_between_programs(pid):
            break
        time.sleep(0.001)
    return [part.decode(errors="replace") for part in raw.split(b"\0") if part]


def find_by_argument(arguments: Collection[str]) -> list[tuple[int, str]]:
    """Return the processes that have exactly one of these arguments: pid and argument.

    Processes of containers are left out: the paths in their arguments are not ours.
    """
    pids = (int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit())
    return [
        (pid, word)
        for pid in pids
        for word in command_line(pid)
        if word in arguments and not _is_in_container(pid)
    ]


def kill_checked(pid: int, argument: str, *, deadline_s: float = 10.0) -> bool:
    """SIGKILL the process if it has that exact argument, and wait until it is gone.

    Returns whether a signal was sent. The pid is pinned by a pidfd before it is looked at, so it
    cannot be given to another process between the check and the signal. Raises PermissionError.
    """
    try:
        pinned = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if argument not in command_line(pid):
            return False
        signal.pidfd_send_signal(pinned, signal.SIGKILL)
        select.select([pinned], [], [], deadline_s)  # readable once it has ended
        return True
    except ProcessLookupError:  # reaped since its arguments were read
        return False
    finally:
        os.close(pinned)


def _is_in_container(pid: int) -> bool:
    """Whether it has another pid in a namespace below ours."""
    try:
        status = (_PROC / str(pid) / "status").read_text()
    except OSError:
        return False
    words = next((line for line in status.splitlines() if line.startswith("NSpid:")), "").split()
    return len(words) > 2


def _is_between_programs(pid: int) -> bool:
    """Whether an empty command line only means that the process is inside execve()."""
    fields = _stat(pid)
    return fields is not None and fields[0] != "Z" and not int(fields[6]) & _PF_KTHREAD


def _started(pid: int) -> int | None:
    """Start time in clock ticks since boot; None for no process or a zombie."""
    fields = _stat(pid)
    return None if fields is None else int(fields[19])


def _stat(pid: int) -> list[str] | None:
    """/proc/<pid>/stat from the state on; None for no process or a zombie.

    The main thread of a process that is killed may be a zombie while another still writes: it has
    the process's files and locks until it ends as well.
    """
    try:
        stat = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()  # the name before it may hold blanks and brackets
    is_over = fields[0] == "X" or (fields[0] == "Z" and int(fields[17]) <= 1)
    return None if is_over else fields

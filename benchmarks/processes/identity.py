"""Processes found by their arguments, so that no signal ever reaches another program."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Collection
from pathlib import Path

_PROC = Path("/proc")
_PF_KTHREAD = 0x00200000
_EXEC_POLLS = 100  # of a millisecond: a wrapper, setpriv and the server follow each other


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
    try:
        stat = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return False
    fields = stat.rpartition(")")[2].split()  # the name before it may hold blanks and brackets
    return fields[0] not in "ZX" and not int(fields[6]) & _PF_KTHREAD

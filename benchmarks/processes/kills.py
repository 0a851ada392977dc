"""The killer of a process: the kernel for lack of memory, or another program."""

from __future__ import annotations

import re
import signal
from pathlib import Path

from benchmarks.outcomes import Outcome

VMSTAT = Path("/proc/vmstat")
#: Signals that are not caused by a fault of the program itself.
_SENT_BY_SOMEBODY = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def oom_kills() -> int | None:
    """How many processes the kernel has killed for lack of memory since boot (all cgroups)."""
    try:
        match = re.search(r"^oom_kill (\d+)$", VMSTAT.read_text(), re.MULTILINE)
    except OSError:
        return None
    return int(match[1]) if match else None


def describe_exit(status: int | None) -> str:
    """An exit status, as subprocess has it, in words."""
    if status is None:
        return "still running"
    if status < 0:
        return f"ended by {signal.Signals(-status).name}"
    return f"exit status {status}"


def blame_for_kill(
    what: str, status: int | None, oom_kills_before: int | None
) -> tuple[Outcome, str] | None:
    """Whose doing the end of `what` was, as outcome and reason; None where it was its own.

    To be asked only of a process to which none of us has sent a signal. OUT_OF_MEMORY where the
    kernel's count has risen since `oom_kills_before`, else LOST, which says nothing of the config.
    """
    if status is None or -status not in _SENT_BY_SOMEBODY:
        return None
    sent = f"{what} was {describe_exit(status)}, which we did not send"
    if status != -signal.SIGKILL:  # the only signal that the kernel sends for lack of memory
        return Outcome.LOST, sent
    now = oom_kills()
    if now is None or oom_kills_before is None:
        return Outcome.LOST, f"{sent}; the kernel's count of out-of-memory kills cannot be read"
    if now > oom_kills_before:
        rose = f"the kernel's count of out-of-memory kills rose by {now - oom_kills_before}"
        return Outcome.OUT_OF_MEMORY, f"{sent}, and {rose} meanwhile"
    return Outcome.LOST, f"{sent}; the kernel's count of out-of-memory kills did not rise"

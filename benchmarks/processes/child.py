"""Starts programs and ends them: every server, driver, fio and tool of a measurement."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple, Self

from benchmarks.errors import DeviceUnusable, RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.processes.users import clean_environment, launcher, server_user, tool

VMSTAT = Path("/proc/vmstat")
NULL, PIPE, STDOUT = subprocess.DEVNULL, subprocess.PIPE, subprocess.STDOUT
MAX_OUTPUT_BYTES = 64 * 1024
_POLL_S = 0.05
#: Starts of a program that is killed from outside each time, before it has printed anything.
_ATTEMPTS = 3
#: Exit statuses of a killed program; the second is that of its shell.
_KILLED = (-signal.SIGKILL, 128 + signal.SIGKILL)
#: Signals that are not caused by a fault of the program itself.
_SENT_BY_SOMEBODY = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Child:
    """A started program. Leaving the `with` block kills it, if it still runs, and what it started.

    The program runs as the user that servers run as, in a clean environment and a session of its
    own, which no Ctrl-C of our terminal reaches. The kernel kills it when the thread that started
    it ends. Raises OSError and NoServerUser.

    stderr: None for where ours goes. entry: words before the command that still run as we do
    (CgroupLimits.entry_words). file_bytes: the most it can write into any one file.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        stdin: int | IO[bytes] = NULL,
        stdout: int | IO[bytes] = NULL,
        stderr: int | IO[bytes] | None = STDOUT,
        env: Mapping[str, str] | None = None,
        pass_fds: Sequence[int] = (),
        entry: Sequence[str] = (),
        file_bytes: int | None = None,
    ) -> None:
        self._oom_kills_before = _oom_kills()
        self.process = subprocess.Popen(
            [*entry, *launcher(server_user(), file_bytes), *argv],
            cwd=cwd,
            env={**clean_environment(), **(env or {})},
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
            pass_fds=pass_fds,
            umask=0o027,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.kill()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):  # it ended before it read everything
                    pipe.close()

    @property
    def pid(self) -> int:
        """The program's own pid: every word before its command has exec'ed."""
        return self.process.pid

    @property
    def status(self) -> int | None:
        """The exit status: negative for the signal that ended the program, None while it runs."""
        return self.process.poll()

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the program; nothing happens when it has ended."""
        self.process.send_signal(number)

    def wait(self, timeout_s: float) -> int | None:
        """Wait for the exit status; None if the program still runs after `timeout_s`."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.process.wait(timeout_s)
        return None

    def kill(self) -> None:
        """End the program and everything in its session; harmless when it has ended."""
        if self.process.poll() is None:
            # Not reaped yet, so the process group cannot be anybody else's.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def blame(self, what: str) -> tuple[Outcome, str] | None:
        """Return outcome and reason for a program that was ended from outside; None for others.

        OUT_OF_MEMORY where the kernel's count of such kills has risen since the start, else LOST,
        which says nothing of the config. Ask before a signal of ours. `what` names the program.
        """
        status, before = self.status, self._oom_kills_before
        if status is None or -status not in _SENT_BY_SOMEBODY:
            return None
        sent = f"{what} was {describe_exit(status)}, which we did not send"
        if status != -signal.SIGKILL:  # the only signal that the kernel sends for lack of memory
            return Outcome.LOST, sent
        now, count = _oom_kills(), "the kernel's count of out-of-memory kills"
        if now is None or before is None:
            return Outcome.LOST, f"{sent}; {count} cannot be read"
        if now > before:
            return Outcome.OUT_OF_MEMORY, f"{sent}, and {count} rose by {now - before} meanwhile"
        return Outcome.LOST, f"{sent}; {count} did not rise"

    def finish(
        self,
        what: str,
        timeout_s: float,
        *,
        should_stop: Callable[[], bool] = lambda: False,
        log_tail: Callable[[], str] = lambda: "",
    ) -> int:
        """Wait for the end and return the exit status. `what` names the program in messages.

        Raises RunFailed with the `log_tail`: CANCELLED, TIMED_OUT, and LOST or OUT_OF_MEMORY where
        the program was killed from outside.
        """
        deadline = time.monotonic() + timeout_s
        while (status := self.wait(_POLL_S)) is None:
            if should_stop():
                raise RunFailed(Outcome.CANCELLED, f"cancelled while {what} ran")
            if time.monotonic() > deadline:
                late = f"{what} did not end within {timeout_s:.0f} s"
                raise RunFailed(Outcome.TIMED_OUT, late, log_tail=log_tail())
        if blame := self.blame(what):
            raise RunFailed(*blame, log_tail=log_tail())
        return status


class Finished(NamedTuple):
    """A program's exit status and what it printed; `is_cut` if that was more than allowed."""

    status: int
    output: str
    is_cut: bool


def run(
    *argv: str | Path,
    timeout_s: float = 10,
    most_bytes: int = MAX_OUTPUT_BYTES,
    entry: Sequence[str] = (),
) -> Finished:
    """Run a program to its end and return its output, standard error included.

    A program that is killed from outside before it has printed anything is run again. Raises
    OSError (TimeoutError), NoServerUser.
    """
    for left in reversed(range(_ATTEMPTS)):
        with os.fdopen(os.memfd_create("output"), "r+b") as output:
            with Child(
                [str(word) for word in argv],
                cwd=Path("/"),
                stdout=output,
                entry=entry,
                file_bytes=most_bytes + 1,  # the kernel stops whatever prints more
            ) as child:
                if (status := child.wait(timeout_s)) is None:
                    raise TimeoutError(f"{argv[0]} did not end in {timeout_s:.0f} s")
            output.seek(0)
            text = output.read()
        if text or status not in _KILLED or not left:
            return Finished(status, text.decode(errors="replace"), len(text) > most_bytes)
    raise AssertionError("unreachable")


def check_reachable(path: Path) -> None:
    """Raise DeviceUnusable when the servers' user cannot write in the directory `path`."""
    check_enterable(path)
    if not may("-w", path):
        raise DeviceUnusable(f"{_servers_user()} cannot write in {path}")


def check_enterable(path: Path) -> None:
    """Raise DeviceUnusable, with the folder's name, when the servers' user cannot enter `path`."""
    if may("-x", path):
        return
    closed = next((folder for folder in reversed(path.parents) if not may("-x", folder)), path)
    raise DeviceUnusable(f"{_servers_user()} cannot enter {closed}")


def may(right: str, path: Path) -> bool:
    """Whether the servers' user has a right ("-x" as for test(1)) to a path.

    The kernel is asked, so ACLs and read-only mounts count.
    """
    return run(tool("test"), right, path).status == 0


def _servers_user() -> str:
    user = server_user()
    return f"the user {user.name}, which mysqld runs as," if user else "this user"


def describe_exit(status: int | None) -> str:
    """Return an exit status, as subprocess has it, in words."""
    if status is None:
        return "still running"
    return f"ended by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"


def _oom_kills() -> int | None:
    """Return how many processes the kernel has killed for lack of memory since boot."""
    with contextlib.suppress(OSError):
        if match := re.search(r"^oom_kill (\d+)$", VMSTAT.read_text(), re.MULTILINE):
            return int(match[1])
    return None

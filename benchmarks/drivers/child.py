"""Runs a driver's program: in a session of its own, its output bounded, never left behind."""

from __future__ import annotations

import contextlib
import os
import selectors
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import psutil

from benchmarks.drivers.redact import BoundedText, redact
from benchmarks.errors import RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.processes import child as processes

_CHUNK = 65_536
#: A line longer than this is not one of a driver's own.
_MAX_LINE = 4_096
#: How much of the output goes along with an error.
_LOG_TAIL = 4_000
#: How long to wait for output, and how often at most to ask whether the run was cancelled: the
#: answer may come from a database.
_WAIT_S = 0.1
_ASK_EVERY_S = 0.25


class Lines(NamedTuple):
    """Whole lines that a program wrote to its two streams since the last look."""

    output: list[str]
    errors: list[str]


class Child(processes.Child):
    """A driver's program, whose output is read in bounds and without its secrets."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        secrets: Sequence[str] = (),
        pass_fds: Sequence[int] = (),
        entry: Sequence[str] = (),
    ) -> None:
        super().__init__(
            argv,
            cwd=cwd,
            env=env,
            stdout=processes.PIPE,
            stderr=processes.PIPE,
            pass_fds=pass_fds,
            entry=entry,
        )
        self._secrets = tuple(secrets)
        self._stdout = _Stream()
        self._stderr = _Stream()
        self._cpu_seconds = 0.0
        self._psutil = psutil.Process(self.pid)
        self._selector = selectors.DefaultSelector()
        for pipe, stream in (
            (self.process.stdout, self._stdout),
            (self.process.stderr, self._stderr),
        ):
            if pipe is not None:
                self._selector.register(pipe.fileno(), selectors.EVENT_READ, stream)

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        self._selector.close()

    def read(self, timeout: float) -> Lines:
        """The lines that became complete within `timeout` seconds.

        Returns as soon as there is something to read, on either stream.
        """
        lines: dict[_Stream, list[str]] = {}
        for key, _ in self._selector.select(max(0.0, timeout)):
            data = os.read(key.fd, _CHUNK)
            lines[key.data] = key.data.add(data)
            if not data:
                self._selector.unregister(key.fd)
        return Lines(lines.get(self._stdout, []), lines.get(self._stderr, []))

    def silent(self) -> bool:
        """Whether the program has closed its output, and so will not say anything any more."""
        return not self._selector.get_map()

    def cpu_seconds(self) -> float:
        """User and system time so far; once it has ended, what was last seen."""
        with contextlib.suppress(psutil.Error):
            times = self._psutil.cpu_times()
            self._cpu_seconds = times.user + times.system
        return self._cpu_seconds

    def output(self) -> str:
        """Standard output and, if there was any, standard error: bounded and redacted."""
        parts = (self._stdout.kept.text(), self._stderr.kept.text())
        return redact("\n".join(part for part in parts if part.strip()), self._secrets)

    def last_line(self) -> str:
        """The last of `output` that is not blank."""
        lines = [line for line in self.output().splitlines() if line.strip()]
        return lines[-1] if lines else "no reason given"

    def ended_by_another(self) -> RunFailed | None:
        """Return LOST or OUT_OF_MEMORY for a program that was ended by a signal of another.

        Ask before `kill`. Returns None for a program that ended by itself or still runs.
        """
        blame = self.blame("the driver")
        return self.failure(*blame) if blame else None

    def failure(self, outcome: Outcome, message: str) -> RunFailed:
        """An error that carries the end of what the program said, standard error last."""
        message = redact(message, self._secrets)
        return RunFailed(outcome, message, log_tail=self.output()[-_LOG_TAIL:].strip())


class _Stream:
    """One of a program's two streams: what is kept of it, and the beginning of its next line."""

    def __init__(self) -> None:
        self.kept = BoundedText()
        self._partial = b""

    def add(self, data: bytes) -> list[str]:
        """Take what was read, nothing at the end; give the lines that it completes."""
        self.kept.add(data)
        *whole, rest = (self._partial + data).split(b"\n")
        if not data and rest:  # the end of the stream also ends its last line
            whole, rest = [*whole, rest], b""
        self._partial = rest[-_MAX_LINE:]
        return [line.decode(errors="replace") for line in whole]


def watch(
    child: Child,
    *,
    deadline: float,
    should_stop: Callable[[], bool],
    until: Callable[[], float] = lambda: float("inf"),
) -> Iterator[Lines]:
    """The program's lines as they come, until it closes its output.

    Something comes at least every tenth of a second, lines or not, and as exactly as possible at
    the instant that `until` names. Raises `RunFailed`: CANCELLED, or TIMED_OUT after `deadline`;
    all instants are the monotonic clock's.
    """
    asked = float("-inf")
    while not child.silent():
        now = time.monotonic()
        if now - asked >= _ASK_EVERY_S:
            asked = now
            if should_stop():
                raise child.failure(Outcome.CANCELLED, "The run was cancelled.")
        if now > deadline:
            raise child.failure(
                Outcome.TIMED_OUT, "The driver did not end; it was stopped at its deadline."
            )
        yield child.read(min(_WAIT_S, until() - now))

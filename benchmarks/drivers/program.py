"""A driver's program: its folder, its bounded output without secrets, and its end."""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple

import psutil

from benchmarks.errors import RunFailed
from benchmarks.outcomes import Outcome
from benchmarks.ownership import delete, open_plain
from benchmarks.processes.child import PIPE, Child
from benchmarks.processes.users import server_user, uid_of

_CHUNK = 65_536
#: A longer line is not one of a driver's own.
_MAX_LINE = 4_096
_MAX_KEPT_LINE = 300
#: So many lines are kept of the beginning and of the end of each stream: tpcc_start writes two for
#: each failed attempt, which came to 45 MB in six seconds against a server that was killed.
_KEPT_LINES = 200
#: How much of the output goes along with an error.
_LOG_TAIL = 4_000
#: How long to wait for output, and how often at most to ask whether the run was cancelled: the
#: answer may come from a database.
_WAIT_S = 0.1
_ASK_EVERY_S = 0.25
_HIDDEN = "[hidden]"
#: tpcc_start repeats its options and its parameters, the password among both.
_PASSWORD_LINES = re.compile(r"^(option p with value |\s*\[pass\]:).*$", re.MULTILINE)


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """Hide `secrets` in a text, and the lines that are known to show a password."""
    text = _PASSWORD_LINES.sub(rf"\1 {_HIDDEN}", text)
    for secret in secrets:
        text = text.replace(secret, _HIDDEN)
    return text


@contextlib.contextmanager
def workplace(work_dir: Path) -> Iterator[Path]:
    """Make a folder in `work_dir`, which is ours; delete it afterwards with all that is in it.

    Write the files for the program, then `give` the folder to the user that servers run as. From
    then on a server of that user could put anything there: read it with `open_result` only.
    """
    work_dir.mkdir(parents=True, exist_ok=True)
    directory = Path(tempfile.mkdtemp(prefix="driver-", dir=work_dir))
    try:
        yield directory
    finally:
        delete(directory)


def open_result(path: Path) -> IO[bytes]:
    """Open a file that the program wrote; OSError for anything but its own plain file."""
    return open_plain(path, uid_of(server_user()))


class Lines(NamedTuple):
    """Whole lines that a program wrote to its two streams since the last look."""

    output: list[str]
    errors: list[str]


class Program(Child):
    """A program whose output is read in bounds and without its secrets.

    `deadline` and `wake_at` are instants of the monotonic clock, see `lines`; both may be moved.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        secrets: Sequence[str] = (),
        pass_fds: Sequence[int] = (),
    ) -> None:
        super().__init__(argv, cwd=cwd, env=env, stdout=PIPE, stderr=PIPE, pass_fds=pass_fds)
        self.deadline = self.wake_at = float("inf")
        self._secrets = tuple(secrets)
        self._streams = (_Stream(), _Stream())
        self._cpu_seconds = 0.0
        self._psutil = psutil.Process(self.pid)
        self._selector = selectors.DefaultSelector()
        pipes = (self.process.stdout, self.process.stderr)
        for pipe, stream in zip(pipes, self._streams, strict=True):
            if pipe is not None:
                self._selector.register(pipe.fileno(), selectors.EVENT_READ, stream)

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        self._selector.close()

    def read(self, timeout: float) -> Lines:
        """Return the lines that became complete within `timeout` seconds.

        Returns as soon as there is something to read, on either stream.
        """
        lines: dict[_Stream, list[str]] = {}
        for key, _ in self._selector.select(max(0.0, timeout)):
            data = os.read(key.fd, _CHUNK)
            lines[key.data] = key.data.add(data)
            if not data:
                self._selector.unregister(key.fd)
        return Lines(*(lines.get(stream, []) for stream in self._streams))

    def lines(self, should_stop: Callable[[], bool]) -> Iterator[Lines]:
        """Yield the lines as they come, until the program closes its output.

        Something comes at least every tenth of a second, lines or not, and as exactly as possible
        at `wake_at`. Raises `RunFailed`: CANCELLED, or TIMED_OUT after `deadline`.
        """
        asked = float("-inf")
        while self._selector.get_map():
            now = time.monotonic()
            if now - asked >= _ASK_EVERY_S:
                asked = now
                if should_stop():
                    raise self.failure(Outcome.CANCELLED, "The run was cancelled.")
            if now > self.deadline:
                raise self.failure(
                    Outcome.TIMED_OUT, "The driver did not end; it was stopped at its deadline."
                )
            yield self.read(min(_WAIT_S, self.wake_at - now))

    def end(self) -> int | None:
        """Wait for the end until `deadline`; return the exit status, None without.

        Raises RunFailed: LOST or OUT_OF_MEMORY for a program that another ended by a signal.
        """
        status = self.wait(max(0.0, self.deadline - time.monotonic()))
        if blame := self.blame("the driver"):
            raise self.failure(*blame)
        return status

    def cpu_seconds(self) -> float:
        """Return user and system time so far; once it has ended, what was last seen."""
        with contextlib.suppress(psutil.Error):
            times = self._psutil.cpu_times()
            self._cpu_seconds = times.user + times.system
        return self._cpu_seconds

    def output(self) -> str:
        """Return standard output and, if there was any, standard error: bounded and redacted."""
        texts = ("\n".join(stream.kept) for stream in self._streams)
        return redact("\n".join(text for text in texts if text.strip()), self._secrets)

    def last_line(self) -> str:
        """Return the last of `output` that is not blank."""
        lines = [line for line in self.output().splitlines() if line.strip()]
        return lines[-1] if lines else "no reason given"

    def failure(self, outcome: Outcome, message: str) -> RunFailed:
        """Make an error that carries the end of what the program said, standard error last."""
        message = redact(message, self._secrets)
        return RunFailed(outcome, message, log_tail=self.output()[-_LOG_TAIL:].strip())


class _Stream:
    """One of a program's two streams: the lines that are kept, and the beginning of the next."""

    def __init__(self) -> None:
        self.kept: list[str] = []
        self._partial = b""

    def add(self, data: bytes) -> list[str]:
        """Take what was read, nothing at the end; return the lines that it completes."""
        *whole, rest = (self._partial + data).split(b"\n")
        if not data and rest:  # the end of the stream also ends its last line
            whole, rest = [*whole, rest], b""
        self._partial = rest[-_MAX_LINE:]
        lines = [line.decode(errors="replace") for line in whole]
        self.kept += (line[:_MAX_KEPT_LINE] for line in lines)
        if len(self.kept) > 2 * _KEPT_LINES:
            self.kept[_KEPT_LINES:-_KEPT_LINES] = ["[... lines left out ...]"]
        return lines

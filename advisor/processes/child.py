"""One child process: started in its own session, and always ended with its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from typing import Any

from django.conf import settings

from benchmarks.servers.errorlog import read_tail

TERM_SECONDS = 30.0


class Child:
    """A program with its log file. Ctrl-C in the terminal does not reach it; `stop` ends it.

    `setpriv --pdeathsig` makes the kernel send SIGTERM if the parent dies.
    """

    def __init__(self, name: str, argv: Sequence[str]) -> None:
        self.name = name
        self.log = settings.LOG_DIR / f"{name}.log"
        self._argv = ["setpriv", "--pdeathsig", "TERM", "--", *argv]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._argv,
                cwd=settings.BASE_DIR,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        """SIGTERM, a wait in which a run can clean up, then SIGKILL to the process group."""
        if self._process is None:
            return
        if self.is_alive():
            self._process.terminate()
            try:
                self._process.wait(TERM_SECONDS)
            except subprocess.TimeoutExpired:
                pass
            finally:
                # Also after a second Ctrl-C.
                if self.is_alive():
                    os.killpg(self._process.pid, signal.SIGKILL)
                    self._process.wait()
        self._process = None

    def log_tail(self, lines: int = 5) -> str:
        return "\n".join(read_tail(self.log, lines))


def wait_until(is_so: Callable[[], bool], seconds: float, *, step: float = 0.1) -> bool:
    """Poll `is_so` for at most `seconds`; whether it became true."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if is_so():
            return True
        time.sleep(step)
    return False


def end_like_ctrl_c() -> None:
    """Handle SIGTERM, and the SIGHUP of a closed terminal, like Ctrl-C."""
    signal.signal(signal.SIGTERM, _interrupt)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup
        signal.signal(signal.SIGHUP, _interrupt)


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt

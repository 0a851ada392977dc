"""Runs the real command line in a home of its own: real Redis, real worker, real servers."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from benchmarks.servers.binary import ServerBinary

ROOT = Path(__file__).resolve().parents[2]
BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")

# One connection and seconds instead of minutes: the whole path, quickly. Two warehouses, because
# benchmarks/tests/conftest.py has a dataset of that size loaded anyway.
SMALL = ["--warehouses", "2", "--connections", "1", "--warmup", "0", "--measure", "2"]

# These studies show that they come to their end, also on a host that is busy with other tests.
UNDISTURBED = {
    f"ADVISOR_{name}": "0"
    for name in (
        "STEAL_LIMIT_PCT",
        "FOREIGN_CPU_LIMIT_PCT",
        "FOREIGN_IO_LIMIT_PCT",
        "STALL_LIMIT_PCT",
        "SWAP_LIMIT_MB_S",
    )
}


def without_services() -> dict[str, str]:
    """The environment of this process, without the Redis and the database that it may name."""
    return {k: v for k, v in os.environ.items() if k not in ("REDIS_URL", "DATABASE_URL")}


@dataclass(frozen=True)
class Home:
    """An ADVISOR_HOME and a device; datasets on the device are shared by the tests that use it."""

    path: Path
    device: Path
    server: ServerBinary
    _started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def database(self) -> Path:
        return self.path / "private" / "db.sqlite3"

    def environment(self, **more: str) -> dict[str, str]:
        ours = {
            "ADVISOR_HOME": str(self.path),
            "ADVISOR_HOST_NAME": "testhost",
            "ADVISOR_MEASURING_LOCK": str(self.path / "measuring.lock"),
        }
        return {**without_services(), **UNDISTURBED, **ours, **more}

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=self.environment(**environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=_listen_to_ctrl_c,
        )
        self._started.append(process)
        return process

    def run(
        self, *arguments: str, timeout: float = 330, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        process = self.start(*arguments, **environment)
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.terminate()
            out, err = process.communicate(timeout=40)
            raise AssertionError(f"not done in {timeout} s:\n{out}\n{err}") from None
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def advise(self, *arguments: str) -> list[str]:
        """Arguments of `advise` on this home's server and device, small."""
        place = ["--server", str(self.server.path), "--device", str(self.device)]
        return ["advise", *place, *SMALL, *arguments]

    def processes(self) -> list[psutil.Process]:
        """Every living process that belongs to this home or device."""
        marks = (str(self.path), str(self.device))
        found = []
        for process in psutil.process_iter():
            # Of a zombie, which has no command line, psutil says that it is none.
            with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                words = [*process.cmdline(), process.environ().get("ADVISOR_HOME", "")]
                if process.pid != os.getpid() and any(m in w for m in marks for w in words):
                    found.append(process)
        return found

    def kill_all(self) -> None:
        """Also of a test that failed: it leaves the next one no process, zombie or open pipe."""
        for process in self.processes():
            with suppress(psutil.NoSuchProcess):
                process.kill()
        for started in self._started:
            if started.returncode is None:
                started.communicate(timeout=30)

    def find(self, word: str) -> list[psutil.Process]:
        """Those of `processes()` whose command line has `word` in it."""
        return [p for p in self.processes() if word in " ".join(_command(p))]

    def left_behind(self) -> list[str]:
        """Processes and run folders that should be gone; empty when all was cleaned up."""
        deadline = time.monotonic() + 10
        while (left := self._left()) and time.monotonic() < deadline:
            time.sleep(0.2)
        return left

    def _left(self) -> list[str]:
        runs = self.device / "oltp-advisor" / "runs"
        folders = [str(path) for path in runs.iterdir()] if runs.exists() else []
        return [" ".join(_command(p)) for p in self.processes()] + folders


def find_browser() -> str | None:
    """A browser on PATH that Playwright can drive. The one without windows takes far less of the
    processor: it draws and lays out as the others do.
    """
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def _listen_to_ctrl_c() -> None:
    """A shell that starts the tests in the background has SIGINT ignored, also for children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _command(process: psutil.Process) -> Sequence[str]:
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


def wait_for(what: Callable[[], Any], seconds: float = 60, text: str = "") -> Any:
    """The first true value of `what()`; fails the test when none came in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if value := what():
            return value
        time.sleep(0.1)
    raise AssertionError(text or f"not within {seconds} s")


# What Python is to run first in a process of its own.
SET_UP = """
import django
django.setup()
"""
_IN_A_HOME = (
    SET_UP
    + """
import sys
from importlib import import_module
from pathlib import Path
for name in sys.argv[2:]:
    module, _, function = name.partition(":")
    getattr(import_module(module), function)(Path(sys.argv[1]))
print("all of it")
"""
)


def in_a_home(folder: Path, *functions: Callable[[Path], None], **environment: str) -> None:
    """Call functions, which are in modules, with a folder, in a process of its own whose home is
    there.
    """
    ours = {"ADVISOR_HOME": str(folder / "home"), "DJANGO_SETTINGS_MODULE": "advisor.settings"}
    names = [f"{one.__module__}:{one.__name__}" for one in functions]
    done = subprocess.run(
        [sys.executable, "-c", _IN_A_HOME, str(folder), *names],
        cwd=ROOT,
        env=without_services() | ours | environment,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.stdout.endswith("all of it\n"), done.stdout + done.stderr

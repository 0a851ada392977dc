"""A database of finished studies, accounts, and the web server as `serve` runs it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from advisor.tests.api_bench.asking import ask

if TYPE_CHECKING:
    from benchmarks.models import Run


@dataclass(frozen=True)
class Scene:
    """A web server that answers on a port of this host, and whom it knows."""

    port: int
    tokens: list[str]
    studies: int
    process: psutil.Process

    def cpu_s(self) -> float:
        """CPU seconds of the web server so far."""
        there = (self.process, *self.process.children(recursive=True))
        times = [one.cpu_times() for one in there]
        return float(sum(one.user + one.system for one in times))


def settle_in(home: Path, port: int) -> None:
    """Before Django's settings are read: a home of its own, whatever services there are."""
    for name in ("DATABASE_URL", "REDIS_URL"):
        os.environ.pop(name, None)
    os.environ |= {
        "ADVISOR_HOME": str(home),
        "ADVISOR_HOST_NAME": "db-host-1",
        "ADVISOR_PORT": str(port),
        "ADVISOR_LOG_LEVEL": "ERROR",
        "DJANGO_SETTINGS_MODULE": "advisor.settings",
    }


def fill(home: Path, studies: int, accounts: int) -> tuple[int, list[str]]:
    """Runs in a database with that many studies of 18; a token for each account."""
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    from advisor.access.models import Scope
    from advisor.access.roles import Role
    from advisor.access.tokens import create_token
    from advisor.tests import factories
    from benchmarks.models import Run
    from benchmarks.tests.made_up_host import made_up_host, with_inventory
    from tuning.models import StudyState
    from tuning.results.recommendation import store_recommendations

    with_inventory(factories.make_host(), made_up_host(directories=[home / "device"]))

    def end(run: Run) -> None:
        for name, value in factories.end_well(run).items():
            setattr(run, name, value)

    for number in range(studies):
        study = factories.make_study(
            name=f"Nightly {number}", state=StudyState.FINISHED, blocks=3, end=end
        )
        if number % 10 == 0:
            store_recommendations(study)
    return Run.objects.count(), [
        create_token(factories.make_user(f"client-{one}", Role.OPERATOR), "bench", Scope.RUN)
        for one in range(accounts)
    ]


@contextmanager
def web_server(port: int) -> Iterator[psutil.Process]:
    """It alone: no worker measures anything."""
    command = [sys.executable, "-m", "gunicorn", "-c", "python:advisor.processes.web"]
    address = ["--bind", f"127.0.0.1:{port}", "--log-level", "error"]
    with subprocess.Popen([*command, *address]) as server:
        try:
            _until_it_answers(port)
            yield psutil.Process(server.pid)
        finally:
            server.terminate()
            server.wait(30)


def _until_it_answers(port: int) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            if ask(port, "", "/healthz").status == 200:
                return
        except OSError:
            time.sleep(0.2)
    raise TimeoutError("the web server does not answer")

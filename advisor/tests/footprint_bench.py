"""`make bench-footprint`: how much of a processor the advisor itself uses while a run is measured.

A made-up study of 500 slots is measured by nobody: its current run is this process's own, and one
ends every `--run-s` seconds. Beside it run what a user has: `serve` with Redis, worker and web
server, a terminal that follows the study as `advise` does, and two browsers that poll its page as
htmx makes them. The table has the CPU time of each process; all together may use 3 % of one core.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import os
import pty
import random
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psutil

from benchmarks.servers.startup import free_port

if TYPE_CHECKING:
    from benchmarks.models import Run
    from tuning.models import Study

#: Share of one core that all processes of the advisor outside of the run may use.
BUDGET: Final = 0.03
_HOST: Final = "footprint"
_BROWSERS: Final = 2
_POLL_S: Final = 2.0
_CANDIDATES: Final = 19
_BLOCKS: Final = 25
_FOLLOW: Final = """
import sys, django
django.setup()
from rich.console import Console
from advisor.processes.supervisor import Supervisor
from advisor.terminal.follow import follow
from tuning.models import Study
with Supervisor() as processes:
    follow(Study.objects.get(pk=int(sys.argv[1])), Console(), processes.check)
"""


def main() -> int:
    """Print the table; 1 if the budget is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0, help="how long to look")
    parser.add_argument("--run-s", type=float, default=60.0, help="how long a run takes")
    parser.add_argument("--settle-s", type=float, default=15.0, help="how long to wait before")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="advisor-footprint-", dir="/var/tmp") as home:
        port = free_port()
        for name in ("DATABASE_URL", "REDIS_URL"):
            os.environ.pop(name, None)
        os.environ |= {
            "ADVISOR_HOME": home,
            "ADVISOR_HOST_NAME": _HOST,
            "ADVISOR_PORT": str(port),
            "DJANGO_SETTINGS_MODULE": "advisor.settings",
            "PYTHONUNBUFFERED": "1",
        }
        return _look(port, options.seconds, options.run_s, options.settle_s)


def _look(port: int, seconds: float, run_s: float, settle_s: float) -> int:
    import django

    django.setup()
    study, cookie = _make_rows()
    over = threading.Event()
    runs = study, _begin_next(study), run_s, over
    threads = [threading.Thread(target=_runs, args=runs, daemon=True)]
    threads[0].start()
    with contextlib.ExitStack() as stack:
        serve = stack.enter_context(_on_terminal("manage.py", "serve"))
        _wait_for(port)
        follow = stack.enter_context(_on_terminal("-c", _FOLLOW, str(study.pk)))
        answers: list[int] = []
        for _ in range(_BROWSERS):
            browser = _browse, (port, study.pk, cookie, over, answers)
            threads.append(threading.Thread(target=browser[0], args=browser[1], daemon=True))
        for thread in threads[1:]:
            thread.start()
        stack.callback(over.set)
        while len(answers) < 2 * _BROWSERS and all(one.is_alive() for one in threads):
            time.sleep(1.0)  # opening the page for the first time is not what is measured
        time.sleep(settle_s)
        before, began = _cpu_seconds(serve, follow), time.monotonic()
        answers.clear()
        time.sleep(seconds)
        after, took = _cpu_seconds(serve, follow), time.monotonic() - began
        over.set()
        for thread in threads:
            thread.join()
    print(f"{'process':34} {'CPU s':>8} {'% of a core':>12}")
    total = 0.0
    for name, used in after.items():
        spent = used - before.get(name, 0.0)
        total += spent
        print(f"{name:34} {spent:8.2f} {spent / took:12.2%}")
    print(f"{'all':34} {total:8.2f} {total / took:12.2%}   (budget {BUDGET:.0%})")
    print(f"{len(answers)} answers to {_BROWSERS} browsers in {took:.0f} s")
    if len(answers) < _BROWSERS * seconds / (_POLL_S * 2):
        raise RuntimeError("the browsers got too few answers: nothing was measured")
    return int(total / took > BUDGET)


def _make_rows() -> tuple[Study, str]:
    from django.contrib.auth import get_user_model
    from django.core.management import call_command
    from django.test import Client
    from django.utils import timezone

    from advisor.tests import factories
    from tuning.models import StudyState

    call_command("migrate", verbosity=0)
    user = get_user_model().objects.create_superuser("bench", password="not used")
    client = Client()
    client.force_login(user)
    device = factories.make_device(host=factories.make_host(_HOST))
    ended = iter(range(_BLOCKS * (_CANDIDATES + 1) * 3 // 5))
    dice = random.Random(7)

    def end(run: Run) -> None:
        if next(ended, None) is not None:
            _end(run, dice)

    study = factories.make_study(
        names=["server-default", *(f"candidate-{n}" for n in range(1, _CANDIDATES))],
        blocks=_BLOCKS,
        device=device,
        state=StudyState.RUNNING,
        started_at=timezone.now(),
        end=end,
    )
    return study, client.cookies["sessionid"].value


def _end(run: Run, dice: random.Random) -> None:
    """As a run of a real server ends: with hundreds of variables and a document of conditions."""
    from django.utils import timezone

    from advisor.tests import factories
    from benchmarks.models import RunState

    run.state = RunState.OK
    run.step = ""
    run.started_at = run.finished_at = timezone.now()
    run.tpmP = dice.gauss(6000, 200)
    run.p95_ms = dice.gauss(100, 5)
    run.p99_ms = run.p95_ms * 1.4
    run.server_path_length = dice.gauss(3e6, 5e4)
    run.new_orders, run.measured_seconds = 6000, 60.0
    run.comparability_key = "k" * 64
    run.variables = {f"a_variable_of_the_server_{n}": f"value {n}" for n in range(550)}
    run.fingerprint = dict(factories.FINGERPRINT)
    run.conditions = {f"condition_{n}": n / 7 for n in range(40)}


def _begin_next(study: Study, ended: Run | None = None) -> Run:
    """The study's next run, claimed by us at the moment at which the other one ends: the worker
    must not find it queued while nothing runs.
    """
    from django.db import transaction
    from django.db.models.functions import Now

    from benchmarks.jobs.claimant import claimant
    from benchmarks.models import Run, RunState

    with transaction.atomic():
        if ended is not None:
            ended.save()
        queued = Run.objects.filter(slot__study=study, state=RunState.QUEUED)
        run = queued.order_by("slot__order")[0]
        Run.objects.filter(pk=run.pk).update(
            state=RunState.RUNNING, claimed_by=claimant(), started_at=Now(), heartbeat_at=Now()
        )
    run.refresh_from_db()
    return run


def _runs(study: Study, run: Run, run_s: float, over: threading.Event) -> None:
    """The runs of a study, one after the other, with a heartbeat a second."""
    from django.db.models.functions import Now

    from benchmarks.models import Run

    dice = random.Random(8)
    steps = ("cloning the dataset", "starting the server", "warming up", "measuring")
    while not over.is_set():
        ends = time.monotonic() + run_s
        while time.monotonic() < ends and not over.is_set():
            step = steps[min(int((run_s - (ends - time.monotonic())) / 3), 3)]
            Run.objects.filter(pk=run.pk).update(heartbeat_at=Now(), step=step)
            over.wait(1.0)
        _end(run, dice)
        run = _begin_next(study, run)


def _browse(port: int, study: int, cookie: str, over: threading.Event, answers: list[int]) -> None:
    """A page that stays open: polls, takes what changed and then the charts again."""
    headers = {"Cookie": f"sessionid={cookie}", "HX-Request": "true"}

    def get(path: str) -> str:
        # The web server closes a connection that is idle for as long as a page waits.
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        if answer.status not in (200, 204):
            raise RuntimeError(f"{path}: {answer.status}")
        return text

    page = get(f"/studies/{study}/")
    get(f"/studies/{study}/charts.json")
    while not over.wait(_POLL_S):
        poll = re.search(r'hx-get="(/studies/\d+/live/[^"]*)"', page)
        if poll is None:
            raise RuntimeError("the page does not poll any more")
        found = get(poll[1].replace("&amp;", "&"))
        if "hx-swap-oob" in found:
            get(f"/studies/{study}/charts.json")
        answers.append(len(found))
        page = found or page  # nothing: the page stays as it is


def _cpu_seconds(*commands: subprocess.Popen[bytes]) -> dict[str, float]:
    """User and system time so far of each process of the commands."""
    found: dict[str, float] = {}
    for name, command in zip(("serve", "advise"), commands, strict=True):
        top = psutil.Process(command.pid)
        for process in (top, *top.children(recursive=True)):
            words = " ".join(process.cmdline()[:6])
            label = name if process == top else _label(words)
            times = process.cpu_times()
            found[f"{label} ({process.pid})"] = times.user + times.system
    return found


def _label(words: str) -> str:
    known = ("redis", "gunicorn", "worker", "celery")
    return next((name for name in known if name in words), words[:24])


@contextlib.contextmanager
def _on_terminal(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A command of ours with a terminal of its own, which nobody looks at."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=Path(__file__).resolve().parents[2],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    said: list[bytes] = []

    def read() -> None:
        with contextlib.suppress(OSError):  # the other end is closed
            while data := os.read(ours, 65536):
                said[:] = [*said[-20:], data]

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        yield process
        if process.poll() is not None:
            raise RuntimeError(f"{arguments[0]} ended: {b''.join(said).decode()[-2000:]}")
    finally:
        process.terminate()
        process.wait(60)
        reader.join()
        os.close(ours)


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise RuntimeError("the web server did not start")


if __name__ == "__main__":
    sys.exit(main())

"""What a worker does beside its tasks goes on, whatever becomes of its connection to Redis."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack, nullcontext
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from celery.worker import state
from django.core.management import call_command
from django.db import connections
from kombu import Consumer, Message, Queue
from kombu.asynchronous.timer import Timer
from pytest_django import Settings

from advisor import worker
from advisor.celery import app
from advisor.management.commands import worker as worker_command
from advisor.processes.broker import private_redis_command
from advisor.tests.harness import ROOT, SET_UP, wait_for
from benchmarks.jobs import versions
from benchmarks.models import Host


@pytest.mark.parametrize("is_acknowledged", [False, True])
def test_a_message_that_was_not_acknowledged_does_not_keep_the_next_one_away(
    tmp_path: Path, settings: Settings, is_acknowledged: bool
) -> None:
    settings.RUN_DIR = tmp_path
    settings.REDIS_SOCKET = tmp_path / "redis.sock"
    taken: list[Message] = []
    with ExitStack() as stack:
        redis = stack.enter_context(
            subprocess.Popen(private_redis_command(), stdout=subprocess.DEVNULL)
        )
        stack.callback(redis.kill)
        wait_for(settings.REDIS_SOCKET.exists, 20, "Redis does not start")
        broker = app.connection_for_read(f"redis+socket://{settings.REDIS_SOCKET}")
        stack.enter_context(broker)
        channel = broker.default_channel
        channel.basic_qos(prefetch_count=app.conf.worker_prefetch_multiplier)
        queue = Queue("bench.db1")
        stack.enter_context(Consumer(channel, [queue], on_message=taken.append))
        broker.Producer().publish({}, routing_key=queue.name, declare=[queue])
        broker.drain_events(timeout=5)
        redis.kill()
        redis.wait()
        if is_acknowledged:
            taken[0].ack()
        assert channel.qos.can_consume()


def test_sweeps_go_on_when_celery_has_lost_its_connection_and_one_of_them_fails(
    monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.SWEEP_SECONDS = 0.01
    swept: list[bool] = []

    def sweep() -> None:
        swept.append(True)
        if len(swept) == 2:
            raise ZeroDivisionError("a bug")

    monkeypatch.setattr(worker, "sweep", sweep)
    monkeypatch.setattr(worker, "inspect", lambda: None)
    closed_after: list[int] = []
    monkeypatch.setattr(connections, "close_all", lambda: closed_after.append(len(swept)))
    parent = SimpleNamespace(timer=Timer(), steps=[])
    watch = worker.HostWatch(parent)
    watch.start(parent)
    parent.timer.clear()  # as its loop does then
    try:
        wait_for(lambda: len(swept) > 4, 20, "there are no sweeps any more")
    finally:
        watch.stop(parent)
    # That of the main thread, after its only sweep: nobody else would.
    assert closed_after == [1]


STARTED = (
    SET_UP
    + """
import sys
from advisor.management.commands import advise, worker
worker.join = worker.leave = lambda: None

class Worker:
    def __init__(self, **_):
        worker.app.loader.import_default_modules()

    def start(self):
        pass

worker.app.Worker = Worker
worker.Command().run_from_argv(["manage.py", "worker"])
assert "tuning.tasks" in sys.modules
unused = (
    *("advisor.pages", "advisor.urls", "advisor.api"),
    *("celery.bin", "prompt_toolkit"),
)
print([name for name in sys.modules if name.startswith(unused)])
"""
)


@pytest.mark.django_db
def test_a_worker_whose_host_was_renamed_while_it_was_cut_off_makes_no_other_host(
    monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.HOST_NAME = "db-1"
    monkeypatch.setattr(worker, "_JOINED", [])
    monkeypatch.setattr(state, "should_stop", None)
    monkeypatch.setattr(versions, "tables_lack", lambda *_: "")
    worker.join()
    stops = []
    for name in ("db-1", "db-2"):
        Host.objects.update(name=name)
        worker.sweep()
        stops.append(state.should_stop)
    assert stops == [None, os.EX_UNAVAILABLE]
    assert [host.name for host in Host.objects.all()] == ["db-2"]


def test_a_worker_that_lost_its_name_exits_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("join", "leave"):
        monkeypatch.setattr(worker_command, name, lambda: None)
    monkeypatch.setattr(worker_command, "share_in", lambda _: None)
    monkeypatch.setattr(os, "umask", lambda _: None)
    for stop, status in ((os.EX_OK, None), (os.EX_UNAVAILABLE, os.EX_UNAVAILABLE)):
        monkeypatch.setattr(state, "should_stop", None)
        ends = partial(setattr, state, "should_stop", stop)
        monkeypatch.setattr(app, "Worker", lambda ends=ends, **_: SimpleNamespace(start=ends))
        ended = pytest.raises(SystemExit) if status else nullcontext()
        with ended as found:
            call_command("worker")
        assert (found.value.code if found else None) == status


@pytest.mark.slow
def test_worker_and_advise_start_without_pages_and_api(tmp_path: Path) -> None:
    environment = os.environ | {
        "ADVISOR_HOME": str(tmp_path),
        "DJANGO_SETTINGS_MODULE": "advisor.settings",
    }
    done = subprocess.run(
        [sys.executable, "-c", STARTED],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


SHARING = """
import sys
from multiprocessing.util import get_temp_dir
from pathlib import Path
from advisor.processes.scratch import share_in

share_in(Path(sys.argv[1]))
print(get_temp_dir(), flush=True)
sys.stdin.read()
"""


def test_what_a_killed_worker_shared_with_its_processes_goes_at_the_next_start(
    tmp_path: Path,
) -> None:
    place = tmp_path / "shared"
    with ExitStack() as stack:

        def start() -> tuple[subprocess.Popen[str], Path]:
            process = stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", SHARING, str(place)],
                    cwd=ROOT,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
            stack.callback(process.kill)
            assert process.stdout is not None
            return process, Path(process.stdout.readline().strip())

        killed, left = start()
        killed.kill()
        killed.wait()
        assert [*place.iterdir()] == [left.parent]
        _, lives = start()
        ends, own = start()
        assert {*place.iterdir()} == {lives.parent, own.parent}
        assert ends.communicate("") == ("", "")
        assert [*own.parent.iterdir()] == []
        _, last = start()
        assert {*place.iterdir()} == {lives.parent, last.parent}

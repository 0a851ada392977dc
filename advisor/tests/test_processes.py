"""The processes of a host: ended whatever interrupts us, and no stranger's Redis is talked to."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import tempfile
from datetime import timedelta
from pathlib import Path

import psutil
import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command, execute_from_command_line
from django.db.utils import ConnectionHandler
from django.utils import timezone
from pytest_django import Settings

from advisor.environment import read
from advisor.errors import PortTaken
from advisor.home import socket_path
from advisor.management.commands import serve
from advisor.processes import supervisor
from advisor.processes.child import Child
from advisor.processes.supervisor import Supervisor
from advisor.terminal.files import write_whole
from advisor.tests import factories
from benchmarks.inventory.stored import store_inventory
from benchmarks.jobs.locks import this_process
from benchmarks.models import Host, RunState
from benchmarks.servers.reach import free_port
from benchmarks.tests.made_up_host import made_up_host


@pytest.fixture
def far_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run folder whose name is too long for a socket; /tmp is a folder of the test."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path / ("long" * 30)


def test_a_short_socket_path_is_private_and_the_same_for_all_processes(far_away: Path) -> None:
    path = socket_path(far_away, "redis.sock")
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert socket_path(far_away, "redis.sock") == path


def test_a_folder_that_another_user_made_first_is_not_used(far_away: Path) -> None:
    folder = socket_path(far_away, "redis.sock").parent
    folder.chmod(0o755)
    with pytest.raises(ImproperlyConfigured, match="not a private folder"):
        socket_path(far_away, "redis.sock")
    folder.rmdir()
    folder.symlink_to(far_away.parent)
    with pytest.raises(ImproperlyConfigured, match="not a private folder"):
        socket_path(far_away, "redis.sock")


def test_a_second_ctrl_c_while_stopping_leaves_no_process(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.LOG_DIR = tmp_path
    stubborn = "trap '' TERM; echo ready; while :; do sleep 0.1; done"
    processes = Supervisor()
    pids = []
    for name in ("one", "two"):
        child = Child(name, ["sh", "-c", stubborn])
        child.start()
        while "ready" not in child.log_tail():
            pass
        processes._children.append(child)
        assert child.pid is not None
        pids.append(child.pid)

    def impatient(*_: object, **__: object) -> int:
        monkeypatch.undo()  # only the first wait is interrupted
        monkeypatch.setattr("advisor.processes.child.TERM_SECONDS", 0.1)
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess.Popen, "wait", impatient)
    with pytest.raises(KeyboardInterrupt):
        processes._stop_all()
    assert not [pid for pid in pids if psutil.pid_exists(pid)]


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_was_killed_is_tidied_up_after_when_its_last_process_is_gone(
    tmp_path: Path, settings: Settings
) -> None:
    """The process that did its job needs longer to die than it itself."""
    settings.LOG_DIR = settings.RUN_DIR = tmp_path
    place = tmp_path / "device"
    place.mkdir()
    device = factories.make_device(
        host=factories.make_host(settings.HOST_NAME), data_dir=str(place)
    )
    run = factories.sure(factories.begin(factories.make_study(blocks=1, device=device)))
    folder = device.layout.run_dir(f"run-{run.pk}")
    folder.mkdir(parents=True)
    worker = Child("worker", ["true"])
    worker.start()
    processes = Supervisor()
    processes._children.append(worker)
    run.claimed_by = this_process()
    run.save()
    lock = tmp_path / "benchmark.lock"
    lock.touch()
    # As the process of its job does, which still ends.
    with subprocess.Popen(
        ["flock", lock, "sh", "-c", "echo; sleep 1"], stdout=subprocess.PIPE
    ) as dying:
        assert dying.stdout is not None
        assert dying.stdout.readline()
        processes._stop_all()
    run.refresh_from_db()
    assert (run.state, run.reason) == (RunState.LOST, "the worker died while measuring")
    assert not folder.exists()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("silent_s", "started"), [(5, []), (300, ["redis", "worker"]), (None, ["redis", "worker"])]
)
def test_redis_and_worker_are_replaced_when_killed_from_outside(
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    silent_s: float | None,
    started: list[str],
) -> None:
    settings.REDIS_URL_IS_OURS = True
    seen = None if silent_s is None else timezone.now() - timedelta(seconds=silent_s)
    Host.objects.create(name=settings.HOST_NAME, worker_seen_at=seen)
    names: list[str] = []
    answer = {"redis": True, "worker": True}
    monkeypatch.setattr(supervisor, "redis_answers", lambda: answer["redis"])
    monkeypatch.setattr(supervisor, "worker_answers", lambda: answer["worker"])
    monkeypatch.setattr(Supervisor, "_start", lambda _, child, __: names.append(child.name))
    with Supervisor() as processes:
        processes.check()
        assert not names
        answer.update(redis=False, worker=False)
        processes._looked_at -= 60
        processes.check()
    assert names == started


@pytest.mark.django_db
def test_the_web_server_starts_when_the_worker_has_said_what_the_host_has(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script that asks it for a study as soon as it answers is not refused."""
    host = Host.objects.create(name=settings.HOST_NAME)
    steps: list[str] = []

    def inspect(_: float) -> None:
        steps.append("waited")
        store_inventory(host, made_up_host(name=host.name))

    monkeypatch.setattr(supervisor, "redis_answers", lambda: True)
    monkeypatch.setattr(supervisor, "worker_answers", lambda: True)
    monkeypatch.setattr(supervisor, "check_port", lambda *_: None)
    monkeypatch.setattr("advisor.processes.child.time.sleep", inspect)
    monkeypatch.setattr(Supervisor, "_start", lambda _, child, __: steps.append(child.name))
    with Supervisor(with_web=True):
        assert steps == ["waited", "web"]


@pytest.mark.django_db
def test_another_hosts_study_needs_no_worker_here(monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[str] = []
    monkeypatch.setattr(supervisor, "redis_answers", lambda: False)
    monkeypatch.setattr(supervisor, "worker_answers", lambda: False)
    monkeypatch.setattr(Supervisor, "_start", lambda _, child, __: names.append(child.name))
    with Supervisor(with_worker=False) as processes:
        processes._looked_at -= 60
        processes.check()
    assert names == ["redis"]


def test_the_file_is_written_past_a_trap_beside_it(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    target = tmp_path / "my.cnf"
    target.symlink_to(victim)
    (tmp_path / ".my.cnf.draft").symlink_to(victim)
    write_whole(target, b"[mysqld]\n")
    assert (target.read_text(), victim.read_text()) == ("[mysqld]\n", "precious")
    assert sorted(os.listdir(tmp_path)) == [".my.cnf.draft", "my.cnf", "victim"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ADVISOR_MEASURING_LOCK", "measuring.lock"),
        ("ADVISOR_MEASURING_LOCK", "/no/such/folder/measuring.lock"),
        ("ADVISOR_DISK_RESERVE", "much"),
        ("ADVISOR_DISK_RESERVE", "120%"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_by_name(
    name: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, text)
    with pytest.raises(ImproperlyConfigured, match=f"{name}='{text}' is invalid: "):
        read(name)


def test_no_error_repeats_a_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "mysql://advisor:secret@db/x")
    with pytest.raises(ImproperlyConfigured) as refused:
        read("DATABASE_URL")
    assert "secret" not in str(refused.value)


@pytest.mark.django_db
def test_a_database_that_cannot_be_opened_is_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = {"ENGINE": "django.db.backends.sqlite3", "NAME": "/nowhere/at/all/db"}
    nowhere = ConnectionHandler({"default": entry})["default"]
    monkeypatch.setattr("advisor.processes.database.connection", nowhere)
    for command in ("study pause 1", "host drain db1", "token list", "dataset list", "migrate"):
        with pytest.raises((SystemExit, CommandError)) as ended:
            call_command(*command.split())
        said = capsys.readouterr().err if ended.type is SystemExit else str(ended.value)
        assert said.startswith("database_unreachable: the database of DATABASE_URL cannot"), (
            command
        )
        assert len(said.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("address", "shown"),
    [("127.0.0.1", "127.0.0.1"), ("::1", "[::1]"), ("localhost", "localhost")],
)
def test_the_web_server_can_listen_on_both_kinds_of_addresses(
    settings: Settings, address: str, shown: str
) -> None:
    settings.BIND_ADDRESS, settings.PORT = address, free_port()
    assert supervisor.web_command()[-1] == f"{shown}:{settings.PORT}"
    supervisor.check_port(address, settings.PORT)
    assert not supervisor.web_answers()
    family = socket.getaddrinfo(address, settings.PORT)[0][0]
    with socket.create_server((address, settings.PORT), family=family):
        assert supervisor.web_answers()
        with pytest.raises(PortTaken):
            supervisor.check_port(address, settings.PORT)


@pytest.mark.django_db
def test_serve_says_that_its_port_is_taken_and_starts_nothing(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(serve, "migrate", lambda: None)
    monkeypatch.setattr(serve, "end_like_ctrl_c", lambda: None)  # that of this process stays
    monkeypatch.setattr(Child, "start", lambda child: pytest.fail(f"it starts {child.name}"))
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        settings.PORT = other.getsockname()[1]
        with pytest.raises(SystemExit) as ended:
            execute_from_command_line(["manage.py", "serve"])
    assert ended.value.code == 1
    said = capsys.readouterr().err
    assert f"port_taken: 127.0.0.1:{settings.PORT}" in said
    assert "ADVISOR_PORT" in said

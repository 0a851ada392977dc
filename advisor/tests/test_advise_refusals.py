"""Wrong input to `manage.py advise`: one typed line each, in this process; nothing is started."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from django.core.management import execute_from_command_line
from pytest_django import Settings

from advisor.celery import app
from advisor.management import measuring
from advisor.processes.child import Child
from advisor.processes.supervisor import Supervisor
from benchmarks.servers.binary import ServerBinary
from tuning.models import Study, StudyState

pytestmark = [pytest.mark.server, pytest.mark.django_db]

Refused = Callable[..., str]


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Refused:
    """Runs `advise` with a status to be; gives what it said."""

    def supervise(**_: bool) -> None:
        pytest.fail("it starts Redis and a worker")

    def run(*arguments: str, status: int) -> str:
        before = psutil.Process().children(recursive=True)
        with pytest.raises(SystemExit) as ended:
            execute_from_command_line(["manage.py", "advise", *arguments])
        out, err = capsys.readouterr()
        assert ended.value.code == status
        assert out == ""
        assert psutil.Process().children(recursive=True) == before
        return err

    monkeypatch.setattr(measuring, "Supervisor", supervise)
    monkeypatch.setattr(measuring, "end_like_ctrl_c", lambda: None)  # that of this process stays
    return run


@pytest.fixture
def place(mysql_binary: ServerBinary, server_tmp: Path) -> list[str]:
    return ["--server", str(mysql_binary.path), "--device", str(server_tmp)]


@pytest.mark.parametrize(
    ("arguments", "status", "reason"),
    [
        (["--template", "nonesuch"], 2, "unknown_template"),
        (["--blocks", "0"], 2, "invalid_request: must be greater than or equal to 1"),
        (["--connections", "8,x"], 2, "invalid_request: must be whole numbers"),
        (["--driver", "jmeter"], 2, "invalid choice"),
        (["--config", "/nonexistent.cnf"], 2, "No such file"),
        (["--output", "/nonexistent/my.cnf"], 2, "existing directory"),
        (["--export", "pdf:x"], 2, "is not FORMAT:FILE"),
        (["--export", "diff:x"], 2, "is not FORMAT:FILE"),
        (["--durability", "D3"], 2, "choose from"),
        (["--translate-from", "oracle 23"], 2, "not a server"),
        (["--template", "compare"], 2, "needs a config"),
        (["--device", "/nonexistent"], 1, "device_unusable: /nonexistent"),
        (["--device", "/proc"], 1, "device_unusable: /proc"),
        (["--server", "/bin/true"], 1, "not_a_server: /bin/true"),
        (["--server", "/nonexistent"], 1, "not_a_server: /nonexistent"),
        (["--warehouses", "9999"], 1, "disk_full"),
    ],
)
def test_wrong_input_is_one_typed_line_and_starts_nothing(
    refused: Refused, place: list[str], arguments: list[str], status: int, reason: str
) -> None:
    said = refused(*place, *arguments, status=status)
    assert reason in said
    if ": " in reason or status == 1:
        assert said.splitlines() == [said.strip()]
        assert said.startswith(reason.partition(":")[0])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small file system")
def test_a_full_device_is_said_before_anything_is_loaded(
    refused: Refused, mysql_binary: ServerBinary, server_tmp: Path
) -> None:
    small = server_tmp / "small"
    small.mkdir()
    mount = shutil.which("mount")
    assert mount
    subprocess.run([mount, "-t", "tmpfs", "-o", "size=64m", "none", str(small)], check=True)
    try:
        device = ("--device", str(small), "--server", str(mysql_binary.path))
        said = refused(*device, "--warehouses", "1", status=1)
    finally:
        subprocess.run([mount.replace("mount", "umount"), str(small)], check=True)
    assert "disk_full" in said
    assert "MB" in said


def test_an_explicit_redis_that_does_not_answer_is_an_error(
    refused: Refused, place: list[str], monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    monkeypatch.setattr(measuring, "Supervisor", Supervisor)
    monkeypatch.setattr(Child, "start", lambda child: pytest.fail(f"it starts {child.name}"))
    settings.REDIS_URL_IS_OURS = False
    monkeypatch.setattr(app.conf, "broker_url", "redis://127.0.0.1:1/0")
    said = refused(*place, "--warehouses", "1", "--connections", "2", status=1)
    assert said.splitlines()[-1].startswith("redis_unreachable: ")
    assert Study.objects.get().state == StudyState.CANCELLED

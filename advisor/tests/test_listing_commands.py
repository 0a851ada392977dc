"""`manage.py server` and `manage.py device`: what may be started and measured on this host."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from benchmarks.inventory.stored import inventory_of
from benchmarks.jobs.locks import measuring_alone
from benchmarks.models import Host, Inspection, ListedPath
from benchmarks.servers.binary import ServerBinary

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def host(settings: Any, server_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that finds no server by itself."""
    settings.RUN_DIR = server_tmp
    settings.DEFAULT_DEVICE = server_tmp / "device"
    settings.INSTALLED_SERVERS_DIR = server_tmp
    monkeypatch.setattr("benchmarks.inventory.inspection._SERVER_FOLDERS", ())
    monkeypatch.setenv("PATH", "/usr/bin:/bin")


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Any:
    def say(*words: Any) -> str:
        with suppress(SystemExit):
            call_command(*map(str, words))
        out, err = capsys.readouterr()
        return out or err

    return say


def test_a_server_is_added_listed_and_removed(say: Any, mariadb_binary: ServerBinary) -> None:
    path = mariadb_binary.path
    assert f"studies may use {path}: mariadb {mariadb_binary.version_text}, sha256 " in say(
        "server", "add", path
    )
    assert inventory_of(Host.objects.get()).server() == mariadb_binary
    assert say("server", "list").strip().endswith("(added)")
    said = say("server", "add", "/bin/true")
    assert said.startswith("not_a_server: /bin/true is not a mysqld")
    assert [row.path for row in ListedPath.objects.all()] == [str(path)]
    assert f"{path} is not listed any more" in say("server", "remove", path)
    assert inventory_of(Host.objects.get()).servers == ()
    assert say("server", "remove", path).startswith("not_listed: ")


def test_a_device_is_added_listed_and_removed(say: Any, server_tmp: Path, settings: Any) -> None:
    place = server_tmp / "srv"
    assert "srv: No such file" in say("device", "add", place)
    place.mkdir()
    assert f"studies may use {place}: " in say("device", "add", place)
    listed = say("device", "list")
    assert f"{settings.DEFAULT_DEVICE}: " in listed
    assert f"{place}: " in listed
    settings.LISTED_DEVICES = [place]
    assert "has it anyway: it found it, or by ADVISOR_DEVICES" in say("device", "remove", place)


def test_a_host_that_measures_is_not_disturbed(
    say: Any, server_tmp: Path, mariadb_binary: ServerBinary
) -> None:
    say("device", "add", server_tmp)
    with measuring_alone() as held:
        assert held
        said = say("server", "add", mariadb_binary.path)
        assert "is inspected, and listed if it can be used, when the current job ends" in said
        assert "when the current job ends" in say("device", "remove", server_tmp)
    queued = Inspection.objects.order_by("pk").values_list("subject", "path", "lists")
    assert list(queued) == [("server", str(mariadb_binary.path), True), ("host", "", False)]

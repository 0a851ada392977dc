"""The options of `advise` become what the study is asked for."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import Mock

import pytest
from django.conf import settings
from django.core.management import call_command

from advisor.management import listing, measuring
from advisor.management.commands import advise
from advisor.tests import factories
from benchmarks.jobs.locks import measuring_alone
from benchmarks.storage.kinds import DeviceKind
from benchmarks.tests.made_up_host import MYSQL, this_host
from tuning.errors import BadRequest
from tuning.models import Study, StudyGroup, StudyState
from tuning.requests.device import DeviceRequest
from tuning.requests.study import GroupRequest, StudyRequest


class Asked(BadRequest):
    """Ends the command where it would start a study."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[StudyRequest]:
    requests: list[StudyRequest] = []

    def keep(request: StudyRequest, *, wake: bool) -> None:
        requests.append(request)
        # Nobody starts the worker of another host: it has to be woken.
        assert wake is (request.host != settings.HOST_NAME)
        raise Asked("no study is started in this test")

    monkeypatch.setattr(advise, "create_study", keep)
    monkeypatch.setattr(listing, "inspect_here", Mock())
    return requests


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("options", "devices"),
    [
        ([], []),
        (["--device", "/a"], [DeviceRequest(path=Path("/a"))]),
        (
            ["--device", "/a", "--device", "/b", "--emulate", "hdd", "--emulate", "native"],
            [
                DeviceRequest(path=Path(place), emulate=name)
                for place in ("/a", "/b")
                for name in ("hdd", "native")
            ],
        ),
        (
            ["--device", "/a", "--log-dir", "/b", "--device-kind", "nvme"],
            [DeviceRequest(path=Path("/a"), log_dir=Path("/b"), kind=DeviceKind.NVME)],
        ),
        (
            ["--emulate", "hdd", "--memory-limit", "800"],
            [DeviceRequest(emulate="hdd", memory_mb=800)],
        ),
    ],
)
def test_devices_reach_the_request(
    asked: list[StudyRequest], options: list[str], devices: list[DeviceRequest]
) -> None:
    with pytest.raises(SystemExit):
        call_command("advise", *options)
    [request] = asked
    assert request.devices == devices


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("field", "option"),
    [
        ("devices[1].log_dir", " (--log-dir)"),
        ("devices", " (--device)"),
        ("budget_minutes", " (--budget)"),
        ("", ""),
    ],
)
def test_a_refusal_names_the_option_it_is_about(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], field: str, option: str
) -> None:
    def refuse(request: StudyRequest, *, wake: bool) -> None:
        raise BadRequest("cannot be had", field=field)

    monkeypatch.setattr(advise, "create_study", refuse)
    monkeypatch.setattr(listing, "inspect_here", Mock())
    with pytest.raises(SystemExit):
        call_command("advise")
    assert capsys.readouterr().err == f"bad_request: cannot be had{option}\n"


@pytest.fixture
def two_hosts(monkeypatch: pytest.MonkeyPatch) -> list[Study]:
    """`advise` finds a measured study of "db1" and one of "db2", which failed, at their end."""
    studies = [
        factories.measured_study(
            device=factories.make_device(host=factories.make_host(name), data_dir=f"/srv/{name}")
        )
        for name in ("db1", "db2")
    ]
    failed = Study.objects.filter(pk=studies[1].pk)
    failed.update(state=StudyState.FAILED, reason_code="disk_full", reason="/srv/db2 is full")

    def found(request: GroupRequest) -> StudyGroup:
        group = StudyGroup.objects.create(name="Which?")
        Study.objects.update(group=group)
        return group

    monkeypatch.setattr(advise, "create_group", found)
    monkeypatch.setattr(measuring, "Supervisor", lambda **_: nullcontext(Mock()))
    settings.HOME.mkdir(exist_ok=True)
    return studies


TWO = ["--host", "db2", "--host", "db1"]


@pytest.mark.long
@pytest.mark.django_db
def test_several_hosts_have_rankings_and_files_of_their_own(
    two_hosts: list[Study], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    good, failed = two_hosts
    output = tmp_path / "my.cnf"
    files = ["--output", str(output), "--export", f"sql:{tmp_path / 'change'}"]
    with pytest.raises(SystemExit, match="1"):
        call_command("advise", *TWO, *files)
    told = capsys.readouterr()
    assert told.err.splitlines()[-1] == "disk_full: host db2: /srv/db2 is full"
    first, _, second = told.out.partition(f"Host db1, study {good.pk}")
    assert f"Host db2, study {failed.pk}" in first
    assert "Rank" not in first
    assert "at /srv/db1" in second
    assert "/srv/db2" not in second
    written = sorted(path.name for path in tmp_path.glob("*-db?*"))
    assert written == ["change-db1", "my-db1.cnf"]
    with pytest.raises(SystemExit, match="1"):
        call_command("advise", *TWO, "--json")
    documents = json.loads(capsys.readouterr().out)["studies"]
    assert [one["study"]["id"] for one in documents] == [failed.pk, good.pk]
    assert [one["study"]["state"] for one in documents] == ["failed", "finished"]


@pytest.mark.django_db
def test_several_hosts_are_asked_for_their_own_devices(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    asked: list[GroupRequest] = []

    def refuse(request: GroupRequest) -> None:
        asked.append(request)
        assert request.hosts == (settings.HOST_NAME, "db2")
        raise BadRequest("host db2: no such directory", field="devices[1].path")

    looked = Mock()
    monkeypatch.setattr(advise, "create_group", refuse)
    monkeypatch.setattr(listing, "inspect_here", looked)
    devices = ["--device", str(tmp_path), "--device", "db2:/srv/b"]
    with pytest.raises(SystemExit, match="2"):
        call_command("advise", "--host", settings.HOST_NAME, "--host", "db2", *devices)
    assert capsys.readouterr().err == "bad_request: host db2: no such directory (--device)\n"
    [request] = asked
    assert [(one.host, one.path) for one in request.devices] == [
        ("", tmp_path),
        ("db2", Path("/srv/b")),
    ]
    # Of this host only what is here is looked at.
    assert looked.call_args.kwargs == {"servers": [], "devices": [tmp_path]}
    with pytest.raises(SystemExit, match="2"):
        call_command("advise", *TWO, "--show-space")
    assert "--show-space can be used with one --host only" in capsys.readouterr().err


@pytest.mark.django_db
def test_a_run_is_not_disturbed_for_what_is_known(
    asked: list[StudyRequest], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    looked = Mock()
    monkeypatch.setattr(listing, "inspect_here", looked)
    this_host(directories=[tmp_path])

    def look(*options: str) -> bool:
        looked.reset_mock()
        with pytest.raises(SystemExit):
            call_command("advise", *options)
        return looked.called is True

    assert look()
    with measuring_alone() as held:
        assert held
        assert not look("--device", str(tmp_path), "--server", str(MYSQL.path))
        assert look("--device", str(tmp_path / "new"))
        assert looked.call_args.kwargs == {"servers": [], "devices": [tmp_path / "new"]}
        assert not look("--host", "another")
    assert asked[-1].host == "another"

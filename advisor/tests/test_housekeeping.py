"""What nobody needs any more goes, and nothing else."""

from __future__ import annotations

import errno
import json
import os
import shutil
import time
from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from advisor.tests import factories
from advisor.upkeep import housekeeping
from advisor.upkeep.housekeeping import is_due, keep_house, rotate_logs
from benchmarks.datasets.loading import ignore, never
from benchmarks.datasets.shared_folders import locked, sweep_loads
from benchmarks.errors import DatasetInUse
from benchmarks.models import Host, Inspection, Run, Sample
from tuning.models import Study, StudyState
from tuning.studies.datasets import (
    datasets_here,
    deletable,
    note_datasets,
    prunable,
    take_all_off,
)

pytestmark = pytest.mark.django_db
DAY_S = 86_400


@pytest.fixture(autouse=True)
def home(tmp_path: Path, settings: Settings) -> Path:
    settings.RUN_DIR, settings.LOG_DIR = tmp_path / "run", tmp_path / "logs"
    settings.MEASURING_LOCK = tmp_path / "measuring.lock"
    settings.DEFAULT_DEVICE = tmp_path / "default"
    settings.RUN_DIR.mkdir()
    settings.LOG_DIR.mkdir()
    return tmp_path


@pytest.fixture
def host(home: Path) -> Host:
    """Its device has a dataset that is new, one that is old and one of a server that is gone."""
    device = factories.make_device(data_dir=str(home / "device"))
    for key, digest, days in (("new", "d1", 0), ("old", "d1", 91), ("gone", "d2", 2)):
        place = home / "device" / "oltp-advisor" / "datasets" / key
        (place / "data").mkdir(parents=True)
        (place / "data" / "ibdata1").write_bytes(b"x" * 5000)
        ready = {
            "server_digest": digest,
            "server_version": "9.7.4",
            "title": "2 warehouses",
            "bytes": 5000,
        }
        (place / "ready.json").write_text(json.dumps(ready))
        for file in (place / "ready.json", place.with_name(f"{key}.lock")):
            file.touch()
            os.utime(file, (time.time() - days * DAY_S,) * 2)
    (place.parent / "x.loading-12").mkdir()  # half of one
    (place.parent / "link").symlink_to(place)
    Host.objects.update(inventory={})
    return Host.objects.get(pk=device.host_id)


def prune(host: Host, days: int) -> int:
    found = prunable(host, days)
    take_all_off([one for one, _ in found])
    return len(found)


def left(host: Host) -> list[str]:
    return [one.dataset.key for one in datasets_here(host)]


def test_datasets_go_by_age_and_with_their_server(host: Host) -> None:
    assert left(host) == ["gone", "new", "old"]
    # Without an inventory, or with that of an older version, nothing is known of servers.
    for host.inventory in ({}, {"servers": [{"of": "an older version"}]}):
        found = prunable(host, 90)
        assert [one.dataset.key for one, _ in found] == ["old"]
    host.inventory = factories.make_host("like it").inventory
    host.inventory["servers"][0]["digest"] = "d1"
    said = {one.dataset.key: why for one, why in prunable(host, 90)}
    assert said == {"gone": "its server is no longer on this host", "old": "not used for 91 days"}
    # A server that is being replaced may come back: what was used a moment ago stays.
    host.inventory["servers"][0]["digest"] = "d2"
    found = prunable(host, 0)
    assert [one.dataset.key for one, _ in found] == ["old"]
    host.inventory["servers"][0]["digest"] = "d1"
    assert left(host) == ["gone", "new", "old"]
    assert prune(host, 0) == 1
    assert left(host) == ["new", "old"]
    assert prune(host, 90) == 1
    assert left(host) == ["new"]
    shelf = datasets_here(host)[0].dataset.path.parent
    # Neither what is being loaded nor a link is anybody's to prune.
    assert {"link", "x.loading-12"} <= {path.name for path in shelf.iterdir()}


def test_nothing_is_tidied_where_others_could_plant_links(host: Host, home: Path) -> None:
    shelf = datasets_here(host)[0].dataset.path.parent
    for lock in ("old.lock", "x.lock"):
        (shelf / lock).unlink(missing_ok=True)
        (shelf / lock).symlink_to(home / "planted")
    shelf.chmod(0o777)
    assert prunable(host, 1) == []
    assert sweep_loads(shelf) == []
    assert (shelf / "old").exists()
    assert not (home / "planted").exists()
    (shelf / "x.lock").unlink()
    shelf.chmod(0o755)
    assert sweep_loads(shelf) == [shelf / "x.loading-12"]


def test_a_dataset_that_is_asked_for_is_young_again(host: Host) -> None:
    shelf = datasets_here(host)[0].dataset.path.parent
    with locked(shelf, "old", ignore, never):
        pass
    assert prunable(host, 90) == []


def test_none_is_deleted_that_is_in_use(host: Host) -> None:
    study = factories.make_study(
        state=StudyState.RUNNING, device=host.devices.get(), names=["server-default", "one"]
    )
    type(study.server).objects.update(digest="d1")
    with pytest.raises(DatasetInUse, match=f"study {study.pk} needs it"):
        take_all_off(deletable(datasets_here(host), "old"))
    assert [one.dataset.key for one, _ in prunable(host, 1)] == ["gone"]
    # The candidate of a gate may have a server of its own.
    theirs = factories.make_server(host=host, digest="d2", path="/opt/other/mysqld")
    study.candidates.filter(is_baseline=False).update(server=theirs)
    assert prunable(host, 1) == []
    Study.objects.update(state=StudyState.FINISHED)
    shelf = datasets_here(host)[0].dataset.path.parent
    with locked(shelf, "old", ignore, never), pytest.raises(DatasetInUse, match="being loaded"):
        take_all_off(deletable(datasets_here(host), "old"))
    assert left(host) == ["gone", "new", "old"]
    take_all_off(deletable(datasets_here(host), "old"))
    assert left(host) == ["gone", "new"]


def test_the_command_lists_deletes_and_prunes(
    host: Host, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.HOST_NAME = host.name
    call_command("dataset", "list")
    said = capsys.readouterr().out
    assert "old  5.0 kB, last used " in said
    assert "server 9.7.4, on " in said
    assert said.endswith("3 datasets, 15.0 kB\n")
    assert "; prune deletes it: not used for 91 days" in said.partition("old  ")[2]
    note_datasets(host)
    call_command("dataset", "delete", host.name, "--name", "old")
    assert "was asked to delete old" in capsys.readouterr().out
    call_command("dataset", "prune", host.name)
    asked = Inspection.objects.order_by("pk").values_list("subject", "path")
    assert list(asked) == [("datasets", "old"), ("datasets", "")]
    with pytest.raises(SystemExit):
        call_command("dataset", "delete", host.name, "--name", "lost")
    assert "not_found: there is no dataset 'lost'" in capsys.readouterr().err


def test_old_series_and_sessions_go_and_figures_stay(
    host: Host, settings: Settings, admin_client: Client, admin_user: User
) -> None:
    settings.SERIES_DAYS = 30
    study = factories.raced_study(most=6)
    runs = [slot.run for slot in study.slots.filter(run__state="ok").order_by("order")]
    Sample.objects.all().delete()
    for run in runs:
        Sample.objects.create(run=run, second=0)
    old, young = runs[0], runs[1]
    Run.objects.filter(pk=young.pk).update(finished_at=timezone.now())
    Run.objects.filter(pk=old.pk).update(finished_at=timezone.now() - timedelta(days=31))
    Run.objects.exclude(pk__in=(old.pk, young.pk)).update(finished_at=timezone.now())
    Session.objects.create(session_key="over", expire_date=timezone.now() - timedelta(days=1))
    done = list(keep_house(host))
    assert "runs that ended 30 days ago and lost their series: 1" in done
    assert not old.samples.exists()
    assert young.samples.exists()
    old.refresh_from_db()
    assert old.throughput is not None
    assert not Session.objects.filter(session_key="over").exists()
    assert admin_client.get("/").status_code == 200
    assert not any("lost their series" in line for line in keep_house(host))


def test_logs_rotate_under_a_program_that_writes_them(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(housekeeping, "MAX_LOG_BYTES", 100)
    log = home / "logs" / "worker.log"
    (home / "logs" / "web.log").write_text("short\n")
    with log.open("ab", buffering=0) as writer:
        for number in range(5):
            writer.write(f"{number}".encode() * 101)
            assert rotate_logs(home / "logs") == [log]
        writer.write(b"goes on\n")
    assert log.read_text() == "goes on\n"
    kept = {path.name: path.read_text()[0] for path in (home / "logs").glob("worker.log.*")}
    assert kept == {"worker.log.1": "4", "worker.log.2": "3", "worker.log.3": "2"}


def test_a_full_disk_loses_no_log_and_stops_nothing_else(
    host: Host, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(housekeeping, "MAX_LOG_BYTES", 100)
    logs = home / "logs"
    for name in ("worker.log", "worker.log.1", "worker.log.2"):
        (logs / name).write_text(name * 20)

    def full(_: Path, target: Path) -> None:
        target.write_text("half of")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", full)
    before = {path.name: path.read_text() for path in logs.iterdir()}
    done = list(keep_house(host))
    assert {path.name: path.read_text() for path in logs.iterdir()} == before
    assert any("old is to be deleted" in line for line in done)
    assert not is_due(idle=True)


def test_it_is_due_once_a_day_when_nothing_is_measured(host: Host, settings: Settings) -> None:
    assert is_due(idle=True)
    assert not is_due(idle=False)
    list(keep_house(host))
    stamp = settings.RUN_DIR / "housekeeping"
    assert not is_due(idle=True)
    os.utime(stamp, (time.time() - DAY_S,) * 2)
    assert is_due(idle=True)
    assert not is_due(idle=False)
    os.utime(stamp, (time.time() - 7 * DAY_S,) * 2)
    assert is_due(idle=False)

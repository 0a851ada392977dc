"""Worker, dashboard and commands say when they are not of the database's version."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.models.functions import Now
from django.test import Client

from advisor.errors import VersionDiffers
from advisor.processes import database, versions
from advisor.processes.database import migrating_alone, prepare_database
from advisor.tests import factories, postgres
from advisor.worker import sweep
from benchmarks.jobs import versions as jobs_versions
from benchmarks.jobs.locks import host_lock
from benchmarks.jobs.versions import code_version, difference, tables_differ
from benchmarks.models import Host, Release

pytestmark = pytest.mark.django_db


@pytest.fixture
def applied(monkeypatch: pytest.MonkeyPatch, settings: Any) -> set[tuple[str, str]]:
    """What the database says was applied: all of this code's, until a test changes it."""
    # The other tests do without migrations: their tables are copied.
    settings.MIGRATION_MODULES = {}
    of_code = set(MigrationLoader(None).disk_migrations)
    rows = set(of_code)
    monkeypatch.setattr(jobs_versions, "_migrations", lambda: (of_code, rows))
    return rows


def released(version: str) -> None:
    Release.objects.update_or_create(pk=1, defaults={"version": version, "migrated_at": Now()})


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a checkout to somebody else")
def test_the_commit_of_a_checkout_that_belongs_to_somebody_else_is_known_and_nothing_written(
    tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "--quiet"], check=True)
    (tmp_path / "file").touch()
    subprocess.run([*git, "add", "file"], check=True)
    subprocess.run([*git, "commit", "--quiet", "--message=x"], check=True)
    for path in (tmp_path, *tmp_path.rglob("*")):
        os.chown(path, 65534, 65534)
    settings.BASE_DIR = tmp_path
    commit = jobs_versions.head_commit.__wrapped__()
    assert len(commit) == 12
    monkeypatch.setattr(jobs_versions, "head_commit", lambda: commit)
    assert jobs_versions.code_commit.__wrapped__() == commit
    assert (tmp_path / ".git" / "index").stat().st_uid == 65534


@pytest.mark.usefixtures("applied")
def test_versions_agree_by_number_and_where_both_know_it_by_commit() -> None:
    Release.objects.all().delete()
    assert difference() == ""
    released(code_version())
    assert difference() == ""
    number = code_version().split()[0]
    released(number)  # an image without git
    assert difference() == ""
    for other in (f"{number} 000000000000", "0.0.1"):
        released(other)
        assert f"was migrated by version {other}, this code is" in difference()
        assert tables_differ() == ""


def test_a_database_that_is_older_or_newer_than_the_code_is_told_apart(
    applied: set[tuple[str, str]],
) -> None:
    applied |= {("an_app_that_was_removed", "9999_what")}
    assert tables_differ() == ""
    newer = ("tuning", "9999_from_the_future")
    applied.add(newer)
    assert "newer version (such as tuning.9999_from_the_future): update" in tables_differ()
    applied -= {newer, ("benchmarks", "0001_initial")}
    assert "lacks migrations of this code" in tables_differ()
    assert "benchmarks.0001_initial): run `.venv/bin/python manage.py migrate`" in difference()


@pytest.mark.usefixtures("applied")
def test_a_worker_of_another_version_takes_no_work_until_they_agree(settings: Any) -> None:
    settings.HOST_NAME = "db-1"
    host = Host.objects.create(name="db-1")
    for version, idle in ((code_version(), False), ("0.0.1", True), (code_version(), False)):
        released(version)
        sweep()
        host.refresh_from_db()
        assert bool(host.idle_reason) == idle
        assert host.code_version == code_version()
        assert host.worker != ""  # it says that it lives either way
    assert not Host.objects.filter(idle_reason__contains="0.0.1").exists()


@pytest.fixture
def found() -> Iterator[None]:
    yield
    versions._FOUND.update(stops="", warns="")


def test_a_dashboard_of_another_version_says_so(
    found: None, applied: set[tuple[str, str]], admin_client: Client
) -> None:
    factories.make_host()
    released("0.0.1")
    versions.look()
    page = admin_client.get("/").content.decode()
    assert "Versions differ: the database was migrated by version 0.0.1" in page
    applied.add(("benchmarks", "9999_later"))
    versions.look()
    for path in ("/", "/api/v1/studies/"):
        answer = admin_client.get(path)
        assert answer.status_code == 503
        assert "benchmarks.9999_later" in answer.content.decode()
    assert answer.json()["error"]["code"] == "version_differs"
    applied.remove(("benchmarks", "9999_later"))
    released(code_version())
    versions.look()
    assert "Versions differ" not in admin_client.get("/").content.decode()


@pytest.mark.usefixtures("applied")
def test_commands_migrate_a_database_of_this_home_and_never_a_shared_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[str] = []
    monkeypatch.setattr(database, "call_command", lambda name, **_: calls.append(name))
    Release.objects.all().delete()
    prepare_database()
    assert calls == []
    prepare_database(runs_a_worker=True)
    assert calls == ["migrate"]
    released("0.0.1")
    prepare_database(runs_a_worker=True)
    assert calls == ["migrate", "migrate"]
    released(code_version())
    prepare_database(runs_a_worker=True)
    assert calls == ["migrate", "migrate"]
    released("0.0.1")
    monkeypatch.setattr(connection, "vendor", "postgresql")
    for runs_a_worker in (False, True):
        with pytest.raises(VersionDiffers, match=r"0\.0\.1"):
            prepare_database(runs_a_worker=runs_a_worker)
    assert calls == ["migrate", "migrate"]


def test_migrate_says_which_version_did_it() -> None:
    released("0.0.1")
    call_command("migrate", verbosity=0)
    assert Release.objects.get().version == code_version()


def test_one_process_migrates_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connection.settings_dict, "NAME", str(tmp_path / "db.sqlite3"))
    order: list[str] = []

    def second() -> None:
        with host_lock(Path(f"{tmp_path}/db.sqlite3.migrating")):
            order.append("second")

    with migrating_alone():
        thread = threading.Thread(target=second)
        thread.start()
        thread.join(0.3)
        order.append("first")
    thread.join(10)
    assert order == ["first", "second"]


@pytest.mark.long
@pytest.mark.timeout(400)
def test_of_two_processes_that_migrate_postgresql_at_once_one_does_it(
    request: pytest.FixtureRequest, shared_tmp: Path
) -> None:
    if postgres.postgres_programs() is None:
        pytest.skip("PostgreSQL is not installed")
    request.getfixturevalue("migrated_postgres")  # where they all ended well
    said = postgres.what_migrating_said(shared_tmp / "postgres")
    assert sorted("Applying benchmarks.0001_initial" in one for one in said) == [False, True]
    assert sum("No migrations to apply." in one for one in said) == 1

"""A backup is a whole copy of the database at one moment, and of the files of the home."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import threading
from contextlib import closing
from pathlib import Path

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection, connections, transaction
from psycopg.conninfo import make_conninfo
from pytest_django import Settings

from advisor.tests import factories, harness
from advisor.tests.bad_input.on_postgresql import refuse_all
from advisor.upkeep import backup
from advisor.upkeep.backup import BackupFailed, back_up
from benchmarks.errors import DeviceUnusable
from tuning.models import Study

pytestmark = pytest.mark.long

#: Of each study that is made: the baseline runs twice.
_SLOTS = 3


def counts() -> dict[str, int]:
    """The rows of each table."""
    models = apps.get_models(include_auto_created=True)
    return {model._meta.db_table: model._default_manager.count() for model in models}


def live_beside_a_writer(folder: Path) -> None:
    """Back up while another thread writes; every study of the copy has all its slots."""
    over = threading.Event()

    def write() -> None:
        while not over.is_set():
            with transaction.atomic():
                factories.make_study(names=factories.NAMES[:2], blocks=1)
        connections.close_all()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        while not Study.objects.exists():
            over.wait(0.05)
        call_command("backup", str(folder / "backup"))
    finally:
        over.set()
        writer.join()


def back_up_and_restore_postgresql(folder: Path) -> None:
    """pg_dump makes the copy; pg_restore makes a database of it with the same rows."""
    live_beside_a_writer(folder)
    dump = folder / "backup" / "database.dump"
    with connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE restored")
    given = connection.get_connection_params()
    where = {name: given[name] for name in ("host", "port", "user")}
    into = make_conninfo(**where, dbname="restored")
    words = ["pg_restore", "--no-owner", "--exit-on-error", f"--dbname={into}", str(dump)]
    subprocess.run(words, check=True)
    connection.close()
    connection.settings_dict["NAME"] = "restored"
    connection.check_constraints()
    check_whole(counts())


def check_whole(found: dict[str, int]) -> None:
    studies = found["tuning_study"]
    assert studies > 0
    assert found["tuning_slot"] == _SLOTS * studies


def test_a_backup_beside_a_writer_is_the_database_at_one_moment(
    migrated_database: Path, tmp_path: Path
) -> None:
    database = tmp_path / "home" / "private" / "db.sqlite3"
    database.parent.mkdir(mode=0o700, parents=True)
    shutil.copy(migrated_database, database)
    harness.in_a_home(tmp_path, live_beside_a_writer)
    with closing(sqlite3.connect(tmp_path / "backup" / "db.sqlite3")) as copy:
        assert copy.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert copy.execute("PRAGMA foreign_key_check").fetchall() == []
        check_whole(
            {
                table: copy.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0]
                for table in ("tuning_study", "tuning_slot")
            }
        )


@pytest.mark.django_db(transaction=True)
def test_it_has_the_files_of_the_home_and_only_its_owner_reads_it(
    tmp_path: Path, settings: Settings
) -> None:
    settings.HOME, settings.PRIVATE_DIR = tmp_path, tmp_path / "private"
    kept = tmp_path / "recommended" / "study-1" / "my.cnf"
    for path, text in ((kept, "[mysqld]\n"), (settings.PRIVATE_DIR / "secret-key", "the key")):
        path.parent.mkdir(parents=True)
        path.write_text(text)
    folder = tmp_path / "backup"
    back_up(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert files == {"db.sqlite3", "secret-key", "recommended/study-1/my.cnf"}
    with pytest.raises(BackupFailed, match="exists: name another folder"):
        back_up(folder)


@pytest.mark.django_db(transaction=True)
def test_what_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(backup, "_size", lambda: 1 << 60)
        with pytest.raises(DeviceUnusable):
            back_up(tmp_path / "backup")
    monkeypatch.setattr(connection, "vendor", "postgresql")
    monkeypatch.setattr(backup, "_size", lambda: 0)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BackupFailed) as refused:
        back_up(tmp_path / "backup")
    assert refused.value.code == "no_pg_dump"
    assert list(tmp_path.iterdir()) == []


def test_on_postgresql_all_comes_back_and_what_is_bad_is_refused(
    postgres_url: str, tmp_path: Path
) -> None:
    """All in one process, because its start takes seconds."""
    functions = (back_up_and_restore_postgresql, refuse_all)
    harness.in_a_home(tmp_path, *functions, DATABASE_URL=postgres_url)

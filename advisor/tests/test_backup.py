"""Backup and restore, on SQLite; `test_on_postgresql.py` has them done there."""

from __future__ import annotations

import json
import secrets
import shutil
import sqlite3
import threading
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from django.apps import apps
from django.conf import settings
from django.core import serializers
from django.core.management import call_command
from django.db import connection, connections, transaction
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Count, Q
from django.db.models.functions import Now
from pytest_django import Settings

from advisor.tests import factories, harness
from advisor.upkeep.archive import BackupFailed
from advisor.upkeep.backup import _columns, back_up, restore
from advisor.upkeep.sqlite_copy import copy_sqlite
from benchmarks.errors import DeviceUnusable
from benchmarks.models import Config, Host, Release, RunState
from tuning.models import Study, StudyState


def everything() -> str:
    """All rows of all tables, as text."""
    models = [model for model in apps.get_models(include_auto_created=True) if model != Release]
    rows = {
        model._meta.label: serializers.serialize("json", model._default_manager.order_by("pk"))
        for model in models
    }
    return json.dumps(rows, sort_keys=True)


def live_through(folder: Path) -> None:
    """A study is measured, backed up, lost and restored. Needs an empty database."""
    study = factories.raced_study(most=6, log_tail="tab\there, \\backslash, new\nline, é")
    key = settings.PRIVATE_DIR / "secret-key"
    key.write_text("the key")
    kept = settings.HOME / "recommended" / "study-1" / "my.cnf"
    kept.parent.mkdir(parents=True)
    kept.write_text("[mysqld]\n")
    before, file = everything(), folder / "backup.zip"
    back_up(file)
    assert file.stat().st_mode & 0o777 == 0o600
    with pytest.raises(BackupFailed, match="exists: name another file"):
        back_up(file)

    Study.objects.filter(pk=study.pk).update(state=StudyState.FAILED, name="changed since")
    Config.objects.create(hash="made since", knobs={})
    with pytest.raises(BackupFailed, match="--force replaces all of it") as refused:
        restore(file, force=False)
    assert refused.value.code == "not_empty"
    Host.objects.update(worker_seen_at=Now(), worker="db:1:0")
    with pytest.raises(BackupFailed, match="is running: stop it") as refused:
        restore(file, force=True)
    assert refused.value.code == "in_use"
    Host.objects.update(worker="")  # it was stopped a moment ago
    assert everything() != before

    kept.unlink()
    key.write_text("another key")
    assert restore(file, force=True) == 1
    assert everything() == before
    assert kept.read_text() == "[mysqld]\n"
    # A new home has made a key of its own before anything is restored into it.
    assert key.read_text() == "the key"
    assert key.stat().st_mode & 0o777 == 0o600
    # New rows get numbers of their own.
    newest = max(Config.objects.values_list("pk", flat=True))
    assert Config.objects.create(hash="made afterwards", knobs={}).pk > newest

    changes: list[tuple[str, dict[str, object], str]] = [
        ("newer", {"migrations": [["tuning", "9999_of_the_future"]]}, "version_differs"),
        ("other", {"vendor": "oracle"}, "other_database"),
        ("format", {"format": 2}, "version_differs"),
        ("strange", {"colour": "blue"}, "damaged"),
    ]
    for name, change, code in changes:
        changed = rewritten(file, folder / name, change)
        with pytest.raises(BackupFailed) as refused:
            restore(changed, force=True)
        assert (name, refused.value.code) == (name, code)
    for name, strange in strange_files(file, folder):
        with pytest.raises(BackupFailed) as refused:
            restore(strange, force=True)
        assert (name, refused.value.code) == (name, "damaged")
    half = folder / "half"
    half.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    for broken, code in ((half, "damaged"), (folder / "none", "not_found")):
        with pytest.raises(BackupFailed) as refused:
            restore(broken, force=True)
        assert refused.value.code == code
    assert Config.objects.filter(hash="made afterwards").exists()
    # What was refused has left nothing, also of what no transaction takes back.
    assert factories.make_study(name="made at last").pk > study.pk
    assert sorted(path.name for path in folder.iterdir() if path.name.startswith(".")) == []


def strange_files(file: Path, folder: Path) -> Iterator[tuple[str, Path]]:
    """Backups that are zip files with a good manifest, and yet none."""
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
        first = next(one for one in archive.infolist() if one.filename.startswith("database/"))
    data = bytearray(file.read_bytes())
    for at in range(first.header_offset + 80, first.header_offset + 120):
        data[at] ^= 0xFF
    (folder / "turned").write_bytes(data)
    yield "bits that were turned", folder / "turned"
    strange = {"no database": None, "not a database": b"rows"}
    if "database/tables/tuning_study" in parts:
        lacking = folder / "without its studies"
        yield lacking.name, with_parts(file, lacking, {"database/tables/tuning_study": b""})
    else:
        listed = json.loads(parts["manifest.json"])["migrations"]
        strange["another database"] = foreign(folder / "foreign", migrations=[])
        strange["a list without tables"] = foreign(folder / "listed", migrations=listed)
    for name, content in strange.items():
        yield name, with_parts(file, folder / name, {first.filename: content})


def with_parts(source: Path, target: Path, parts: Mapping[str, bytes | None]) -> Path:
    """The same backup with these in place of its own; None: without it."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", 8) as new:
        for name in dict.fromkeys([*old.namelist(), *parts]):
            data = parts[name] if name in parts else old.read(name)
            if data is not None:
                new.writestr(name, data)
    return target


def foreign(path: Path, migrations: list[list[str]]) -> bytes:
    """A database with this list of migrations and nothing else."""
    with closing(sqlite3.connect(path)) as made, made:
        made.execute("CREATE TABLE django_migrations (app TEXT, name TEXT)")
        made.executemany("INSERT INTO django_migrations VALUES (?, ?)", migrations)
    return path.read_bytes()


def rewritten(source: Path, target: Path, change: dict[str, object]) -> Path:
    """The same backup with another manifest."""
    with zipfile.ZipFile(source) as old:
        manifest = json.loads(old.read("manifest.json")) | change
    return with_parts(source, target, {"manifest.json": json.dumps(manifest).encode()})


@pytest.fixture
def listed(transactional_db: None) -> Iterator[None]:
    """A list of migrations, which tables made without them lack."""
    recorder, made_up = MigrationRecorder(connection), ("tests", "0001_initial")
    is_empty = not recorder.applied_migrations()
    if is_empty:
        recorder.record_applied(*made_up)
    yield
    if is_empty:
        recorder.record_unapplied(*made_up)


@pytest.mark.long
@pytest.mark.usefixtures("listed")
def test_everything_comes_back_on_sqlite(tmp_path: Path, settings: Settings) -> None:
    settings.HOME, settings.PRIVATE_DIR = tmp_path / "home", tmp_path / "home" / "private"
    settings.PRIVATE_DIR.mkdir(parents=True)
    live_through(tmp_path)
    assert list(settings.PRIVATE_DIR.iterdir()) == [settings.PRIVATE_DIR / "secret-key"]


@pytest.mark.usefixtures("listed")
def test_a_foreign_backup_writes_nothing_else_into_the_home(
    tmp_path: Path, settings: Settings
) -> None:
    settings.HOME, settings.PRIVATE_DIR = tmp_path / "home", tmp_path / "home" / "private"
    settings.PRIVATE_DIR.mkdir(parents=True)
    file = tmp_path / "backup.zip"
    back_up(file)
    with zipfile.ZipFile(file, "a") as archive:
        for name in ("private/first-password", "servers/mine/mysqld", "recommended/../run/x"):
            archive.writestr(f"home/{name}", "theirs")
        archive.writestr("home/recommended/../../outside", "theirs")
        archive.writestr("home/recommended/study-1/my.cnf", "kept")
    assert restore(file, force=True) == 1
    found = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert found == {"backup.zip", "home/recommended/study-1/my.cnf"}


@pytest.mark.usefixtures("listed")
def test_a_backup_that_would_fill_memory_or_disk_is_not_unpacked(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.HOME, settings.PRIVATE_DIR = tmp_path / "home", tmp_path / "home" / "private"
    settings.PRIVATE_DIR.mkdir(parents=True)
    file = tmp_path / "backup.zip"
    back_up(file)
    database = settings.PRIVATE_DIR / "with-code"
    with zipfile.ZipFile(file) as archive:
        database.write_bytes(archive.read("database/db.sqlite3"))
    with closing(sqlite3.connect(database)) as made, made:
        made.execute("CREATE TRIGGER theirs AFTER INSERT ON auth_user BEGIN SELECT 1; END")
    parts = {
        "home/recommended/large": b"\0" * (16 << 20) + b"\0",
        "home/private/secret-key": b"\0" * (16 << 20) + b"\0",
        f"home/recommended/{'x' * 300}": b"",
        "database/db.sqlite3": database.read_bytes(),
    }
    for name, content in parts.items():
        strange = with_parts(file, tmp_path / "strange.zip", {name: content})
        with pytest.raises(BackupFailed, match=r"home/|name|trigger, 'theirs'") as refused:
            restore(strange, force=True)
        assert refused.value.code == "damaged"
    monkeypatch.setenv("ADVISOR_DISK_RESERVE", "1000000T")  # also of an empty disk
    with pytest.raises(DeviceUnusable):
        restore(file, force=True)


@pytest.mark.usefixtures("listed")
def test_rows_that_name_what_is_not_there_are_refused_before_anything_is_replaced(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.HOME, settings.PRIVATE_DIR = tmp_path / "home", tmp_path / "home" / "private"
    settings.PRIVATE_DIR.mkdir(parents=True)
    factories.measured_study(blocks=1)
    file = tmp_path / "backup.zip"
    back_up(file)
    with zipfile.ZipFile(file) as archive:
        whole = archive.read("database/db.sqlite3")
    Config.objects.create(hash="made since", knobs={})
    before = everything()
    forgetting = "UPDATE sqlite_master SET sql = replace(sql, {}) WHERE name = 'tuning_slot'"
    cases = {
        "DELETE FROM benchmarks_host": r"names a row of 'benchmarks_host' that is not there, and",
        # A table without its keys would not say so, now or ever.
        forgetting.format("'REFERENCES \"tuning_study\" (\"id\")', ''"): (
            r"lacks the foreign key from tuning_slot\.study_id to tuning_study"
        ),
    }
    for change, says in cases.items():
        changed = changed_database(tmp_path / "changed", whole, change)
        parts = {"database/db.sqlite3": changed.read_bytes()}
        tampered = with_parts(file, tmp_path / "tampered.zip", parts)
        with pytest.raises(BackupFailed, match=says) as refused:
            restore(tampered, force=True)
        assert refused.value.code == "damaged"
        assert everything() == before

        def copy_it(_: object, target: Path, of: Path = changed) -> None:
            target.write_bytes(of.read_bytes())

        # Whose own database has come to this hears of it before the backup is needed.
        with monkeypatch.context() as patched:
            patched.setattr("advisor.upkeep.backup.copy_sqlite", copy_it)
            with pytest.raises(BackupFailed, match=says) as refused:
                back_up(tmp_path / "another.zip")
        assert refused.value.code == "not_written"
        assert not (tmp_path / "another.zip").exists()


def changed_database(path: Path, content: bytes, statement: str) -> Path:
    """A database of SQLite after a statement that nothing keeps it from."""
    path.write_bytes(content)
    with closing(sqlite3.connect(path)) as made, made:
        made.execute("PRAGMA writable_schema = ON")
        assert made.execute(statement).rowcount
    return path


@pytest.mark.usefixtures("listed")
def test_a_database_that_refuses_is_no_bug(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.HOME = settings.PRIVATE_DIR = tmp_path / "home"
    settings.PRIVATE_DIR.mkdir()

    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    back_up(tmp_path / "whole.zip")
    monkeypatch.setattr("advisor.upkeep.backup.copy_sqlite", full)
    monkeypatch.setattr("advisor.upkeep.backup.replace_sqlite", full)
    for code, work in (
        ("not_written", lambda: back_up(tmp_path / "backup.zip")),
        ("not_restored", lambda: restore(tmp_path / "whole.zip", force=True)),
    ):
        with pytest.raises(BackupFailed, match="disk is full") as refused:
            work()
        assert refused.value.code == code
    assert not (tmp_path / "backup.zip").exists()


@pytest.mark.long
def test_what_is_written_beside_a_backup_comes_back_whole_or_not_on_sqlite(
    migrated_database: Path, tmp_path: Path
) -> None:
    database = tmp_path / "home" / "private" / "db.sqlite3"
    database.parent.mkdir(mode=0o700, parents=True)
    shutil.copy(migrated_database, database)
    harness.in_a_home(tmp_path, live_beside_a_writer)


#: Transactions for each study: it is made, then each of its runs ends.
_STEPS = 4


def live_beside_a_writer(folder: Path) -> None:
    """Studies are made and measured while a backup is made; restored is the database as it was
    between two transactions. PostgreSQL's tables are read with at least one between each two.
    """
    over, written = threading.Event(), Written()
    thread = threading.Thread(target=written.go_on, args=[over])
    thread.start()
    try:
        for number in range(100):
            file, before = folder / f"beside-{number}.zip", written.transactions
            with patch("advisor.upkeep.backup._columns", written.one_more_before(_columns)):
                call_command("backup", str(file))
            if (after := written.transactions) >= before + 2 and before:
                break
            file.unlink()
    finally:
        over.set()
        thread.join()
    assert before
    assert after >= before + 2, "nothing was written beside it"
    call_command("restore", str(file), "--force")
    connection.check_constraints()
    found = list(
        Study.objects.filter(name__startswith="beside ")
        .order_by("pk")
        .annotate(
            measured=Count("slots", filter=Q(slots__run__state=RunState.OK), distinct=True),
            seconds=Count("slots__run__samples", distinct=True),
            queued=Count("slots", filter=Q(slots__run__state=RunState.QUEUED), distinct=True),
            tried=Count("candidates", distinct=True),
        )
        .values_list("name", "measured", "seconds", "queued", "tried")
    )
    transactions = sum(1 + measured for _, measured, *_ in found)
    assert before <= transactions <= after + 1  # the last may be seen before it is counted
    assert found == written.after(transactions)


class Written:
    """What one writer has committed: study after study, and each of its runs with its seconds."""

    def __init__(self) -> None:
        self.transactions = 0
        self._seconds = 0

    def go_on(self, over: threading.Event) -> None:
        """Until it is over, in a thread with a connection of its own."""
        try:
            while not over.is_set():
                self._write_one()
                self.transactions += 1
        finally:
            connections.close_all()

    def one_more_before(self, read: Callable[..., str]) -> Callable[..., str]:
        """The same function, which waits each time until something more is committed."""

        def wait(*given: Any) -> str:
            before, until = self.transactions, time.monotonic() + 60
            while self.transactions == before and time.monotonic() < until:
                time.sleep(0.002)
            return read(*given)

        return wait

    def _write_one(self) -> None:
        number, step = divmod(self.transactions, _STEPS)
        with transaction.atomic():
            if not step:
                factories.make_study(name=f"beside {number}", names=factories.NAMES[:2], blocks=1)
                return
            study = Study.objects.get(name=f"beside {number}")
            slots = study.slots.filter(run__state=RunState.QUEUED).order_by("order")
            run = factories.finish(slots[0].run, samples=True)
            self._seconds = run.workload.warmup_s + run.workload.measure_s

    def after(self, transactions: int) -> list[tuple[str, int, int, int, int]]:
        """All studies then: name, runs measured, their seconds, runs queued, candidates."""
        whole, more = divmod(transactions, _STEPS)
        measured = [_STEPS - 1] * whole + ([more - 1] if more else [])
        return [
            (f"beside {number}", done, done * self._seconds, _STEPS - 1 - done, 2)
            for number, done in enumerate(measured)
        ]


def test_a_copy_is_the_database_at_one_moment_while_another_process_writes(tmp_path: Path) -> None:
    path = tmp_path / "db"
    with closing(sqlite3.connect(path)) as first:
        first.execute("PRAGMA journal_mode=WAL")
        first.execute("CREATE TABLE one (n INTEGER)")
        first.execute("CREATE TABLE other (n INTEGER, filler TEXT)")
        first.commit()
    over, copied_at = threading.Event(), []

    def write() -> None:
        with closing(sqlite3.connect(path, timeout=30)) as writer:
            number = 0
            while not over.is_set():
                number += 1
                writer.execute(
                    "INSERT INTO other VALUES (?, ?)", (number, secrets.token_hex(2000))
                )
                writer.execute("INSERT INTO one VALUES (?)", (number,))
                writer.commit()
                copied_at.append(number)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        seen = set()
        for number in range(5):
            while len(copied_at) < 20 * number:
                time.sleep(0.01)
            with closing(sqlite3.connect(path)) as source:
                copy_sqlite(source, tmp_path / f"copy-{number}")
            with closing(sqlite3.connect(tmp_path / f"copy-{number}")) as copy:
                counts = [
                    copy.execute(f"SELECT COUNT(*), MAX(n) FROM {table}").fetchone()
                    for table in ("one", "other")
                ]
            assert counts[0] == counts[1]
            seen.add(counts[0][0])
    finally:
        over.set()
        thread.join()
    assert len(seen) > 1

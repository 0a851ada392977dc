"""Two processes and one database: real processes on a file of SQLite, and on PostgreSQL too where
ADVISOR_TEST_POSTGRES names a server on which databases may be made (postgres://user@host:port/).
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from advisor.tests.harness import ROOT, SET_UP, without_services

pytestmark = pytest.mark.slow

POSTGRES = os.environ.get("ADVISOR_TEST_POSTGRES", "")

# What every script begins with: the project, no Redis, and `at_once`, which forks a process for
# each function, that wait for each other's words.
PRELUDE = (
    SET_UP
    + """
import os, sys, time, traceback
from pathlib import Path
from typing import Any
from celery import current_app
from django.db import connections, transaction
from django.db.models.functions import Now
from advisor.tests import factories
from benchmarks.errors import RunFailed
from benchmarks.jobs import locks, runs
from benchmarks.models import Host, Run, RunState
from benchmarks.outcomes import Outcome
from tuning.models import Study, StudyState
from tuning.studies import scheduler
from tuning.tests.test_study_lifecycle import measurement
from tuning.tests.work import execute_run

current_app.send_task = lambda *_, **__: None
runs.plan_for = lambda *_: runs.Plan(*[None] * 7)
HOME = Path(os.environ["ADVISOR_HOME"])

def say(word):
    (HOME / word).touch()

def heard(word, seconds=30):
    end = time.monotonic() + seconds
    while not (HOME / word).exists() and time.monotonic() < end:
        time.sleep(0.01)
    return (HOME / word).exists()

def at_once(*functions):
    connections.close_all()
    children = [fork(function) for function in functions]
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]

def fork(function):
    child = os.fork()
    if not child:
        try:
            os._exit(int(function() or 0))
        except BaseException:
            traceback.print_exc()
            os._exit(99)
    return child
"""
)


@dataclass(frozen=True)
class Installation:
    """A home and its database."""

    home: Path
    database: str

    def run(self, code: str) -> None:
        """Run a script; fails with all that was written if it fails."""
        ours = {
            "ADVISOR_HOME": str(self.home),
            "ADVISOR_HOST_NAME": "db-host-1",
            "ADVISOR_MEASURING_LOCK": str(self.home / "measuring.lock"),
            "DATABASE_URL": self.database,
            "DJANGO_SETTINGS_MODULE": "advisor.settings",
        }
        done = subprocess.run(
            [sys.executable, "-c", PRELUDE + textwrap.dedent(code)],
            cwd=ROOT,
            env=without_services() | ours,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr


MIGRATE = "from django.core.management import call_command; call_command('migrate', verbosity=0)"


@pytest.fixture(scope="module", params=["sqlite", *(["postgresql"] if POSTGRES else [])])
def migrated(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    migrated_database: Path,
) -> Iterator[str]:
    """A file, or the name of a database on the server, to be copied."""
    if request.param == "sqlite":
        yield str(migrated_database)
        return
    name = f"advisor_test_{secrets.token_hex(4)}"
    _on_postgres(f"create database {name}")
    Installation(tmp_path_factory.mktemp("home"), f"{POSTGRES}{name}").run(MIGRATE)
    yield name
    _on_postgres(f"drop database {name}")


@pytest.fixture
def installation(migrated: str, tmp_path: Path) -> Iterator[Installation]:
    """A home with an empty database of its own."""
    if "/" in migrated:
        shutil.copy(migrated, tmp_path / "db.sqlite3")
        yield Installation(tmp_path, f"sqlite:///{tmp_path / 'db.sqlite3'}")
        return
    _on_postgres(f"create database {migrated}_copy template {migrated}")
    yield Installation(tmp_path, f"{POSTGRES}{migrated}_copy")
    _on_postgres(f"drop database {migrated}_copy with (force)")


def _on_postgres(statement: str) -> None:
    with psycopg.connect(f"{POSTGRES}postgres", autocommit=True) as server:
        server.execute(statement.encode())


def test_two_that_decide_at_once_do_not_end_a_study_early(installation: Installation) -> None:
    """One sees that nothing is queued, the other queues a block, the first continues."""
    installation.run("""
        study = factories.make_study(
            names=factories.NAMES[:2], blocks=1, state=StudyState.RUNNING
        )
        for slot in study.slots.select_related("run"):
            factories.finish(slot.run)
        Study.objects.update(blocks=2)
        real = scheduler.continue_study

        def slowly(study, ahead):
            say("first-decides")
            heard("second-is-done", 3)
            return real(study, ahead)

        def first():
            scheduler.continue_study = slowly
            scheduler.advance_host(study.host_id)

        def second():
            assert heard("first-decides")
            scheduler.advance_host(study.host_id)
            say("second-is-done")

        assert at_once(first, second) == [0, 0]
        states = list(Run.objects.order_by("pk").values_list("state", flat=True))
        study.refresh_from_db()
        assert (study.state, states) == ("running", ["ok"] * 3 + ["queued"] * 3), (study, states)
    """)


def test_a_heartbeat_that_had_to_wait_says_when_it_was_stored(installation: Installation) -> None:
    """The row is held over the moment of a beat, which then comes late and still counts."""
    installation.run("""
        run = factories.make_study(names=factories.NAMES[:2], blocks=1).slots.first().run

        def measure(plan, *, should_stop, **_):
            with transaction.atomic():
                before = Run.objects.select_for_update().get(pk=run.pk).heartbeat_at
                Host.objects.update(worker_seen_at=None)  # whoever writes on SQLite waits
                time.sleep(3)
            freed = Host.objects.values_list(Now(), flat=True).get()
            end = time.monotonic() + 30
            run.refresh_from_db()
            while run.heartbeat_at == before and time.monotonic() < end:
                time.sleep(0.05)
                run.refresh_from_db()
            late = (run.heartbeat_at - freed).total_seconds()
            assert late > -0.3, late
            assert not should_stop()
            raise RunFailed(Outcome.ZERO_WORK, "nothing done")

        execute_run(run.pk, measure=measure)
        run.refresh_from_db()
        assert run.state == RunState.ZERO_WORK, run.reason
    """)


def test_two_messages_about_one_run_measure_it_once(installation: Installation) -> None:
    installation.run("""
        run = factories.make_study(names=factories.NAMES[:2], blocks=1).slots.first().run

        def measure(plan, **_):
            time.sleep(0.5)
            raise RunFailed(Outcome.ZERO_WORK, "nothing done")

        def worker():
            return execute_run(run.pk, measure=measure)

        assert sorted(at_once(worker, worker)) == [False, True]
    """)


def test_a_worker_that_finds_the_host_taken_does_not_wait_for_it(
    installation: Installation,
) -> None:
    """A worker that waited would not notice that it is to end."""
    installation.run("""
        run = factories.make_study(names=factories.NAMES[:2], blocks=1).slots.first().run

        def other():
            with locks.host_lock(HOME / "run" / "benchmark.lock"):
                say("taken")
                heard("enough")

        def worker():
            assert heard("taken")
            began = time.monotonic()
            assert not execute_run(run.pk)
            assert time.monotonic() - began < 10
            say("enough")

        assert at_once(other, worker) == [0, 0]
        run.refresh_from_db()
        assert run.state == RunState.QUEUED
    """)


def test_a_log_that_was_cut_off_loses_no_result(installation: Installation) -> None:
    """It may hold NUL, which PostgreSQL takes in no text and in no JSON."""
    installation.run("""
        run = factories.make_study(names=factories.NAMES[:2], blocks=1).slots.first().run

        def measure(plan, **_):
            found = measurement()
            found.variables["init_\\0connect"] = "set\\0 names"
            object.__setattr__(found, "log_tail", "mysqld\\0\\0 got signal 11")
            return found

        execute_run(run.pk, measure=measure)
        run.refresh_from_db()
        assert (run.state, run.log_tail) == ("ok", "mysqld got signal 11"), run.reason
        assert run.variables["init_connect"] == "set names"
    """)

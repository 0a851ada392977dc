"""Two processes and one database: real processes on a file of SQLite, and on PostgreSQL too where
ADVISOR_TEST_POSTGRES names a server on which databases may be made (postgres://user@host:port/).
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from advisor.tests.harness import ROOT, SET_UP

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
from benchmarks.jobs import claimant, runs
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


# And with what it ends: each line of its input is a script for a process of its own. To import
# all that takes as long as most of the scripts.
SERVE = """
import json
for line in sys.stdin:
    def script(code=json.loads(line)):
        exec(code, globals())
    child = fork(script)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@dataclass(frozen=True)
class Installation:
    """A home and its database, migrated, and the process that runs scripts on them."""

    home: Path
    database: str
    process: subprocess.Popen[str]

    def run(self, code: str) -> None:
        """Run a script; fails with all that was written if it fails."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(textwrap.dedent(code)) + "\n")
        self.process.stdin.flush()
        status = self.process.stdout.readline()
        assert status == "0\n", status + (self.home / "scripts.log").read_text()


@contextmanager
def serving(home: Path, database: str) -> Iterator[Installation]:
    """An installation whose process runs until the end of the block."""
    environment = {k: v for k, v in os.environ.items() if k != "REDIS_URL"} | {
        "ADVISOR_HOME": str(home),
        "ADVISOR_HOST_NAME": "db-host-1",
        "ADVISOR_MEASURING_LOCK": str(home / "measuring.lock"),
        "DATABASE_URL": database,
        "DJANGO_SETTINGS_MODULE": "advisor.settings",
    }
    with (
        (home / "scripts.log").open("w") as log,
        subprocess.Popen(
            [sys.executable, "-c", PRELUDE + SERVE],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        try:
            yield Installation(home, database, process)
        finally:
            process.kill()


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
    with serving(tmp_path_factory.mktemp("home"), f"{POSTGRES}{name}") as empty:
        empty.run(MIGRATE)
    yield name
    _on_postgres(f"drop database {name}")


@pytest.fixture(scope="module")
def served(migrated: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    home = tmp_path_factory.mktemp("home")
    is_file = "/" in migrated
    url = f"sqlite:///{home / 'db.sqlite3'}" if is_file else f"{POSTGRES}{migrated}_copy"
    with serving(home, url) as made:
        yield made


@pytest.fixture
def installation(migrated: str, served: Installation) -> Iterator[Installation]:
    """As after its start: its database has no rows, and nothing was said."""
    for path in served.home.iterdir():
        if path.is_file() and path.name != "scripts.log":
            path.unlink()
    if "/" in migrated:
        shutil.copy(migrated, served.home / "db.sqlite3")
        yield served
        return
    _on_postgres(f"create database {migrated}_copy template {migrated}")
    yield served
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
            with claimant.host_lock(HOME / "run" / "benchmark.lock"):
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
    """It may hold NUL, which PostgreSQL does not take as text."""
    installation.run("""
        run = factories.make_study(names=factories.NAMES[:2], blocks=1).slots.first().run

        def measure(plan, **_):
            found = measurement()
            found.variables["init_connect"] = "set\\0 names"
            object.__setattr__(found, "log_tail", "mysqld\\0\\0 got signal 11")
            return found

        execute_run(run.pk, measure=measure)
        run.refresh_from_db()
        assert (run.state, run.log_tail) == ("ok", "mysqld got signal 11"), run.reason
        assert run.variables["init_connect"] == "set names"
    """)

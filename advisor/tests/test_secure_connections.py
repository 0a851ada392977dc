"""Redis and PostgreSQL over TLS, and a host whose users may do what its work needs and no more.

The commands, rules and files of docs/how-to/connections.md set it up, on this machine's loopback.
"""

from __future__ import annotations

import os
import random
import re
import shlex
import shutil
import socket
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from django.apps import apps
from kombu import Connection
from kombu.exceptions import OperationalError

from advisor.env import broker
from advisor.tests import postgres
from advisor.tests.harness import ROOT, SET_UP, wait_for

PROGRAMS = ("openssl", "redis-server", "redis-cli", "setpriv")
MISSING = [name for name in PROGRAMS if shutil.which(name) is None]
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        os.geteuid() != 0, reason="PostgreSQL runs as another user, which takes root"
    ),
    pytest.mark.skipif(postgres.postgres_programs() is None, reason="PostgreSQL is not installed"),
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]
GUIDE = (ROOT / "docs" / "how-to" / "connections.md").read_text()
RIGHTS = (ROOT / "docs" / "reference" / "host-role.sql").read_text()


def of_guide(begins: str) -> str:
    """The code block of docs/how-to/connections.md that begins with these words."""
    blocks = re.findall(r"^```[a-z]*\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    (block,) = [block for block in blocks if block.startswith(begins)]
    return str(block)


@dataclass(frozen=True)
class Centre:
    """The dashboard's machine. `localhost` is the name in its certificate."""

    folder: Path
    redis_port: int
    postgres_port: int

    def redis(self, user: str, *, host: str = "localhost", query: str | None = None) -> str:
        query = f"?ssl_ca_certs={self.folder}/ca.pem" if query is None else query
        return f"rediss://{user}@{host}:{self.redis_port}/0{query}"

    def database(self, user: str, *, host: str = "localhost", query: str = "") -> str:
        query = query or f"sslmode=verify-full&sslrootcert={self.folder}/ca.pem"
        return f"postgres://{user}@{host}:{self.postgres_port}/advisor?{query}"

    def start(
        self, *arguments: str, host: str = "centre", redis: str = "", database: str = ""
    ) -> subprocess.Popen[str]:
        """A Python program of the project, by default with the credentials of the dashboard."""
        home = self.folder / f"home-{host}"
        environment = {
            **os.environ,
            "ADVISOR_HOME": str(home),
            "ADVISOR_HOST_NAME": host,
            "ADVISOR_MEASURING_LOCK": str(home / "measuring.lock"),
            "DJANGO_SETTINGS_MODULE": "advisor.settings",
            "DATABASE_URL": database or self.database("advisor:OWNER"),
            "REDIS_URL": redis or self.redis("centre:CENTRE_PASSWORD"),
        }
        return subprocess.Popen(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, code: str, **credentials: str) -> str:
        process = self.start("-c", textwrap.dedent(code), **credentials)
        out, _ = process.communicate(timeout=120)
        assert process.returncode == 0, out
        return out

    def as_host(self, code: str) -> str:
        return self.run(
            code,
            host="db1",
            redis=self.redis("host-db1:DB1_PASSWORD"),
            database=self.database("advisor_db1:DB1_PASSWORD"),
        )


PRELUDE = (
    SET_UP
    + """
from celery import current_app
from django.db import connection
from advisor.tests import factories
from benchmarks.jobs import runs
from benchmarks.models import Host, ListedPath, LoadJob, Run, RunState, Sample
from tuning.models import Study, StudyState
"""
)
_MAKE_HOSTS = """
from django.db.models.functions import Now
from advisor.tests.factories import make_device, make_host, make_study
from tuning.statistics.data import Metric
from tuning.statistics.gate import GatePlan, Limit
for name in ("db1", "db2", "host"):
    device = make_device(host=make_host(name), data_dir=f"/srv/{name}")
    names = factories.NAMES[:2]
    make_study(names=names, blocks=2, state=StudyState.RUNNING, device=device)
plan = GatePlan((Limit(Metric.THROUGHPUT, 0.05),), max_pairs=5)
device = Host.objects.get(name="db1").devices.get()
facts = {"names": factories.NAMES[:2], "blocks": 0, "state": StudyState.RUNNING}
gate = make_study(name="gate", gate=plan.as_json(), device=device, **facts)
Study.objects.filter(pk=gate.pk).update(blocks=plan.max_pairs, paused_at=Now())
theirs = Run.objects.filter(host__name="db2").first()
LoadJob.objects.create(
    run=theirs, host=Host.objects.get(name="db1"), address="10.0.0.12", state="cancelled"
)
race = factories.raced_study(most=6, device=make_device(host=make_host("db3")))
run = race.slots.filter(run__state="ok").first().run
Run.objects.filter(pk=run.pk).update(finished_at="2020-01-01T00:00Z")
Sample.objects.get_or_create(run=run, second=0)
"""


def _port() -> int:
    """A free port that the system gives to nobody by itself, before our server has it."""
    for port in random.sample(range(20_000, 30_000), 50):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port
    raise AssertionError("every port is in use")


@pytest.fixture(scope="module")
def centre(
    server_session_tmp: Path, migrated_postgres: Callable[[Path], None]
) -> Iterator[Centre]:
    folder = server_session_tmp / "centre"
    folder.mkdir(mode=0o755)
    commands = of_guide("openssl req -x509").replace("centre.example", "localhost")
    commands = commands.replace("-newkey rsa:3072", "-newkey ec -pkeyopt ec_paramgen_curve:P-256")
    # As Python verifies from 3.13 on.
    commands += "\nopenssl verify -x509_strict -CAfile ca.pem centre.pem"
    subprocess.run(["sh", "-ec", commands], cwd=folder, check=True, capture_output=True)
    made = Centre(folder, _port(), _port())
    redis = _start_redis(made)
    try:
        with _postgres(made, migrated_postgres):
            # As after docs/how-to/fleet.md, where the owner makes no roles; `postgres` does.
            _psql(made, "postgres", "ALTER ROLE advisor NOSUPERUSER")
            for command in of_guide("psql -c").splitlines():
                _psql(made, "postgres", shlex.split(command)[-1])
                if "NOLOGIN" in command:
                    _psql(made, "advisor", RIGHTS)
            _psql(made, "advisor", RIGHTS)  # as after an update
            made.run(PRELUDE + _MAKE_HOSTS)
            yield made
    finally:
        redis.terminate()
        redis.wait()


def _start_redis(made: Centre) -> subprocess.Popen[bytes]:
    rules = of_guide("port 0").replace("/etc/redis", str(made.folder))
    rules = rules.replace("6379", str(made.redis_port)).replace("10.0.0.1", "127.0.0.1")
    (made.folder / "redis.conf").write_text(f'{rules}dir {made.folder}\nsave ""\n')
    drives = of_guide("(~bench.load1")
    users = f"{of_guide('user default off').rstrip()} {drives}"
    (made.folder / "users.acl").write_text(f"{users}user test on >TEST resetkeys +@all ~* &*\n")
    return subprocess.Popen(
        ["redis-server", str(made.folder / "redis.conf")], stdout=subprocess.DEVNULL
    )


@contextmanager
def _postgres(made: Centre, copy: Callable[[Path], None]) -> Iterator[None]:
    folder = made.folder / "postgres"
    folder.mkdir()
    copy(folder / "data")
    for name in ("centre.key", "centre.pem"):
        shutil.copy(made.folder / name, folder / name)
    postgres.give_to_postgres(folder, folder / "centre.key", folder / "centre.pem")
    (folder / "centre.key").chmod(0o600)
    hosts = of_guide("hostssl").replace("10.0.0.0/24", "127.0.0.0/8")
    (folder / "data" / "pg_hba.conf").write_text(f"local all all trust\n{hosts}")
    rules = of_guide("ssl = on").replace("/etc/postgresql", str(folder))
    with (folder / "data" / "postgresql.conf").open("a") as file:
        file.write(rules)
    with postgres.server(folder / "data", folder, port=made.postgres_port):
        yield


def _psql(made: Centre, user: str, statements: str) -> None:
    with _owner(made, user) as connection:
        connection.execute(statements.encode())


def _owner(made: Centre, user: str = "advisor") -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(
        host=str(made.folder / "postgres"),
        port=made.postgres_port,
        user=user,
        dbname="advisor",
        autocommit=True,
    )


def test_who_is_not_the_centre_is_not_talked_to(centre: Centre) -> None:
    """An authority that is not known, a name that is not in the certificate, no TLS at all."""

    def redis(url: str) -> str:
        try:
            with Connection(broker(url), connect_timeout=2) as connection:
                connection.ensure_connection(max_retries=1, interval_start=0, timeout=2)
            return "yes"
        except OperationalError as error:
            return str(error)

    def postgres(url: str) -> str:
        try:
            psycopg.connect(url).close()
            return "yes"
        except psycopg.OperationalError as error:
            return str(error)

    other = centre.folder / "other.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-keyout", "/dev/null", "-out", str(other), "-subj", "/CN=other"),
        ],
        check=True,
        capture_output=True,
    )
    user, owner, name = "centre:CENTRE_PASSWORD", "advisor:OWNER", "127.0.0.1"
    assert redis(centre.redis(user)) == "yes"
    assert "verify failed" in redis(centre.redis(user, query=f"?ssl_ca_certs={other}"))
    assert "IP address mismatch" in redis(centre.redis(user, host=name))
    # With nothing but the scheme kombu would encrypt for whoever answers.
    assert "verify failed" in redis(centre.redis(user, query=""))
    assert postgres(centre.database(owner)) == "yes"
    unknown = f"sslmode=verify-full&sslrootcert={other}"
    assert "verify failed" in postgres(centre.database(owner, query=unknown))
    assert f'does not match host name "{name}"' in postgres(centre.database(owner, host=name))
    assert "no encryption" in postgres(centre.database(owner, query="sslmode=disable"))


def test_a_worker_measures_a_study_with_the_rights_of_its_host(centre: Centre) -> None:
    """It writes all its rows without a refusal; the server itself is made up."""
    worker = centre.start(
        *("manage.py", "worker"),
        host="db1",
        redis=centre.redis("host-db1:DB1_PASSWORD"),
        database=centre.database("advisor_db1:DB1_PASSWORD"),
    )
    try:
        with _owner(centre) as owner:
            query = (
                b"select worker <> '' and idle_reason = '' from benchmarks_host where name='db1'"
            )
            # It takes the first run and finds no server to measure with.
            failed = b"select count(*) from benchmarks_run where state = 'setup_failed'"
            wait_for(lambda: owner.execute(query).fetchone() == (True,), 60)
            wait_for(lambda: owner.execute(failed).fetchone() != (0,), 60)
    finally:
        worker.terminate()
        said, _ = worker.communicate(timeout=60)
    assert worker.returncode == 0, said
    assert "denied" not in said
    assert "permission" not in said.lower(), said
    done = centre.as_host(
        PRELUDE
        + textwrap.dedent("""
        from django.core.management import call_command
        from advisor.upkeep.housekeeping import keep_house
        from tuning.models import GateVerdict, StudyEvent
        from tuning.studies.scheduler import advance_host
        from tuning.tests.test_study_lifecycle import measurement
        from tuning.tests.work import execute_run

        runs.plan_for = lambda *_: runs.Plan(*[None] * 7)
        study = Study.objects.filter(host__name="db1").exclude(name="gate").get()
        Run.objects.filter(slot__study=study).update(state=RunState.QUEUED, claimed_by="")
        for _ in range(40):
            run = Run.objects.filter(slot__study=study, state=RunState.QUEUED).first()
            if run is None:
                break
            assert execute_run(run.pk, measure=lambda *_, **__: measurement())
            advance_host(study.host_id)
        study.refresh_from_db()
        print(study.state, study.reason)

        # Its housekeeping too ends what is its own, and only that.
        own = Run.objects.filter(slot__study=study, state=RunState.OK)
        own.update(finished_at="2020-01-01T00:00Z")
        Sample.objects.get_or_create(run=own.first(), second=0)
        done = list(keep_house(Host.objects.get(name="db1")))
        assert len(done) == 1 and "lost their series" in done[0], done
        assert not Sample.objects.filter(run__in=own).exists()
        assert Sample.objects.filter(run__host__name="db3").exists()

        # A gate of its host, which was paused so far.
        gate = Study.objects.get(name="gate")
        for action in ("resume", "pause", "resume"):
            call_command("study", action, gate.pk)
        kinds = StudyEvent.objects.filter(study=gate).values_list("kind", flat=True)
        assert list(kinds) == ["resumed", "paused", "resumed"], kinds
        for _ in range(10):
            advance_host(gate.host_id)
            run = Run.objects.filter(slot__study=gate, state=RunState.QUEUED).first()
            if run is None:
                break
            assert execute_run(run.pk, measure=lambda *_, **__: measurement())
        gate.refresh_from_db()
        assert gate.state == StudyState.FINISHED, (gate.state, gate.reason)
        assert GateVerdict.objects.get(study=gate).verdict == "pass"
    """)
    )
    assert "finished" in [line.split()[0] for line in done.splitlines() if line], done
    log = (centre.folder / "postgres" / "postgres.log").read_text()
    assert "permission denied" not in log
    assert "row-level security" not in log


def test_a_host_reads_no_accounts_and_changes_no_rows_of_others(centre: Centre) -> None:
    centre.as_host(
        PRELUDE
        + textwrap.dedent("""
        from django.contrib.auth.models import User
        from django.db import Error
        from kombu.exceptions import OperationalError
        from redis.exceptions import RedisError
        from advisor.celery import app
        from benchmarks.models import Device, Release
        from tuning.models import GateVerdict, StudyEvent

        def refused(what, errors=(Error, OperationalError, RedisError)):
            try:
                what()
            except errors as error:
                words = ("denied", "row-level", "permission", "Transaction discarded")
                assert any(word in str(error) for word in words), error
            else:
                raise AssertionError("not refused")

        other, _ = Host.objects.get(name="db2"), Host.objects.get(name="db1")
        refused(lambda: User.objects.count())
        refused(lambda: Release.objects.update(version="x"))
        refused(lambda: Host.objects.create(name="db3"))
        refused(lambda: ListedPath.objects.create(host=other, subject="server", path="/bin/sh"))
        theirs = Study.objects.get(host=other)
        refused(lambda: StudyEvent.objects.create(study=theirs, kind="paused"))
        refused(lambda: StudyEvent.objects.update(by="somebody else"))
        refused(lambda: StudyEvent.objects.all().delete())
        refused(lambda: GateVerdict.objects.create(study=theirs, verdict="pass"))
        refused(lambda: connection.cursor().execute("create table mine (id int)"))
        refused(lambda: connection.cursor().execute("set role advisor"))
        assert Run.objects.filter(host=other).update(state=RunState.CANCELLED) == 0
        assert Study.objects.filter(host=other).update(name="mine") == 0
        assert Host.objects.filter(pk=other.pk).update(inventory={}) == 0
        assert Study.objects.filter(host=other).exists()

        # Nor as the role that all hosts have, which is called like the login of a host "host".
        with connection.cursor() as cursor:
            cursor.execute("set role advisor_host")
            named = Host.objects.get(name="host")
            assert Study.objects.filter(host=named).update(name="mine") == 0
            assert Host.objects.filter(pk=named.pk).update(inventory={}) == 0
            cursor.execute("reset role")

        # Nor by taking another host's key in a table of its own, which hides the real one.
        with connection.cursor() as cursor:
            cursor.execute("create temporary table benchmarks_host (id bigint, name text)")
            cursor.execute("insert into benchmarks_host values (%s, 'db1')", [other.pk])
            cursor.execute("update tuning_study set name = 'mine' where host_id = %s", [other.pk])
            assert cursor.rowcount == 0
            cursor.execute("drop table benchmarks_host")

        # What its administrator types there is done, or refused in a line.
        from io import StringIO
        from django.core.management import call_command
        from benchmarks.inventory.stored import list_paths
        list_paths(Host.objects.get(name="db1"), ListedPath.Subject.SERVER, ["/opt/mysqld"])
        call_command("server", "remove", "/opt/mysqld", stdout=StringIO())
        assert not ListedPath.objects.filter(path="/opt/mysqld").exists()
        of_db2 = ["host drain db2", "host rename db2 db9", f"study pause {theirs.pk}"]
        for words in ("host rename db1 db9", "token list", *of_db2):
            said = StringIO()
            try:
                call_command(*words.split(), stderr=said)
            except SystemExit:
                pass
            assert said.getvalue().startswith("not_permitted: run this where"), said.getvalue()

        # It writes the loads that it is asked for, and those that it asks for.
        drives = LoadJob.objects.get(host__name="db1")
        assert LoadJob.objects.filter(pk=drives.pk).update(phases={}) == 1
        mine = Run.objects.filter(host__name="db1").first()
        asks = LoadJob.objects.create(run=mine, host=other, address="10.0.0.11", state="cancelled")
        assert LoadJob.objects.filter(pk=asks.pk).update(sealed_order="") == 1
        refused(lambda: LoadJob.objects.create(run=drives.run, host=other, address="10.0.0.12"))

        app.send_task("tuning.execute", args=[1], queue="bench.db1")
        send = lambda: app.send_task("tuning.execute", args=[1], queue="bench.db2")
        refused(send, OperationalError)  # as which the scheduler takes it
        app.send_task("benchmarks.load", args=[1], queue="bench.load1")
        with app.connection() as broker:
            queue = broker.default_channel.client
            refused(lambda: queue.brpop("bench.load1", timeout=1))
        refused(lambda: app.control.ping(timeout=0.1))
    """)
    )


def test_every_table_is_known_to_the_rights_of_a_host(centre: Centre) -> None:
    """A new one needs a decision: what may a worker do there? See docs/reference/host-role.sql."""
    may = (
        "select relname from pg_class where relnamespace = 'public'::regnamespace "
        "and relkind = 'r' and has_table_privilege('advisor_db1', oid, %s)"
    )
    given = set(re.findall(r"^ +\('(\w+)', +'", RIGHTS, re.MULTILINE))
    ours = {
        model._meta.db_table
        for app in ("benchmarks", "tuning")
        for model in apps.get_app_config(app).get_models(include_auto_created=True)
    }
    assert given - {"django_migrations"} == ours
    with _owner(centre) as owner:
        for verb in ("SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE"):
            rows = owner.execute(may.encode(), [verb]).fetchall()
            assert {str(name) for (name,) in rows} <= given

"""A fleet of machines: PostgreSQL, Redis and web server on one, a worker on each of the others."""

from __future__ import annotations

import http.client
import json
import os
import re
import secrets
import shlex
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psycopg
from psycopg.rows import dict_row

from advisor.tests.fleet import documented
from advisor.tests.harness import ROOT, SET_UP, UNDISTURBED, wait_for
from advisor.tests.postgres import OWNER_PASSWORD, postgres_programs
from benchmarks.storage.layout import FOLDER
from benchmarks.tests import machines
from benchmarks.tests.machines import Machine

WEB_PORT = 8000
SHORT = "advisor.tests.fleet.short_settings"
PASSWORD = "correct horse battery staple"
# The centre must not miss them.
PROGRAMS_OF_A_HOST = ("mysqld", "mariadbd", "sysbench", "tpcc_start", "fio", "lsblk")
NOTHING_IS_KEPT = {"fsync": "off"}
_TOKEN = ("token", "create", "--role", "administrator", "--user", "admin", "fleet")
# What two commands do, in one process: the start of each takes longer than that.
_ACCOUNT_AND_TOKEN = (
    SET_UP
    + """
import sys
from django.core.management import call_command
call_command("createsuperuser", interactive=False, verbosity=0)
call_command(*sys.argv[1:])
"""
)


def why_not() -> str:
    """Why there can be no fleet here; empty if there can."""
    if postgres_programs() is None:
        return "PostgreSQL is not installed"
    return machines.why_not()


class Refused(AssertionError):
    """What the API answered instead of doing it."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


@dataclass
class Fleet:
    """The centre and the hosts, all of one advisor."""

    centre: Machine
    hosts: dict[str, Machine]
    folder: Path
    database_password: str
    redis_password: str
    settings: str
    #: Programs that the hosts may start.
    servers: Sequence[Path] = ()
    #: By the name of the machine; of "postgres", all that the database has.
    more: dict[str, dict[str, str]] = field(default_factory=dict)
    token: str = ""
    #: Start a program of the centre, also once more: "postgres", "redis-server" and "gunicorn".
    programs: dict[str, Callable[[], None]] = field(default_factory=dict)
    _cookie: str = ""

    def environment(self, name: str) -> dict[str, str]:
        """What the advisor's commands get in the machine of that name."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("ADVISOR_", "PYTEST", "COV_"))
        }
        title = "environment of a host" if name in self.hosts else "environment of the centre"
        return (
            kept
            | UNDISTURBED
            | documented.variables(title, self.placeholders(name))
            | {
                "DJANGO_SETTINGS_MODULE": self.settings,
                "ADVISOR_HOME": str(self.folder / name / "home"),
                "ADVISOR_MEASURING_LOCK": str(self.folder / name / "measuring.lock"),
                "ADVISOR_LOAD_ADDRESS": self.hosts[name].address if name in self.hosts else "",
                # The machines share their processors: the load host always looks busy.
                "ADVISOR_LOAD_CPU_LIMIT_PCT": "0",
            }
            | self.more.get(name, {})
        )

    def placeholders(self, name: str) -> dict[str, str]:
        """What stands in docs/how-to/fleet.md, and what that is in the machine of that name."""
        return {
            "10.0.0.0/24": machines.NETWORK,
            "10.0.0.1": self.centre.address,
            "DATABASE_PASSWORD": self.database_password,
            "REDIS_PASSWORD": self.redis_password,
            "A_LONG_RANDOM_TEXT": "anything",
            "db1": name,
            "/srv/mysql": str(self.folder / name / "device"),
            "/opt/percona/bin/mysqld": os.pathsep.join(map(str, self.servers)),
            ".venv/bin/python ": f"{sys.executable} ",
            ".venv/bin/gunicorn ": f"{sys.executable} -m gunicorn ",
        }

    def manage(self, name: str, *arguments: str, **environment: str) -> str:
        """Run `manage.py` in that machine; returns what it printed."""
        machine = self.hosts.get(name, self.centre)
        command = [sys.executable, "manage.py", *arguments]
        return machine.run(*command, env=self.environment(name) | environment, cwd=ROOT)

    def start(self, name: str, *arguments: str) -> None:
        """Start `manage.py` in the background there; its log has the name of the command."""
        command = [sys.executable, "manage.py", *arguments]
        environment = self.environment(name)
        self.hosts[name].start(*command, log=arguments[0], env=environment, cwd=ROOT)

    def start_worker(self, name: str) -> None:
        """Start the worker of a host; `wait_for_workers` waits until it works."""
        (command,) = documented.block("commands of a host", self.placeholders(name))
        environment = self.environment(name)
        self.hosts[name].start(*shlex.split(command), log="worker", env=environment, cwd=ROOT)

    def wait_for_workers(self, *names: str, seconds: float = 150) -> None:
        """Until each has looked at its host, and was heard of in the last two seconds.

        Raises AssertionError where one takes no work, as when its code is of another commit than
        that which made the tables: nothing would ever be measured.
        """
        query = (
            "select name, idle_reason from benchmarks_host "
            "where worker_seen_at > clock_timestamp() - interval '2 seconds' "
            "and inspected_at is not null"
        )

        def missing() -> set[str]:
            there = {row["name"]: row["idle_reason"] for row in self.rows(query)}
            idle = {name: reason for name, reason in there.items() if name in names and reason}
            assert not idle, f"take no work: {idle}"
            return set(names) - set(there)

        wait_for(lambda: not missing(), seconds, f"not all of {names} have a worker")

    def rows(self, query: str) -> list[dict[str, Any]]:
        """Read the database, without the network; waits for locks for 40 s."""
        with psycopg.connect(
            host=str(self.folder / "centre"), dbname="advisor", user="advisor",
            password=self.database_password, options="-c lock_timeout=40s", row_factory=dict_row,
            connect_timeout=10,
        ) as server:  # fmt: skip
            answer = server.execute(query.encode())
            return answer.fetchall() if answer.description else []

    def api(
        self,
        path: str,
        body: object = None,
        *,
        source: Machine | None = None,
        timeout: float = 30,
    ) -> Any:
        """The JSON that the API answers; with a body it is posted."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        method = "GET" if body is None else "POST"
        source = source or self.centre
        with closing(source.http(self.centre.address, WEB_PORT, timeout)) as connection:
            connection.request(method, f"/api/v1/{path}", json.dumps(body or {}), headers)
            answer = connection.getresponse()
            text = answer.read().decode()
        if answer.status >= 300:
            raise Refused(answer.status, f"{method} {path}: {answer.status} {text}")
        return json.loads(text)

    def page(self, path: str) -> str:
        """A page as the administrator sees it."""
        status, text = self.visit(path)
        assert status == 200, f"{path}: {status} {text}"
        return text

    def visit(self, path: str, *, timeout: float = 30) -> tuple[int, str]:
        """Status and text of what the administrator gets there, who logs in once."""
        with closing(self.centre.http(self.centre.address, WEB_PORT, timeout)) as connection:
            self._cookie = self._cookie or self._log_in(connection)
            connection.request("GET", path, headers={"Cookie": self._cookie})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    def _log_in(self, connection: http.client.HTTPConnection) -> str:
        """Log in; the cookies of the session."""
        connection.request("GET", "/login/")
        answer = connection.getresponse()
        page, cookies = answer.read().decode(), SimpleCookie(answer.getheader("Set-Cookie"))
        (token,) = re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', page)[:1]
        form = {"username": "admin", "password": PASSWORD, "csrfmiddlewaretoken": token}
        headers = {
            "Cookie": f"csrftoken={cookies['csrftoken'].value}",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        connection.request("POST", "/login/", urlencode(form), headers)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 302, answer.status
        given = SimpleCookie(", ".join(answer.headers.get_all("Set-Cookie", [])))
        return f"sessionid={given['sessionid'].value}"

    def left_behind(self, name: str, after: Sequence[str] = ("manage.py worker",)) -> list[str]:
        """What a host has besides its worker: processes, ports, folders of runs, registered
        servers, locks; empty when all was cleaned up.
        """
        machine, own = self.hosts[name], self.folder / name
        found = [
            line
            for process in machine.processes()
            if not any(word in (line := " ".join(process.cmdline())) for word in after)
        ]
        found += [f"port {port}" for port in machine.listening()]
        for folder in ("runs", "trials"):
            place = machine.inside(own / "device" / "oltp-advisor" / folder)
            found += [str(path) for path in place.glob("*")]
        for folder in ("instances", "unstored"):
            found += [str(path) for path in (own / "home" / "run" / folder).glob("*.json")]
        return found


@contextmanager
def fleet(
    names: Sequence[str],
    folder: Path,
    *,
    settings: str = "advisor.settings",
    postgres: Mapping[str, str] = NOTHING_IS_KEPT,
    migrated: Callable[[Path], None] | None = None,
    datasets: Path | None = None,
    more: Mapping[str, dict[str, str]] | None = None,
) -> Iterator[Fleet]:
    """A centre with nothing in its database and machines of these names, without workers.

    `folder` has to be one that every user can enter; `postgres` are settings of the server, and
    `more` variables of the environment, as `Fleet.more`.
    `migrated` copies a data directory that `make_migrated` has made, which is quicker; so are
    `datasets` that the hosts' devices share.
    """
    with machines.machines(["centre", *names], folder) as made:
        centre = made.pop("centre")
        password = OWNER_PASSWORD if migrated else secrets.token_hex(8)
        place = Fleet(centre, made, folder, password, secrets.token_hex(8), settings)
        place.more.update(more or {})
        for name in names:
            (folder / name / "device").mkdir(mode=0o755)
            if datasets is not None:
                ours = folder / name / "device" / FOLDER
                ours.mkdir(mode=0o755)
                (ours / "datasets").symlink_to(datasets)
        _start_postgres(place, postgres, migrated)
        _start_redis(place)
        _start_web(place, migrates=migrated is None)
        yield place


def _start_postgres(
    place: Fleet, more: Mapping[str, str], migrated: Callable[[Path], None] | None
) -> None:
    """As its own user, which is not root; set up by what docs/how-to/fleet.md says."""
    programs = postgres_programs()
    assert programs is not None
    folder, centre = place.folder / "centre", place.centre
    centre.hide("/dev/shm")  # what a server that is killed leaves there goes with the centre
    shutil.chown(folder, "postgres", "postgres")
    user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]
    data, given = folder / "database", place.placeholders("centre")
    if migrated:
        migrated(data)
    else:
        centre.run(
            *(*user, str(programs / "initdb"), "--pgdata", str(data), "--no-sync"),
            *("--auth-local", "trust", "--auth-host", "scram-sha-256"),
            *("--encoding", "UTF8", "--locale", "C"),
        )
    with (data / "pg_hba.conf").open("a") as rules:
        rules.writelines(f"{line}\n" for line in documented.block("pg_hba.conf", given))
    options = {"unix_socket_directories": str(folder), **more}
    words = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
    server = [*user, str(programs / "postgres"), "-D", str(data), *words]
    environment = os.environ | place.more.get("postgres", {})
    start = partial(centre.start, *server, log="postgres", env=environment)
    place.programs["postgres"] = start
    start()
    wait_for((folder / ".s.PGSQL.5432").exists, 30, centre.log("postgres"))
    for line in documented.block("postgresql", given):
        if migrated and ' "create ' in line:
            continue
        centre.run(*user, "env", f"PGHOST={folder}", *shlex.split(line))
    centre.kill("postgres -D", signal.SIGINT)
    wait_for(lambda: not centre.processes("postgres"), 30, centre.log("postgres"))
    start()
    wait_for(lambda: 5432 in centre.listening(), 30, centre.log("postgres"))


def _start_redis(place: Fleet) -> None:
    """With its password from a file: what is on a command line can be read."""
    centre = place.centre
    rules = centre.folder / "redis.conf"
    lines = [*documented.block("redis.conf", place.placeholders("centre")), f"dir {centre.folder}"]
    rules.write_text("\n".join(lines))
    place.programs["redis-server"] = partial(centre.start, "redis-server", str(rules), log="redis")
    place.programs["redis-server"]()
    wait_for(lambda: 6379 in centre.listening(), 20, centre.log("redis"))


def _start_web(place: Fleet, *, migrates: bool) -> None:
    """Tables, an administrator with a token, and the web server on a machine that has no server
    program, no driver and nothing that looks at disks.
    """
    centre, environment = place.centre, place.environment("centre")
    centre.hide(*PROGRAMS_OF_A_HOST, str(ROOT / "var"))
    commands = documented.block("commands of the centre", place.placeholders("centre"))
    migrate, create, serve = map(shlex.split, commands)
    account = {
        "DJANGO_SUPERUSER_USERNAME": "admin",
        "DJANGO_SUPERUSER_EMAIL": "admin@example.org",
        "DJANGO_SUPERUSER_PASSWORD": PASSWORD,
    }
    if migrates:
        centre.run(*migrate, "--verbosity", "0", env=environment, cwd=ROOT)
        centre.run(*create, "--no-input", env=environment | account, cwd=ROOT)
        place.token = place.manage("centre", *_TOKEN).strip()
    else:
        both = [sys.executable, "-c", _ACCOUNT_AND_TOKEN, *_TOKEN]
        place.token = centre.run(*both, env=environment | account, cwd=ROOT).strip()
    log = ["--access-logfile", str(centre.folder / "access.log")]
    log += ["--access-logformat", "%(m)s %(U)s %(s)s %(D)s"]
    start = partial(centre.start, *serve, *log, log="web", env=environment, cwd=ROOT)
    place.programs["gunicorn"] = start
    start()
    wait_for(lambda: WEB_PORT in centre.listening(), 150, centre.log("web"))

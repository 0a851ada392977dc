"""A fleet of machines: PostgreSQL, Redis and web server on one, a worker on each of the others."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

from advisor.tests.harness import ROOT, UNDISTURBED, wait_for
from benchmarks.tests import machines
from benchmarks.tests.machines import Machine

WEB_PORT = 8000
SHORT = "advisor.tests.fleet.short_settings"
PASSWORD = "correct horse battery staple"
NOTHING_IS_KEPT = {"fsync": "off"}


def postgres_programs() -> Path | None:
    """The folder of the newest PostgreSQL server; Debian puts none of them on PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=_version)
    on_path = shutil.which("initdb")
    return found[-1].parent if found else Path(on_path).parent if on_path else None


def _version(path: Path) -> float:
    return float(path.parts[-3])


def why_not() -> str:
    """Why there can be no fleet here; empty if there can."""
    if postgres_programs() is None:
        return "PostgreSQL is not installed"
    return machines.why_not()


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
    more: dict[str, dict[str, str]] = field(default_factory=dict)
    token: str = ""

    def environment(self, name: str) -> dict[str, str]:
        """What the advisor's commands get in the machine of that name."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("ADVISOR_", "PYTEST", "COV_"))
        }
        address = self.centre.address
        return (
            kept
            | UNDISTURBED
            | {
                "DJANGO_SETTINGS_MODULE": self.settings,
                "ADVISOR_HOME": str(self.folder / name / "home"),
                "ADVISOR_DEVICE": str(self.folder / name / "device"),
                "ADVISOR_HOST_NAME": name,
                "ADVISOR_SERVERS": os.pathsep.join(map(str, self.servers)),
                "ADVISOR_MEASURING_LOCK": str(self.folder / name / "measuring.lock"),
                "ADVISOR_LOAD_ADDRESS": self.hosts[name].address if name in self.hosts else "",
                # The machines share their processors: the load host always looks busy.
                "ADVISOR_LOAD_CPU_LIMIT_PCT": "0",
                "ADVISOR_SECRET_KEY": "the same on every machine",
                "ADVISOR_ALLOWED_HOSTS": address,
                "DATABASE_URL": f"postgres://advisor:{self.database_password}@{address}:5432/advisor",
                "REDIS_URL": f"redis://:{self.redis_password}@{address}:6379/0",
            }
            | self.more.get(name, {})
        )

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
        self.start(name, "worker")

    def wait_for_workers(self, *names: str, seconds: float = 60) -> None:
        """Until each has looked at its host, and was heard of in the last two seconds."""
        query = (
            "select name from benchmarks_host "
            "where worker_seen_at > clock_timestamp() - interval '2 seconds' "
            "and inspected_at is not null"
        )

        def missing() -> set[str]:
            return set(names) - {row["name"] for row in self.rows(query)}

        wait_for(lambda: not missing(), seconds, f"no worker on {missing}")

    def rows(self, query: str) -> list[dict[str, Any]]:
        """Read the database, without the network; waits for locks for 40 s."""
        with psycopg.connect(
            host=str(self.folder / "centre"), dbname="advisor", user="advisor",
            password=self.database_password, options="-c lock_timeout=40s", row_factory=dict_row,
        ) as server:  # fmt: skip
            answer = server.execute(query.encode())
            return answer.fetchall() if answer.description else []

    def api(self, path: str, body: object = None, *, source: Machine | None = None) -> Any:
        """The JSON that the API answers; with a body it is posted."""
        headers = {"Authorization": f"Token {self.token}", "Content-Type": "application/json"}
        method = "GET" if body is None else "POST"
        with closing((source or self.centre).http(self.centre.address, WEB_PORT)) as connection:
            connection.request(method, f"/api/v1/{path}", json.dumps(body or {}), headers)
            answer = connection.getresponse()
            text = answer.read().decode()
        assert answer.status < 300, f"{method} {path}: {answer.status} {text}"
        return json.loads(text)

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
            place = own / "device" / "oltp-advisor" / folder
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
) -> Iterator[Fleet]:
    """A centre with nothing in its database and machines of these names, without workers.

    `folder` has to be one that every user can enter; `postgres` are settings of the server.
    """
    with machines.machines(["centre", *names], folder) as made:
        centre = made.pop("centre")
        place = Fleet(
            centre, made, folder, secrets.token_hex(8), secrets.token_hex(8), settings
        )  # fmt: skip
        for name in names:
            (folder / name / "device").mkdir(mode=0o755)
        _start_postgres(place, postgres)
        _start_redis(place)
        place.manage("centre", "migrate", "--verbosity", "0")
        _start_web(place)
        yield place


def _start_postgres(place: Fleet, more: Mapping[str, str]) -> None:
    """As its own user, which is not root."""
    programs = postgres_programs()
    assert programs is not None
    folder, centre = place.folder / "centre", place.centre
    shutil.chown(folder, "postgres", "postgres")
    password = folder / "password"
    password.write_text(place.database_password)
    shutil.chown(password, "postgres")
    password.chmod(0o400)
    user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]
    data = folder / "database"
    centre.run(
        *(*user, str(programs / "initdb"), "--pgdata", str(data), "--username", "advisor"),
        *("--auth", "scram-sha-256", "--pwfile", str(password), "--no-sync"),
        *("--encoding", "UTF8", "--locale", "C"),
    )
    with (data / "pg_hba.conf").open("a") as rules:
        rules.write("host all advisor 10.77.0.0/24 scram-sha-256\n")
    given = {
        "listen_addresses": centre.address,
        "unix_socket_directories": str(folder),
        **more,
    }
    words = [word for name, value in given.items() for word in ("-c", f"{name}={value}")]
    centre.start(*user, str(programs / "postgres"), "-D", str(data), *words, log="postgres")

    def made() -> bool:
        try:
            with psycopg.connect(
                host=str(folder), dbname="postgres", user="advisor",
                password=place.database_password, autocommit=True,
            ) as server:  # fmt: skip
                server.execute("create database advisor")
            return True
        except psycopg.OperationalError:
            return False

    wait_for(made, 30, centre.log("postgres"))


def _start_redis(place: Fleet) -> None:
    """With its password from a file, as in docker/: what is on a command line can be read."""
    centre = place.centre
    rules = centre.folder / "redis.conf"
    rules.write_text(
        f"bind {centre.address}\nrequirepass {place.redis_password}\ndir {centre.folder}\n"
        'save ""\nmaxmemory-policy noeviction\n'
    )
    centre.start("redis-server", str(rules), log="redis")
    wait_for(lambda: 6379 in centre.listening(), 20, centre.log("redis"))


def _start_web(place: Fleet) -> None:
    """The server that docs/fleet.md names, and an administrator with a token."""
    centre = place.centre
    command = ["createsuperuser", "--no-input", "--username", "admin", "--email", "a@example.org"]
    place.manage("centre", *command, DJANGO_SUPERUSER_PASSWORD=PASSWORD)
    create = ["token", "create", "--role", "administrator", "--user", "admin", "fleet"]
    place.token = place.manage("centre", *create).strip()
    centre.start(
        *(sys.executable, "-m", "gunicorn", "-c", "python:advisor.processes.web"),
        *("--bind", f"{centre.address}:{WEB_PORT}"),
        *("--access-logfile", str(centre.folder / "access.log")),
        *("--access-logformat", "%(m)s %(U)s %(s)s %(D)s"),
        log="web",
        env=place.environment("centre"),
        cwd=ROOT,
    )
    wait_for(lambda: WEB_PORT in centre.listening(), 60, centre.log("web"))

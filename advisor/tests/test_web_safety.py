"""Log-ins are limited, bodies have a size, and proxies are believed if listed."""

from __future__ import annotations

import http.client
import os
import re
import runpy
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from hashlib import sha256
from io import StringIO
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.hashers import MD5PasswordHasher
from django.contrib.auth.models import User
from django.core.cache import cache
from django.core.management import call_command
from django.test import Client, RequestFactory, override_settings
from django.urls import reverse
from pytest_django import Settings

from advisor.access.proxies import network_of
from advisor.access.roles import Role
from advisor.tests import factories
from advisor.tests.harness import wait_for
from benchmarks.servers.reach import free_port
from tuning.models import Recommendation

pytestmark = pytest.mark.django_db

LOGIN = "/login/"
RIGHT = "a-long-password"


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The passwords that were hashed, in their order."""
    seen: list[str] = []
    encode = MD5PasswordHasher.encode

    def note(self: Any, password: str, salt: str) -> str:
        seen.append(password)
        return str(encode(self, password, salt))

    monkeypatch.setattr(MD5PasswordHasher, "encode", note)
    return seen


def tried(client: Client, name: str, password: str, **more: Any) -> int:
    answer = client.post(LOGIN, {"username": name, "password": password}, **more)
    return int(answer.status_code)


# --- log-in --------------------------------------------------------------------------------------


def test_a_burst_of_wrong_log_ins_hashes_hardly_anything(hashed: list[str]) -> None:
    User.objects.create_user("dba", password=RIGHT)
    hashed.clear()
    client = Client()
    assert [tried(client, "dba", f"{n}") for n in range(20)] == [200] * 4 + [429] * 16
    assert hashed == list("01234")


def test_strangers_lock_nobody_out() -> None:
    User.objects.create_user("dba", password=RIGHT)
    for n in range(30):
        tried(Client(), "dba", "wrong", REMOTE_ADDR=f"10.1.0.{n % 3}")
    assert tried(Client(), "dba", RIGHT, REMOTE_ADDR="10.1.0.1") == 429
    assert tried(Client(), "dba", RIGHT, REMOTE_ADDR="10.0.0.2") == 302


def test_other_spellings_of_a_name_count_as_the_same_account(hashed: list[str]) -> None:
    """The form strips names and normalizes them."""
    for name in ["dba", " dba", "dba  ", "\uff44ba", "d\uff42a", "db\uff41", "\tdba"]:
        tried(Client(), name, "wrong")
    assert len(hashed) == 5


def test_a_right_password_ends_the_count_of_wrong_ones() -> None:
    User.objects.create_user("dba", password=RIGHT)
    for _ in range(2):
        client = Client()
        assert [tried(client, "dba", "wrong") for _ in range(4)] == [200] * 4
        assert tried(client, "dba", RIGHT) == 302


@pytest.mark.parametrize(
    ("peer", "counted"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("2001:db8::ffff", "2001:db8::"),
        ("::ffff:10.0.0.1", "10.0.0.1"),  # a socket for both protocols sees IPv4 like this
        ("[2001:db8::1]:443", "2001:db8::"),
        ("no address", ""),
    ],
)
def test_log_ins_are_counted_by_network(rf: RequestFactory, peer: str, counted: str) -> None:
    assert network_of(rf.post(LOGIN, REMOTE_ADDR=peer)) == counted


def test_the_log_in_leads_back_only_to_what_a_browser_can_read(client: Client) -> None:
    pause = reverse("study-pause", args=[1])
    assert client.post(pause)["Location"] == LOGIN
    assert client.post("/studies/new/")["Location"] == f"{LOGIN}?next=/studies/new/"


# --- the API -------------------------------------------------------------------------------------


def test_requests_of_an_account_are_limited() -> None:
    """1200 in a minute; most of them are only noted where the API notes them."""
    user = factories.make_user("ci", Role.VIEWER)
    client = Client()
    client.force_login(user)
    cache.set(f"throttle_user_{user.pk}", [time.time()] * 1198, 60)
    *others, last = (client.get("/api/v1/templates/") for _ in range(3))
    assert [one.status_code for one in others] == [200, 200]
    assert (last.status_code, last.json()["error"]["code"]) == (429, "throttled")
    assert 0 < int(last["Retry-After"]) <= 60


# --- bodies --------------------------------------------------------------------------------------


def test_a_body_that_is_too_large_is_refused_by_its_head(client: Client) -> None:
    class Untouchable:
        def read(self, *_: Any) -> bytes:
            raise AssertionError("the body was read")

        readline = read

    client.force_login(factories.make_user("dba", Role.OPERATOR))
    for path in ("/studies/new/", LOGIN, "/api/v1/studies/"):
        head: dict[str, Any] = {"CONTENT_LENGTH": "9000000", "wsgi.input": Untouchable()}
        kind = "application/json" if "api" in path else "multipart/form-data; boundary=x"
        answer = client.generic("POST", path, CONTENT_TYPE=kind, **head)
        assert answer.status_code == 400, path
        assert "is larger than" in answer.content.decode()


# --- proxies -------------------------------------------------------------------------------------

FORWARDED = {
    "X-Forwarded-Proto": "https",
    "X-Forwarded-Host": "advisor.example.org",
    "X-Forwarded-For": "203.0.113.9, 198.51.100.7",
}


@pytest.fixture
def proxy(settings: Settings) -> str:
    settings.PROXIES = [ip_network("10.9.0.0/16")]
    settings.ALLOWED_HOSTS = ["testserver", "advisor.example.org"]
    return "10.9.0.1"


def location(client: Client, **more: Any) -> str:
    """The link to the study in its exported file, which shows whom the API believes."""
    pk = Recommendation.objects.get().pk
    answer = client.get(f"/api/v1/recommendations/{pk}/my.cnf", headers=FORWARDED, **more)
    found = re.search(r"https?://\S+/studies/\d+/", answer.content.decode())
    assert found, answer.content
    return found[0]


def test_links_are_https_where_the_listed_proxy_says_so(admin_client: Client, proxy: str) -> None:
    factories.measured_study(blocks=1)
    assert location(admin_client, REMOTE_ADDR=proxy).startswith("https://advisor.example.org/")
    assert location(admin_client, REMOTE_ADDR="10.8.0.1").startswith("http://testserver/")
    assert location(admin_client, REMOTE_ADDR=f"::ffff:{proxy}").startswith("https://")
    # Loopback is no exception.
    assert location(admin_client).startswith("http://testserver/")


def test_the_users_own_address_counts_and_cannot_be_made_up(proxy: str) -> None:
    """The last address that no listed proxy has: what is before it, the user may have sent."""

    def statuses(last: str, peer: str) -> list[int]:
        headers = {"X-Forwarded-For": f"1.2.3.4, {last}, 10.9.0.2"}
        return [
            tried(Client(), f"{last}{peer}", "wrong", headers=headers, REMOTE_ADDR=peer)
            for _ in range(6)
        ]

    assert statuses("198.51.100.7", proxy)[-1] == 429
    assert statuses("198.51.100.8", proxy)[0] == 200
    # Without a listing the peer is who it is, whatever it says.
    assert tried(Client(), "a", "b", headers={"X-Forwarded-For": "9.9.9.9"}) == 200


def test_https_only_redirects_and_says_so_to_browsers(
    admin_client: Client, proxy: str, settings: Settings
) -> None:
    settings.SECURE_SSL_REDIRECT, settings.SECURE_HSTS_SECONDS = True, 1000
    plain = admin_client.get("/", REMOTE_ADDR=proxy)
    assert (plain.status_code, plain["Location"]) == (301, "https://testserver/")
    secure = admin_client.get("/", headers={"X-Forwarded-Proto": "https"}, REMOTE_ADDR=proxy)
    assert secure.status_code == 200
    assert secure["Strict-Transport-Security"].startswith("max-age=1000")
    unlisted = admin_client.get("/", headers={"X-Forwarded-Proto": "https"})
    assert unlisted.status_code == 400
    assert "Set ADVISOR_PROXY to the address of the proxy (127.0.0.1)" in unlisted.content.decode()


@pytest.mark.long
def test_the_deployment_check_finds_nothing_with_https(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ours = {"ADVISOR_HOME": str(tmp_path), "ADVISOR_HTTPS": "true", "ADVISOR_PROXY": "127.0.0.1"}
    with monkeypatch.context() as environment:
        for name, value in ours.items():
            environment.setenv(name, value)
        made = runpy.run_path(str(Path(django_settings.BASE_DIR) / "advisor" / "settings.py"))
    others = {
        name: value
        for name, value in made.items()
        if name.isupper() and name != "DATABASES" and value != getattr(django_settings, name)
    }
    assert others["SECURE_SSL_REDIRECT"]
    said = StringIO()
    with override_settings(**others):
        call_command("check", deploy=True, fail_level="WARNING", stdout=said)
    assert "no issues" in said.getvalue()


# --- the real web server -------------------------------------------------------------------------


@contextmanager
def web(home: Path) -> Iterator[tuple[int, int]]:
    """gunicorn as `serve` starts it; yields its port and its process."""
    port = free_port()
    words = [sys.executable, "-m", "gunicorn", "-c", "python:advisor.processes.web"]
    with (home / "web.log").open("w") as log:
        process = subprocess.Popen(
            [*words, "--bind", f"127.0.0.1:{port}"],
            cwd=django_settings.BASE_DIR,
            env={k: v for k, v in os.environ.items() if k != "DATABASE_URL"}
            | {"ADVISOR_HOME": str(home)},
            stdout=log,
            stderr=subprocess.STDOUT,
        )

    def listens() -> bool:
        assert process.poll() is None, (home / "web.log").read_text()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    try:
        wait_for(listens, 60)
        yield port, process.pid
    finally:
        process.terminate()
        process.wait(30)


def ask(port: int, *, headers: dict[str, str] | None = None) -> tuple[int, str, bytes]:
    """Status, cookie and body of the log-in page."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request("GET", LOGIN, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, answer.getheader("Set-Cookie") or "", answer.read()


@pytest.fixture
def old_home(migrated_database: Path, tmp_path: Path) -> Path:
    """A home with a database of another version, in which an operator has the token "known"."""
    file = tmp_path / "private" / "db.sqlite3"
    file.parent.mkdir(mode=0o700)
    file.write_bytes(migrated_database.read_bytes())
    with closing(sqlite3.connect(file)) as database, database:
        database.execute(
            "INSERT INTO auth_user (id, username, password, is_superuser, is_staff, is_active,"
            " date_joined, first_name, last_name, email)"
            " VALUES (1, 'ci', '!', 0, 0, 1, '2026-01-01', '', '', '')"
        )
        database.execute(
            "INSERT INTO access_apitoken (digest, prefix, created_at, name, role, user_id)"
            " VALUES (?, 'known', '2026-01-01', 'ci', 'viewer', 1)",
            (sha256(b"known").hexdigest(),),
        )
        released = database.execute("UPDATE benchmarks_release SET version = '0.0.1'")
        assert released.rowcount == 1
    return tmp_path


@pytest.mark.slow
def test_the_web_server_gives_way_believes_no_header_and_answers_beside_who_waits(
    old_home: Path,
) -> None:
    file = old_home / "private" / "db.sqlite3"
    with web(old_home) as (port, pid), ExitStack() as stack:
        # Beside the answers it looks whether the database is of its version.
        wait_for(lambda: b"Versions differ" in ask(port)[2], 60)
        assert os.getpriority(os.PRIO_PROCESS, pid) == 19
        # The web server itself believes no header, not even from loopback.
        _, cookie, _ = ask(port, headers={"X-Forwarded-Proto": "https"})
        assert "csrftoken" in cookie
        assert "Secure" not in cookie
        # The use of a token is written down, which waits for whoever writes at the moment.
        locker = stack.enter_context(closing(sqlite3.connect(file, isolation_level=None)))
        locker.execute("BEGIN IMMEDIATE")
        waiting = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
        call = (
            "GET /api/v1/hosts/ HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer known\r\n\r\n"
        )
        waiting.sendall(call.encode())
        assert ask(port)[0] == 200
        assert is_open(waiting), "this answer did not have to wait"
        locker.execute("COMMIT")
        waiting.settimeout(60)
        assert waiting.recv(12) == b"HTTP/1.1 200"


def is_open(client: socket.socket) -> bool:
    client.setblocking(False)
    try:
        return client.recv(1) != b""
    except BlockingIOError:
        return True

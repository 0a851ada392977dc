"""Webhooks: who hears of what, how it is sent, and where it is never sent. Real connections."""

from __future__ import annotations

import json
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from datetime import timedelta
from errno import ENOSPC
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import DatabaseError, connections
from django.test import Client, override_settings
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from advisor.access.models import Scope
from advisor.access.roles import Role, set_role
from advisor.env import read_destinations
from advisor.management.commands import webhook as webhook_command
from advisor.processes import attending
from advisor.tests import factories
from advisor.tests.receiver import Receiver, receiving
from advisor.tests.test_api import error
from advisor.tests.test_api_requests import client_of
from advisor.webhooks import posting, sending
from advisor.webhooks.destinations import Destinations, UrlRefused, parse_destinations
from advisor.webhooks.hooks import create_webhook
from advisor.webhooks.models import Delivery, Event, Webhook
from advisor.webhooks.sending import GAPS, PATIENCE, forget_old, send_all
from benchmarks.models import Host
from benchmarks.servers.reach import make_certificate
from tuning.models import GateVerdict, Study, StudyState
from tuning.results.gates import GateOutcome
from tuning.results.study_result import StudyResult
from tuning.statistics.gate import DEFAULT_LIMITS, GatePlan

pytestmark = pytest.mark.django_db

HOOKS = "/api/v1/webhooks/"
GUIDE = Path(__file__).resolve().parents[2] / "docs" / "api.md"
SMALL: dict[str, Any] = {"blocks": 1, "names": factories.NAMES[:2]}


@pytest.fixture
def receive(settings: Settings) -> Iterator[Callable[..., Receiver]]:
    """Starts receivers on this host, all of them listed."""
    listed: list[str] = []
    with ExitStack() as stack:

        def start(*statuses: int) -> Receiver:
            receiver = stack.enter_context(receiving(*statuses))
            listed.append(receiver.place)
            settings.WEBHOOK_HOSTS = parse_destinations(listed)
            return receiver

        yield start


@pytest.fixture
def ci() -> Client:
    return client_of("ci")


def make(api: Client, url: str, **values: Any) -> dict[str, Any]:
    made = api.post(HOOKS, {"url": url, **values}, content_type="application/json")
    assert made.status_code == 201, made.content
    return dict(made.json())


def ended(owner: str | None = "ci", **values: Any) -> Study:
    user = owner and User.objects.get(username=owner)
    facts: dict[str, Any] = {"finished_at": timezone.now(), "created_by": user}
    return factories.measured_study(**{**SMALL, **facts, **values})


def tell_of_ends(_: Path) -> None:
    """In whatever database there is: two senders at once tell of each end once, and again."""
    factories.make_user("ci", Role.OPERATOR)
    owner = User.objects.get(username="ci")
    with (
        receiving(500, 200) as receiver,
        override_settings(WEBHOOK_HOSTS=parse_destinations([receiver.place])),
    ):
        _hook, secret = create_webhook(owner, receiver.url, set(Event), "http://localhost/")
        ended(name="told")
        for state in ("waiting", "delivered"):
            with ThreadPoolExecutor(2) as pool:
                assert sum(pool.map(lambda _: send_alone(), range(2))) == 1
            assert Delivery.objects.get().state == state
            due()
        assert send_all() == 0
    (first, body), (second, again) = receiver.got
    assert (first["webhook-id"], body) == (second["webhook-id"], again)
    assert is_genuine()(secret, second, again)


def send_alone() -> int:
    """With a connection to the database of its own."""
    try:
        return send_all()
    finally:
        connections.close_all()


def due() -> None:
    """The time of the next attempts has come."""
    Delivery.objects.update(next_at=timezone.now() - timedelta(seconds=1))


def is_genuine() -> Callable[..., bool]:
    """The function of the guide."""
    [code] = re.findall(r"```python\n(.*?def is_genuine.*?)```", GUIDE.read_text(), re.DOTALL)
    found: dict[str, Any] = {}
    exec(code, found)  # noqa: S102  # what readers copy
    return found["is_genuine"]


# --- sending -------------------------------------------------------------------------------------


def test_an_ended_study_is_told_signed_and_again_after_a_500(
    ci: Client, receive: Callable[..., Receiver]
) -> None:
    receiver = receive(500, 200)
    made = make(ci, receiver.url)
    assert send_all() == 0
    study = ended(name="nightly")
    assert send_all() == 1
    [row] = ci.get(f"{HOOKS}{made['id']}/deliveries/").json()["results"]
    assert (row["state"], row["attempts"], row["status"]) == ("waiting", 1, 500)
    assert row["problem"] == "answered with the status 500"
    assert send_all() == 0  # it is not its time yet
    due()
    assert send_all() == 1
    assert (send_all(), Delivery.objects.get().state) == (0, "delivered")
    assert ci.get(f"{HOOKS}{made['id']}/").json()["last_status"] == 200

    (first, body), (second, again) = receiver.got
    assert first["webhook-id"] == second["webhook-id"] == row["message_id"]
    assert body == again
    verify = is_genuine()
    for headers in (first, second):
        assert verify(made["secret"], headers, body)
        assert not verify(made["secret"], headers, body + b" ")
        assert not verify(made["secret"][:-5] + "AAAA=", headers, body)
        assert not verify(made["secret"], headers, body, now=int(first["webhook-timestamp"]) + 999)
    message = receiver.messages[0]
    assert (message["type"], message["data"]["id"]) == ("study.ended", study.pk)
    assert message["data"]["sentence"].startswith(("Use ", "Keep "))
    assert message["data"]["answers"][0]["verdict"] == message["data"]["verdict"]
    for link in message["data"]["links"].values():
        assert link.startswith("http://testserver/")
        if "/api/" in link:
            assert ci.get(link.removeprefix("http://testserver")).status_code == 200

    Study.objects.update(finished_at=timezone.now())  # it was extended, and ended again
    assert send_all() == 1
    assert len({headers["webhook-id"] for headers, _ in receiver.got}) == 2


def test_the_guides_message_has_the_keys_that_are_sent(
    ci: Client, receive: Callable[..., Receiver]
) -> None:
    receiver = receive()
    make(ci, receiver.url)
    ended()
    send_all()
    [sent] = receiver.messages
    [text] = re.findall(r'```json\n(\{\n  "type".*?)```', GUIDE.read_text(), re.DOTALL)
    shown = json.loads(text)
    assert list(shown) == list(sent)
    assert list(shown["data"]) == list(sent["data"])
    assert list(shown["data"]["answers"][0]) == list(sent["data"]["answers"][0])
    assert list(shown["data"]["links"]) == list(sent["data"]["links"])


def test_gates_and_studies_without_an_answer_are_told_as_what_they_are(
    ci: Client, receive: Callable[..., Receiver]
) -> None:
    receiver = receive()
    make(ci, receiver.url)
    values = {"state": StudyState.FINISHED, "finished_at": timezone.now(), **SMALL}
    values["created_by"] = User.objects.get()
    gate = factories.make_study(gate=GatePlan(DEFAULT_LIMITS).as_json(), **values)
    result = GateOutcome(StudyResult(gate)).document() | {"reason": "tpmP is too low"}
    GateVerdict.objects.create(study=gate, verdict="fail", result=result)
    failed = {"state": StudyState.FAILED, "reason": "no room", "reason_code": "disk_full"}
    factories.make_study(**{**values, **failed})
    factories.make_study(**{**values, **failed, "gate": {}})
    while send_all():
        pass
    found = [
        (one["type"], one["data"]["verdict"], one["data"]["sentence"]) for one in receiver.messages
    ]
    assert found == [
        ("gate.ended", "fail", "tpmP is too low"),
        ("study.ended", "none", "Failed: no room."),
        ("gate.ended", "error", "disk_full: no room"),
    ]
    assert all(ci.get(url).status_code == 200 for url in gate_links(receiver.messages[0]))


def gate_links(message: Any) -> list[str]:
    links = message["data"]["links"]
    return [links[name].removeprefix("http://testserver") for name in ("gate", "junit", "summary")]


def test_each_webhook_hears_of_what_concerns_it(
    ci: Client, receive: Callable[..., Receiver]
) -> None:
    factories.make_user("ann", Role.OPERATOR)
    boss = client_of("boss", Role.ADMINISTRATOR, Scope.ADMIN)
    ended(name="before")
    own, gates, everybody = receive(), receive(), receive()
    make(ci, own.url)
    make(ci, gates.url, events=["gate.ended"])
    answer = ci.post(
        HOOKS, {"url": everybody.url, "of_everybody": True}, content_type="application/json"
    )
    assert error(answer, 403)["code"] == "permission_denied"
    make(boss, everybody.url, of_everybody=True)
    ended(name="of ci")
    ended("ann", name="of ann")
    elsewhere = ended(None, name="imported")
    Host.objects.filter(pk=elsewhere.host_id).update(name="theirs", imported={"host": "x"})
    Study.objects.exclude(pk=elsewhere.pk).update(host=factories.make_host("ours"))
    while send_all():
        pass
    assert [one["data"]["name"] for one in own.messages] == ["of ci"]
    assert gates.messages == []
    assert [one["data"]["name"] for one in everybody.messages] == ["of ci", "of ann"]

    # Rights that are gone, and a switch.
    set_role(User.objects.get(username="boss"), Role.OPERATOR)
    User.objects.filter(username="ci").update(is_active=False)
    ended(name="later")
    assert send_all() == 0
    User.objects.filter(username="ci").update(is_active=True)
    for active in (False, True):
        [first, *_] = Webhook.objects.filter(created_by__username="ci").order_by("pk")
        address = f"{HOOKS}{first.pk}/"
        answer = ci.patch(address, {"active": active}, content_type="application/json")
        assert answer.json()["active"] is active
        assert send_all() == 0  # what ended while it was off is not sent later


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (b"", "no answer within 1 s"),
        (b"HTTP/1.1 200", "no answer within 1 s"),
        (None, "no answer within 1 s"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "no answer in HTTP: BadStatusLine"),
        (b"HTTP/1.1 200 OK\r\nx: " + b"y" * 40_000, ""),
    ],
    ids=["hangs", "stops", "drips", "is no HTTP", "never ends"],
)
def test_a_host_that_does_not_answer_costs_its_timeout_only(
    ci: Client,
    receive: Callable[..., Receiver],
    monkeypatch: pytest.MonkeyPatch,
    settings: Settings,
    answer: bytes | None,
    problem: str,
) -> None:
    monkeypatch.setattr(posting, "TIMEOUT_S", 0.6)
    good = receive()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port, ends = silent.getsockname()[1], threading.Event()

        def respond() -> None:
            connection, _ = silent.accept()
            with connection:
                try:
                    connection.sendall(answer or b"")
                    while answer is None and not ends.wait(0.05):
                        connection.sendall(b"H")
                    ends.wait(20)
                except OSError:  # the sender has gone
                    return

        thread = threading.Thread(target=respond, daemon=True)
        thread.start()
        bad = f"http://127.0.0.1:{port}"
        texts = [*settings.WEBHOOK_HOSTS.texts, bad]
        settings.WEBHOOK_HOSTS = parse_destinations(texts)
        make(ci, f"{bad}/")
        make(ci, good.url)
        ended()
        assert send_all() == 2
        ends.set()
        thread.join()
    assert len(good.got) == 1
    rows = Delivery.objects.order_by("webhook_id").values_list("state", "status", "problem")
    arrived = ("delivered", 200, "")
    assert list(rows) == [("waiting", None, problem) if problem else arrived, arrived]


def test_a_redirection_is_not_followed(ci: Client, receive: Callable[..., Receiver]) -> None:
    target, receiver = receive(), receive(302)
    make(ci, receiver.url)
    receiver.url = target.url
    ended()
    assert send_all() == 1
    assert (len(receiver.got), target.got) == (1, [])
    assert Delivery.objects.get().problem == "answered with the status 302"


def test_a_sender_that_is_killed_sends_nothing_twice_at_once(
    ci: Client, receive: Callable[..., Receiver], monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver = receive()
    make(ci, receiver.url)
    ended()
    before = posting.post

    def killed(*arguments: Any) -> int:
        before(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(sending, "post", killed)
        with pytest.raises(KeyboardInterrupt):
            send_all()
    assert (send_all(), len(receiver.got)) == (0, 1)
    due()
    assert send_all() == 1
    one, two = receiver.got
    assert one[0]["webhook-id"] == two[0]["webhook-id"]
    assert one[1] == two[1]
    assert Delivery.objects.get().state == "delivered"


def test_of_two_senders_one_makes_the_attempt_and_a_late_failure_changes_nothing(
    ci: Client, receive: Callable[..., Receiver]
) -> None:
    make(ci, receive().url)
    ended()
    sending.note_ends()
    sending.note_ends()
    first, second = Delivery.objects.get(), Delivery.objects.get()
    assert sending._claim(first)
    assert not sending._claim(second)
    due()
    assert send_all() == 1
    sending._store(first, None, "no answer within 10 s")
    assert Delivery.objects.get().state == "delivered"


def test_a_sender_that_comes_after_anothers_attempt_does_not_make_the_next_one(
    ci: Client, receive: Callable[..., Receiver]
) -> None:
    receiver = receive(500)
    make(ci, receiver.url)
    ended()
    sending.note_ends()
    [found] = sending._due()  # by both, before either sends
    assert sending._send(found)
    assert not sending._send(found)
    row = Delivery.objects.get()
    assert (row.state, row.attempts, len(receiver.got)) == ("waiting", 1, 1)


def test_after_a_day_a_message_is_given_up_and_shown(
    ci: Client, receive: Callable[..., Receiver], client: Client
) -> None:
    assert timedelta(hours=20) < sum(GAPS, timedelta()) < timedelta(hours=30)
    receiver = receive(503)
    make(ci, receiver.url)
    ended()
    for _ in GAPS:
        assert send_all() == 1
        due()
    assert send_all() == 0
    row = Delivery.objects.get()
    assert (row.state, row.attempts, len(receiver.got)) == ("given_up", len(GAPS), len(GAPS))
    client.force_login(User.objects.get())
    page = client.get(reverse("account-webhooks")).content.decode()
    assert "Given up" in page
    assert "answered with the status 503" in page
    assert (forget_old(), Delivery.objects.count()) == (0, 1)
    Delivery.objects.update(created_at=timezone.now() - timedelta(days=31))
    Study.objects.update(finished_at=timezone.now() - timedelta(days=31))
    assert (forget_old(), send_all()) == (1, 0)


def test_the_last_attempt_of_a_killed_sender_is_given_up(
    ci: Client, receive: Callable[..., Receiver]
) -> None:
    make(ci, receive().url)
    ended()
    sending.note_ends()
    Delivery.objects.update(attempts=len(GAPS))
    assert send_all() == 0
    assert Delivery.objects.get().state == "given_up"


def test_while_this_host_measures_a_message_waits_but_not_for_ever(
    ci: Client, receive: Callable[..., Receiver], settings: Settings
) -> None:
    receiver = receive()
    make(ci, receiver.url)
    settings.HOST_NAME = ended().host.name
    factories.begin(factories.make_study(state=StudyState.RUNNING, **SMALL))
    assert (send_all(), receiver.got) == (0, [])
    Delivery.objects.update(next_at=timezone.now() - PATIENCE - timedelta(seconds=1))
    assert send_all() == 1


def test_what_goes_on_again_before_it_was_told_is_told_at_its_next_end(
    ci: Client, receive: Callable[..., Receiver]
) -> None:
    receiver = receive()
    make(ci, receiver.url)
    study = ended()
    sending.note_ends()
    Study.objects.update(state=StudyState.RUNNING, finished_at=None)
    assert send_all() == 0
    assert Delivery.objects.get().problem == "the study goes on again"
    Study.objects.filter(pk=study.pk).update(state=StudyState.FINISHED, finished_at=timezone.now())
    assert send_all() == 1


def test_a_certificate_that_is_not_trusted_gets_no_message(
    ci: Client, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, got = make_certificate("127.0.0.1"), list[bytes]()
    file = tmp_path / "receiver.pem"
    file.write_text(made.certificate + made.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def serve() -> None:
            for _ in range(2):
                connection, _ = server.accept()
                with suppress(OSError), context.wrap_socket(connection, server_side=True) as one:
                    while part := one.recv(65_536):
                        got.append(part)
                        if part.endswith(b"}"):
                            break
                    one.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        settings.WEBHOOK_HOSTS = parse_destinations([f"127.0.0.1:{port}"])
        make(ci, f"https://127.0.0.1:{port}/")
        ended()
        assert send_all() == 1
        assert "certificate is not to be trusted" in Delivery.objects.get().problem
        assert got == []
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
        due()
        assert send_all() == 1
        thread.join()
    row = Delivery.objects.get()
    assert (row.status, row.problem) == (204, "")
    assert got[0].startswith(b"POST / HTTP/1.1\r\n")


def test_the_web_process_sends_where_hosts_are_listed_and_goes_on_after_errors(
    monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    begun: dict[str, Any] = {}
    monkeypatch.setattr(attending, "_begin", lambda name, look, *_: begun.update({name: look}))
    settings.WEBHOOK_HOSTS = parse_destinations([])
    attending.attend()
    assert list(begun) == ["attendant"]
    settings.WEBHOOK_HOSTS = parse_destinations(["ci.example.org"])
    attending.attend()
    assert begun["webhooks"] is send_all

    ends = iter([DatabaseError("away"), RuntimeError("a bug"), KeyboardInterrupt()])

    def look() -> None:
        raise next(ends)

    monkeypatch.setattr(attending, "connections", SimpleNamespace(close_all=lambda: None))
    with pytest.raises(KeyboardInterrupt):
        attending._repeat(look, 0.0, "nothing is sent")


# --- where it may go -----------------------------------------------------------------------------

LIST = (
    "ci.example.org, .hooks.example.org, api.example.org:8443, http://plain.example.org, "
    "10.2.0.0/16"
)


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> Destinations:
    monkeypatch.setenv("ADVISOR_WEBHOOK_HOSTS", LIST)
    return read_destinations("ADVISOR_WEBHOOK_HOSTS")


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("https://ci.example.org/x?y=1", ""),
        ("https://CI.example.org./", ""),
        ("https://a.b.hooks.example.org", ""),
        ("https://api.example.org:8443/", ""),
        ("http://plain.example.org/", ""),
        ("https://hooks.example.org/", "host_not_listed"),
        ("https://evilci.example.org/", "host_not_listed"),
        ("https://ci.example.org.evil.com/", "host_not_listed"),
        ("https://ci.example.org:22/", "host_not_listed"),
        ("https://ci.example.org:0/", "host_not_listed"),
        ("https://api.example.org/", "host_not_listed"),
        ("http://ci.example.org/", "host_not_listed"),
        ("https://plain.example.org/", "host_not_listed"),
        ("https://127.0.0.1/", "host_not_listed"),
        ("https://10.2.3.4/", "host_not_listed"),
        ("https://user:password@ci.example.org/", "invalid_url"),
        ("https://ci.example.org@evil.com/", "invalid_url"),
        ("https://evil.com\\@ci.example.org/", "invalid_url"),
        ("https://ci.example.org/#here", "invalid_url"),
        ("https://ci.example.org/\r\nX: y", "invalid_url"),
        ("https://ci.example.örg/", "invalid_url"),
        ("https://[::1/", "invalid_url"),
        ("https://ci.example.org:99999/", "invalid_url"),
        ("ftp://ci.example.org/", "invalid_url"),
        ("file:///etc/passwd", "invalid_url"),
        ("ci.example.org", "invalid_url"),
        (f"https://ci.example.org/{'x' * 500}", "invalid_url"),
    ],
)
def test_urls_are_held_against_the_list(listed: Destinations, url: str, code: str) -> None:
    try:
        listed.target(url)
        found = ""
    except UrlRefused as refused:
        found = refused.code
    assert found == code


@pytest.mark.parametrize(
    ("address", "may"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1::1", True),
        ("10.2.255.1", True),
        ("::ffff:10.2.0.1", True),
        ("10.3.0.1", False),
        ("127.0.0.1", False),
        ("0.0.0.0", False),  # noqa: S104  # to be refused
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("192.168.1.1", False),
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("::1", False),
        ("::", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("fec0::1", False),
        ("ff02::1", False),
        ("::ffff:127.0.0.1", False),
        ("64:ff9b::7f00:1", False),
        ("64:ff9b::5db8:d822", True),
        ("2002:7f00:1::", False),
        ("2001:0:5ef5:79fd::1", False),
    ],
)
def test_addresses_are_the_worlds_or_listed(listed: Destinations, address: str, may: bool) -> None:
    assert listed.may_reach(address) is may


@pytest.mark.parametrize(
    "text", ["ftp://x", "https://a/b", "a b", "10.0.0.0/33", "https://u:p@h", "x:99999", "*.x"]
)
def test_a_list_with_what_is_no_host_is_refused(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("ADVISOR_WEBHOOK_HOSTS", f"ci.example.org,{text}")
    with pytest.raises(ImproperlyConfigured, match="ADVISOR_WEBHOOK_HOSTS"):
        read_destinations("ADVISOR_WEBHOOK_HOSTS")


def test_a_listed_name_that_leads_to_this_host_is_not_connected_to(
    ci: Client, receive: Callable[..., Receiver], monkeypatch: Any, settings: Settings
) -> None:
    receiver = receive()
    port = int(receiver.url.partition("/hook")[0].rpartition(":")[2])
    settings.WEBHOOK_HOSTS = parse_destinations([f"http://ci.example.org:{port}"])
    there = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [there])
    make(ci, f"http://ci.example.org:{port}/")
    ended()
    assert send_all() == 1
    assert receiver.got == []
    assert "127.0.0.1, which is no address of the world" in Delivery.objects.get().problem
    settings.WEBHOOK_HOSTS = parse_destinations(["elsewhere.example.org"])
    due()
    assert send_all() == 0
    row = Delivery.objects.get()
    assert (row.state, "ADVISOR_WEBHOOK_HOSTS" in row.problem) == ("given_up", True)


# --- making them ---------------------------------------------------------------------------------


def test_the_secret_is_shown_once_and_stored_sealed(
    ci: Client, receive: Callable[..., Receiver], settings: Settings
) -> None:
    receiver = receive()
    made = make(ci, receiver.url)
    secret = made["secret"].removeprefix("whsec_")
    shown = ci.get(HOOKS).content + ci.get(f"{HOOKS}{made['id']}/").content
    assert secret.encode() not in shown
    assert secret not in repr(list(Webhook.objects.values()))
    ended()
    settings.SECRET_KEY = "another"
    assert send_all() == 0
    row = Delivery.objects.get()
    assert (row.state, "ADVISOR_SECRET_KEY" in row.problem) == ("given_up", True)


def test_what_cannot_be_made_or_tested_is_refused_with_the_field(
    ci: Client, receive: Callable[..., Receiver], monkeypatch: Any
) -> None:
    receiver = receive()
    made = make(ci, receiver.url)

    def refused(**values: Any) -> dict[str, Any]:
        return error(ci.post(HOOKS, values, content_type="application/json"), 400)

    assert refused(url=receiver.url)["code"] == "url_taken"
    assert list(refused(url="https://example.org/")["details"]) == ["url"]
    assert refused(url=receiver.url, events=[])["code"] == "invalid_request"
    assert refused(url=receiver.url, events=["x"])["code"] == "invalid_request"
    monkeypatch.setattr("advisor.webhooks.hooks.MAX_WEBHOOKS", 1)
    assert refused(url=f"{receiver.url}2")["code"] == "too_many"
    address = f"{HOOKS}{made['id']}/"
    started = ci.post(f"{address}test/")
    assert (started.status_code, started.json()["state"]) == (202, "waiting")
    assert error(ci.post(f"{address}test/"), 409)["code"] == "test_waiting"
    assert send_all() == 1
    assert receiver.messages == [
        {
            "type": "webhook.test",
            "timestamp": started.json()["created_at"],
            "data": {"webhook": made["id"]},
        }
    ]
    ci.patch(address, {"active": False}, content_type="application/json")
    assert error(ci.post(f"{address}test/"), 400)["code"] == "webhook_rests"
    other = client_of("other")
    assert other.get(HOOKS).json()["count"] == 0
    assert {other.get(address).status_code, other.delete(address).status_code} == {403}
    assert client_of("boss", Role.ADMINISTRATOR, Scope.ADMIN).get(HOOKS).json()["count"] == 1
    assert ci.delete(address).status_code == 204
    assert not Delivery.objects.exists()


def test_the_page_makes_tests_switches_and_deletes(
    client: Client, receive: Callable[..., Receiver], settings: Settings
) -> None:
    page = reverse("account-webhooks")
    client.force_login(factories.make_user("ann", Role.OPERATOR))
    assert "No webhook can be created yet" in client.get(page).content.decode()
    receiver = receive()
    answer = client.post(page, {"url": receiver.url, "events": ["gate.ended"]})
    assert "whsec_" in answer.content.decode()
    assert "no-store" in answer["Cache-Control"]
    assert "whsec_" not in client.get(page).content.decode()
    refused = client.post(page, {"url": "https://example.org/", "events": ["gate.ended"]})
    assert refused.status_code == 400
    assert "is not in ADVISOR_WEBHOOK_HOSTS" in refused.content.decode()
    address = reverse("webhook-change", args=[Webhook.objects.get().pk])
    client.post(address, {"action": "test"})
    assert send_all() == 1
    text = client.get(page).content.decode()
    for said in ("Sent when a gate has ended", "A test was asked for", "Delivered"):
        assert said in text
    client.post(address, {"action": "off"})
    assert "Switch on" in client.get(page).content.decode()
    assert (
        "No test message was sent"
        in client.post(address, {"action": "test"}, follow=True).content.decode()
    )
    client.post(address, {"action": "on"})
    assert Webhook.objects.get().is_active
    client.post(address, {"action": "delete"})
    assert not Webhook.objects.exists()


# --- the command ---------------------------------------------------------------------------------


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[str, str]]:
    """What `manage.py webhook` writes, and what it complains of."""

    def say(*words: Any) -> tuple[str, str]:
        with suppress(SystemExit):
            call_command("webhook", *map(str, words))
        out, err = capsys.readouterr()
        return out.strip(), err.strip()

    return say


def test_the_command_adds_tests_switches_and_removes(
    receive: Callable[..., Receiver],
    say: Callable[..., tuple[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    receiver = receive(500, 200)
    factories.make_user("ci", Role.OPERATOR)
    file = tmp_path / "secret"
    words = ("--user", "ci", "--event", "study.ended", "--site", "https://advisor.example.org/x/")
    out, err = say("add", receiver.url, *words, "--secret-file", file)
    hook = Webhook.objects.get()
    assert (out, str(file) in err) == ("", True)
    secret = file.read_text().strip()
    assert re.fullmatch(r"whsec_\S{20,}", secret)
    assert file.stat().st_mode & 0o777 == 0o600
    assert (hook.events, hook.created_by.username) == (["study.ended"], "ci")

    listed, _ = say("list")
    assert listed == f"{hook.pk}  {receiver.url}  study.ended  ci's  on  nothing sent yet"
    # The web process sends while the command waits.
    clock = SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: send_all())
    monkeypatch.setattr(webhook_command, "time", clock)
    _, err = say("test", hook.pk)
    assert err == "not_delivered: answered with the status 500; it is tried 6 times more"
    Delivery.objects.all().delete()
    out, _ = say("test", hook.pk)
    assert out == f"{receiver.url} answered with the status 200."
    assert "last " in say("list")[0]
    ended()
    assert send_all() == 1
    headers, body = receiver.got[-1]
    assert is_genuine()(secret, headers, body)
    links = receiver.messages[-1]["data"]["links"].values()
    assert all(link.startswith("https://advisor.example.org/x/") for link in links)

    assert "nothing is sent: it is switched off" in say("off", hook.pk)[0]
    assert say("test", hook.pk)[1].startswith("webhook_rests: ")
    assert say("on", hook.pk)[0].endswith(": on.")
    assert "is deleted" in say("remove", hook.pk)[0]
    assert say("remove", hook.pk)[1] == f"not_found: there is no webhook {hook.pk}"


def test_the_command_takes_a_url_from_stdin_and_prints_the_secret_alone(
    receive: Callable[..., Receiver],
    say: Callable[..., tuple[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    settings: Settings,
) -> None:
    receiver = receive()
    factories.make_user("boss", Role.ADMINISTRATOR)
    settings.CSRF_TRUSTED_ORIGINS = ["https://advisor.example.org"]
    monkeypatch.setattr("sys.stdin", StringIO(f"{receiver.url}\n"))
    out, err = say("add", "-", "--user", "boss", "--of-everybody")
    assert re.fullmatch(r"whsec_\S{20,}", out)
    assert out not in err
    assert Webhook.objects.values_list("site", "of_everybody").get() == (
        "https://advisor.example.org/",
        True,
    )
    ended(None)  # by a command
    assert send_all() == 1


def test_what_the_command_refuses_leaves_no_webhook_and_no_file(
    receive: Callable[..., Receiver],
    say: Callable[..., tuple[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    url = receive().url
    factories.make_user("ci", Role.OPERATOR)
    factories.make_user("eve", Role.VIEWER)
    there = tmp_path / "there"
    there.write_text("kept")
    new = ("--secret-file", tmp_path / "new")
    for words, code in (
        ((url, "--user", "nobody"), "no_account"),
        ((url, "--user", "eve"), "permission_denied"),
        ((url, "--user", "ci", "--of-everybody"), "permission_denied"),
        ((url, "--user", "ci", "--site", "advisor"), "invalid_site"),
        ((url, "--user", "ci", "--site", "http://[::1"), "invalid_site"),
        ((url, "--user", "ci", "--secret-file", there), "output_not_writable"),
        (("https://example.org/", "--user", "ci", *new), "host_not_listed"),
    ):
        assert say("add", *words)[1].startswith(f"{code}: "), words

    def full(*_: Any) -> int:
        raise OSError(ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.write", full)
        said = say("add", url, "--user", "ci", *new)
    assert said == ("", f"output_not_writable: {new[1]}: No space left on device")
    assert not Webhook.objects.exists()
    assert there.read_text() == "kept"
    assert not (tmp_path / "new").exists()
    # Nobody sends.
    monkeypatch.setattr(webhook_command, "TEST_PATIENCE_S", 0.0)
    monkeypatch.setattr(webhook_command, "_LOOK_S", 0.0)
    assert say("add", url, "--user", "ci")[0].startswith("whsec_")
    assert say("test", Webhook.objects.get().pk)[1].startswith("not_sent: ")

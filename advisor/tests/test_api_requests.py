"""How clients ask: the same request twice, what they know already, with patience, page by page."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings
from django.db import transaction
from django.test import Client
from django.utils import timezone
from rest_framework.exceptions import ValidationError

from advisor.access.models import Scope
from advisor.access.roles import Role
from advisor.access.tokens import create_token
from advisor.api.errors import ApiError
from advisor.api.models import IdempotencyKey
from advisor.api.waiting import MAX_WAITING_OF_ACCOUNT, Waiting
from advisor.tests import factories
from advisor.tests.test_api import error
from advisor.upkeep import housekeeping
from benchmarks.models import Device, Host, Probe, RunState
from benchmarks.tests.made_up_host import made_up_host, this_host, with_inventory
from tuning.errors import TuningError
from tuning.models import Slot, Study, StudyState

pytestmark = pytest.mark.django_db

STUDIES = "/api/v1/studies/"
KEY = {"Idempotency-Key": "build-4711"}


def client_of(name: str, role: Role = Role.OPERATOR, scope: Scope = Scope.RUN) -> Client:
    token = create_token(factories.make_user(name, role), name, scope)
    return Client(headers={"Authorization": f"Bearer {token}"})


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Client:
    monkeypatch.setattr("celery.Celery.send_task", lambda *args, **kwargs: None)
    return client_of("ci")


def post(api: Client, body: Any, address: str = STUDIES, **headers: str) -> Any:
    return api.post(address, body, content_type="application/json", headers=KEY | headers)


# --- the same request twice ----------------------------------------------------------------------


class Creation:
    """Stands in for create_study: writes in one transaction as it does, and may be interrupted."""

    def __init__(self) -> None:
        self.before_writing: Callable[[], object] = lambda: None
        self.refusal: Exception | None = None

    def __call__(self, request: Any, user: Any, also: Callable[[Study], None]) -> Study:
        interrupt, self.before_writing = self.before_writing, lambda: None
        interrupt()
        if self.refusal:
            raise self.refusal
        with transaction.atomic():
            study = factories.make_study(blocks=1, created_by=user)
            also(study)
        return study


@pytest.fixture
def creation(monkeypatch: pytest.MonkeyPatch) -> Creation:
    fake = Creation()
    monkeypatch.setattr("advisor.api.views.create_study", fake)
    return fake


def test_a_request_that_is_sent_again_gets_the_same_study(api: Client, creation: Creation) -> None:
    first, second = post(api, {"name": "x"}), post(api, {"name": "x"})
    assert [first.status_code, second.status_code] == [201, 201]
    assert first["Location"] == second["Location"]
    assert first.json() == second.json()
    assert "Idempotency-Replayed" not in first
    assert second["Idempotency-Replayed"] == "true"
    assert Study.objects.count() == 1
    other_body = error(post(api, {"name": "y"}), 422)
    assert other_body["code"] == "idempotency_key_reused"
    # Keys are those of an account.
    assert post(client_of("another"), {"name": "y"}).status_code == 201
    assert Study.objects.count() == 2


def test_two_at_once_with_one_key_make_one_study(api: Client, creation: Creation) -> None:
    inner: list[Any] = []
    creation.before_writing = lambda: inner.append(post(api, {}))
    outer = post(api, {})
    assert (outer.status_code, inner[0].status_code) == (201, 201)
    assert outer.json()["id"] == inner[0].json()["id"] == Study.objects.get().pk
    # The same where the other has already taken what this one needs.
    creation.refusal = TuningError("host_busy", "no more room")
    creation.before_writing = lambda: IdempotencyKey.objects.update(key="late")
    assert post(api, {}, **{"Idempotency-Key": "late"}).json()["id"] == outer.json()["id"]
    assert Study.objects.count() == 1


def test_a_request_that_failed_may_be_sent_again_with_its_key(
    api: Client, creation: Creation
) -> None:
    creation.refusal = TuningError("no_driver", "there is none")
    assert error(post(api, {"name": "x"}), 400)["code"] == "no_driver"
    assert error(post(api, {"warehouses": 0}), 400)["code"] == "invalid_request"
    creation.refusal = None
    assert post(api, {"name": "x"}).status_code == 201


@pytest.mark.parametrize("key", ["", "a b", "x" * 256, "\N{PILE OF POO}"])
def test_a_key_that_is_none_is_refused(api: Client, creation: Creation, key: str) -> None:
    found = error(post(api, {}, **{"Idempotency-Key": key}), 400)
    assert found["code"] == "invalid_idempotency_key"
    assert not Study.objects.exists()


def test_probes_have_keys_as_well(api: Client) -> None:
    device = factories.found_device()
    address = f"/api/v1/devices/{device.pk}/probes/"
    first, second = (post(api, {"seconds": 30}, address) for _ in range(2))
    assert (first.status_code, second.status_code) == (202, 202)
    assert first["Location"] == second["Location"]
    # Without the key it is another probe, which has to wait.
    refused = api.post(address, {}, content_type="application/json")
    assert error(refused, 409)["code"] == "probe_running"
    assert refused["Retry-After"] == "10"
    assert Probe.objects.count() == 1
    # The same words to another address are another request.
    other = factories.make_device(host=device.host, data_dir="/srv/other")
    elsewhere = post(api, {"seconds": 30}, f"/api/v1/devices/{other.pk}/probes/")
    assert error(elsewhere, 422)["code"] == "idempotency_key_reused"


def test_the_key_is_kept_by_whatever_really_makes_the_row(api: Client, tmp_path: Path) -> None:
    this_host(driver="sysbench", directories=[tmp_path])
    there = made_up_host(name="db2", driver="sysbench", directories=[tmp_path])
    with_inventory(factories.make_host("db2"), there)
    wanted = {"template": "quick", "warehouses": 1, "connections": [1]}
    hosts = {"hosts": [settings.HOST_NAME, "db2"]}
    for address, body in ((STUDIES, wanted), ("/api/v1/study-groups/", wanted | hosts)):
        key = {"Idempotency-Key": address}
        first, second = (post(api, body, address, **key) for _ in range(2))
        assert (first.status_code, second.status_code) == (201, 201), first.content
        assert first["Location"] == second["Location"]
    assert Study.objects.count() == 1 + 2


def test_keys_are_forgotten_after_a_week(api: Client, creation: Creation) -> None:
    post(api, {})
    list(housekeeping.keep_house(None))
    assert IdempotencyKey.objects.exists()
    IdempotencyKey.objects.update(created_at=timezone.now() - timedelta(days=7, seconds=1))
    list(housekeeping.keep_house(None))
    assert not IdempotencyKey.objects.exists()


# --- what the client knows already ---------------------------------------------------------------

PARTS = ["", "ranking/", "results/", "runs/", "recommendation/", "recommendation/my.cnf"]


@pytest.mark.parametrize("part", PARTS)
def test_what_a_client_has_of_an_ended_study_is_not_sent_again(
    api: Client, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    study = factories.measured_study(blocks=1)
    address = f"{STUDIES}{study.pk}/{part}"
    first = api.get(address)
    known = {"If-None-Match": f'"something else", W/{first["ETag"]}'}
    assert first.status_code == 200
    with monkeypatch.context() as patch:
        for name in ("views", "recommendation_views"):  # nothing is read or computed
            patch.setattr(f"advisor.api.{name}.studies", None)
        again = api.get(address, headers=known)
    assert (again.status_code, again.content, again["ETag"]) == (304, b"", first["ETag"])
    # Another address, other rows: another tag.
    assert api.get(f"{address}?durability=D0", headers=known).status_code == 200
    Device.objects.update(kind="nvme")
    changed = api.get(address, headers=known)
    assert changed.status_code == 200
    Host.objects.update(name="renamed")
    assert api.get(address)["ETag"] not in (changed["ETag"], first["ETag"])


def test_what_still_changes_has_no_tag(api: Client) -> None:
    study = factories.make_study(state=StudyState.RUNNING)
    everything = {"If-None-Match": "*"}
    for part in ("", "ranking/", "results/", "runs/"):
        answer = api.get(f"{STUDIES}{study.pk}/{part}", headers=everything)
        assert (answer.status_code, answer.has_header("ETag")) == (200, False)
    running = api.get(f"{STUDIES}{study.pk}/recommendation/", headers=everything)
    assert error(running, 409)["code"] == "study_running"
    assert running["Retry-After"] == "10"
    assert api.get(f"{STUDIES}4711/", headers=everything).status_code == 404


# --- patience ------------------------------------------------------------------------------------


class Clock:
    """Time that passes only while somebody sleeps; `then` says what happens in which second."""

    def __init__(self) -> None:
        self.now = 100.0
        self.then: dict[int, Callable[[], object]] = {}

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.then.pop(round(self.now - 100), lambda: None)()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    waiting = Waiting(clock=lambda: found.now, sleep=found.sleep)
    monkeypatch.setattr("advisor.api.waiting.WAITING", waiting)
    return found


def test_a_long_poll_is_answered_when_the_study_ends(api: Client, clock: Clock) -> None:
    study = factories.make_study(state=StudyState.RUNNING)
    address = f"{STUDIES}{study.pk}/"
    rows = Study.objects.filter(pk=study.pk)
    clock.then[3] = lambda: rows.update(preparing_fraction=0.5)
    clock.then[7] = lambda: rows.update(state=StudyState.FINISHED)
    assert api.get(address, {"wait": 5}).json()["state"] == "running"
    assert clock.now == 105
    assert api.get(address, {"wait": 60}).json()["state"] == "finished"
    assert clock.now == 107  # the second in which it ended
    api.get(address, {"wait": 60})
    api.get(address, {"wait": 60, "version": api.get(address).json()["version"]})
    assert clock.now == 107  # whoever has ended is not waited for


def test_a_long_poll_is_answered_when_what_one_knows_differs(api: Client, clock: Clock) -> None:
    study = factories.make_study(state=StudyState.RUNNING)
    address = f"{STUDIES}{study.pk}/"
    known = api.get(address).json()["version"]
    run = Slot.objects.filter(study=study).order_by("order")[0].run
    clock.then[4] = lambda: type(run).objects.filter(pk=run.pk).update(state=RunState.RUNNING)
    changed = api.get(address, {"wait": 60, "version": known}).json()
    assert (clock.now, changed["version"] != known) == (104, True)
    # What was seen of it a moment ago does not answer the next one at once.
    type(run).objects.filter(pk=run.pk).update(state=RunState.OK)
    newest = api.get(address).json()["version"]
    assert newest != changed["version"]
    api.get(address, {"wait": 5, "version": newest})
    assert clock.now == 109
    assert api.get(address, {"wait": 60, "version": known}).status_code == 200
    assert clock.now == 109


def test_a_new_study_is_waited_for_although_others_were_just_looked_at(
    api: Client, clock: Clock
) -> None:
    first = factories.make_study(state=StudyState.RUNNING)
    api.get(f"{STUDIES}{first.pk}/", {"wait": 1})
    second = factories.make_study(state=StudyState.QUEUED)
    api.get(f"{STUDIES}{second.pk}/", {"wait": 5})
    assert clock.now == 106


@pytest.mark.parametrize("seconds", ["-1", "61", "x", "", "1" * 5000])
def test_nobody_waits_for_ever(api: Client, clock: Clock, seconds: str) -> None:
    study = factories.make_study(state=StudyState.RUNNING)
    found = error(api.get(f"{STUDIES}{study.pk}/", {"wait": seconds}), 400)
    assert set(found["details"]) == {"wait"}
    assert clock.now == 100


def waiter(pk: int, wait: int) -> Any:
    return SimpleNamespace(user=SimpleNamespace(pk=pk), query_params={"wait": wait})


def test_those_who_wait_are_limited_in_number_and_share_a_look() -> None:
    clock, looks = Clock(), []
    waiting = Waiting(clock=lambda: clock.now, sleep=clock.sleep)

    def never() -> bool:
        waiting.look("here", lambda: looks.append(clock.now))
        return False

    # As many as may wait: each one's first sleep begins the next.
    depth = 0

    def sleep(seconds: float) -> None:
        nonlocal depth
        if depth < MAX_WAITING_OF_ACCOUNT - 1:
            depth += 1
            waiting.wait(waiter(1, 60), never)
        elif depth == MAX_WAITING_OF_ACCOUNT - 1:
            depth += 1
            with pytest.raises(ApiError) as found:
                waiting.wait(waiter(1, 60), never)
            assert (found.value.status_code, found.value.wait) == (429, 5)
            waiting.wait(waiter(2, 1), never)  # another account is not shut out
        clock.sleep(seconds)

    waiting._sleep = sleep
    waiting.wait(waiter(1, 60), never)
    assert depth == MAX_WAITING_OF_ACCOUNT
    assert len(looks) == len(set(looks))  # never twice in the same second
    with pytest.raises(ValidationError):
        waiting.wait(waiter(1, 99), never)


def test_a_server_that_is_to_stop_keeps_nobody() -> None:
    clock = Clock()
    waiting = Waiting(clock=lambda: clock.now, sleep=clock.sleep)
    waiting.stays_open = lambda: clock.now < 102
    waiting.wait(waiter(1, 60), lambda: False)
    assert clock.now == 102


# --- page by page --------------------------------------------------------------------------------


def test_cursors_miss_and_repeat_nothing_that_was_there(api: Client) -> None:
    old = [factories.make_study(blocks=1, names=["server-default"]).pk for _ in range(5)]
    page = api.get(f"{STUDIES}?cursor=&page_size=2").json()
    seen = [one["id"] for one in page["results"]]
    while page["next"]:
        factories.make_study(blocks=1, names=["server-default"])
        page = api.get(page["next"]).json()
        seen += [one["id"] for one in page["results"]]
    assert seen == old[::-1]
    assert page["previous"]
    assert page["count"] == 7


def test_pages_that_cannot_be_are_refused(api: Client) -> None:
    factories.make_study(blocks=1, names=["server-default"])
    for query in ({"page_size": "x"}, {"page_size": "0"}, {"page_size": "201"}, {"page": "0"}):
        assert set(error(api.get(STUDIES, query), 400)["details"]) == set(query)
    both = api.get(f"{STUDIES}?page=1&cursor=")
    assert error(both, 400)["code"] == "invalid_request"
    assert error(api.get(STUDIES, {"page": 2}), 404)["code"] == "not_found"
    for cursor in ("x", "cD14", "cD05OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5", "bz0tMQ=="):
        answer = api.get(STUDIES, {"cursor": cursor})
        assert answer.status_code in (200, 404), cursor
        if answer.status_code == 404:
            assert error(answer, 404)["code"] == "not_found"

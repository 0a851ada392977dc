"""How clients ask: the same request twice, what they know already, with patience, page by page."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import transaction
from django.test import Client
from django.utils import timezone

from advisor.access.models import Scope
from advisor.access.roles import Role
from advisor.access.tokens import create_token
from advisor.api.models import IdempotencyKey
from advisor.tests import factories
from advisor.tests.test_api import error
from advisor.upkeep import housekeeping
from benchmarks.models import Device, Host, Probe
from benchmarks.tests.made_up_host import made_up_host, this_host, with_inventory
from tuning.errors import TuningError
from tuning.models import Study, StudyState

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

"""The API on hosts: what each does, draining, and what is listed of one host."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from django.contrib.auth.models import User
from django.test import Client

from advisor.tests import factories
from advisor.tests.test_api import error
from advisor.tests.test_api_contract import COMMITTED, check
from advisor.tests.test_pages_hosts import a_host, fleet

pytestmark = pytest.mark.django_db
HOSTS = "/api/v1/hosts/"


@pytest.fixture
def api(client: Client, admin_user: User, monkeypatch: pytest.MonkeyPatch) -> Client:
    monkeypatch.setattr("celery.Celery.send_task", lambda *args, **kwargs: None)
    client.force_login(admin_user)
    return client


def post(api: Client, address: str, body: Any = None) -> Any:
    return api.post(address, json.dumps(body or {}), content_type="application/json")


def test_a_host_says_what_it_does_and_what_waits(api: Client) -> None:
    document = yaml.safe_load(COMMITTED.read_text())
    busy, quiet = fleet("busy"), a_host("quiet")
    page = api.get(HOSTS).json()
    check(document, "HostPage", page)
    assert [(one["name"], one["state"]) for one in page["results"]] == [
        ("busy", "measuring"),
        ("quiet", "idle"),
    ]
    found = api.get(f"{HOSTS}{busy.pk}/").json()
    check(document, "HostDetail", found)
    check(document, "Inventory", found["inventory"])
    assert found["inventory"]["servers"][0]["version"] == "9.7.4"
    for part, name in (("job", "HostJob"), ("queue", "HostQueue")):
        check(document, name, found[part])
    assert found["job"]["step"] == "warming up"
    assert (len(found["queue"]["studies"]), len(found["queue"]["probes"])) == (1, 1)
    [problem] = found["problems"]
    check(document, "HostProblem", problem)
    assert problem["code"] == "failed_study"
    assert api.get(f"{HOSTS}{quiet.pk}/").json()["job"] is None
    assert api.get(f"{HOSTS}999/").status_code == 404


def test_a_host_is_drained_and_undrained(api: Client) -> None:
    document = yaml.safe_load(COMMITTED.read_text())
    host = a_host()
    study = factories.make_study(blocks=1)
    drained = post(api, f"{HOSTS}{host.pk}/drain/", {"reason": "a new disk"}).json()
    check(document, "HostDetail", drained)
    check(document, "Drain", drained["drained"])
    assert (drained["state"], drained["drained"]["by"]) == ("drained", "admin")
    waits = api.get(f"/api/v1/studies/{study.pk}/").json()["progress"]["text"]
    assert waits.startswith("waiting: host db-host-1 is drained since ")
    assert waits.endswith(" by admin: a new disk")
    assert error(post(api, f"{HOSTS}{host.pk}/drain/"), 400)["code"] == "already_drained"
    assert post(api, f"{HOSTS}{host.pk}/undrain/").json()["drained"] is None
    assert error(post(api, f"{HOSTS}{host.pk}/undrain/"), 400)["code"] == "not_drained"
    refused = error(post(api, f"{HOSTS}{host.pk}/drain/", {"why": "no"}), 400)
    assert refused["code"] == "invalid_request"
    assert post(api, f"{HOSTS}999/undrain/").status_code == 404


def test_studies_and_devices_are_listed_by_host(api: Client) -> None:
    for name in ("one", "two"):
        factories.make_study(
            device=factories.make_device(host=factories.make_host(name)), blocks=1
        )
    for address in ("/api/v1/studies/", "/api/v1/devices/"):
        assert api.get(address).json()["count"] == 2
        [found] = api.get(address, {"host": "two"}).json()["results"]
        assert found["host"] == "two"
        refused = error(api.get(address, {"host": "three"}), 400)
        assert refused["details"] == {"host": ["There is no such host."]}

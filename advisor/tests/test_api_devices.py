"""The API on devices: registered, corrected, probed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from advisor.tests import factories
from advisor.tests.test_api import error
from benchmarks.models import JobState, Probe
from benchmarks.tests.made_up_host import made_up_host, with_inventory

pytestmark = pytest.mark.django_db
V1 = "/api/v1/"
DEVICES = f"{V1}devices/"


@pytest.fixture
def api(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path
) -> Client:
    # Whatever Redis this machine runs hears nothing of a test's probe.
    monkeypatch.setattr("celery.Celery.send_task", lambda *args, **kwargs: None)
    settings.HOST_NAME = factories.make_host().name
    with_inventory(factories.make_host(), made_up_host(directories=[tmp_path]))
    return admin_client


def post(api: Client, address: str, body: Any) -> Any:
    return api.post(address, json.dumps(body), content_type="application/json")


def test_a_directory_becomes_a_device(api: Client, tmp_path: Path) -> None:
    answer = post(api, DEVICES, {"path": str(tmp_path)})
    assert answer.status_code == 201, answer.content
    found = answer.json()
    assert found["device"]["data_dir"] == str(tmp_path)
    assert found["identity"]["path"] == str(tmp_path)
    again = post(api, DEVICES, {"path": str(tmp_path)}).json()
    assert again["device"]["id"] == found["device"]["id"]


def test_a_device_is_probed_once_at_a_time(api: Client) -> None:
    device = factories.found_device()
    address = f"{DEVICES}{device.pk}/actions/probe/"
    made = post(api, address, {"seconds": 45}).json()["made"]
    found = api.get(f"{V1}probes/{made}/").json()
    assert (found["state"], found["seconds"], found["device_id"]) == ("queued", 45, device.pk)
    assert found["result"] is None
    answer = post(api, address, {})
    assert error(answer, 409)["code"] == "probe_running"
    assert answer["Retry-After"]
    assert api.get(f"{DEVICES}{device.pk}/").json()["active_probe"]["id"] == made
    assert post(api, f"{V1}probes/{made}/actions/cancel/", {}).status_code == 200
    assert Probe.objects.get(pk=made).state == JobState.CANCELLED
    assert error(post(api, address, {"seconds": 1e300}), 400)["field"] == "seconds"


def test_a_probe_s_result_is_whole_and_lists_go_without(
    api: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    device = factories.found_device()
    probe = factories.probed(device)
    found = api.get(f"{V1}probes/{probe.pk}/").json()
    assert len(found["result"]["jobs"]) > 1
    factories.probed(device)
    with django_assert_max_num_queries(7):
        listed = api.get(f"{DEVICES}{device.pk}/probes/").json()
    assert [one["id"] for one in listed["results"]] == [probe.pk + 1, probe.pk]
    assert all("result" not in one for one in listed["results"])


def test_all_devices_are_listed_in_as_many_queries_as_one(
    api: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(3):
        factories.probed(factories.found_device(data_dir=f"/srv/{number}"))
    with django_assert_max_num_queries(12):
        page = api.get(DEVICES).json()
    assert page["count"] == 3
    assert all(one["last_probe"] for one in page["results"])

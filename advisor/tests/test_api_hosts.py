"""The API on hosts: what each does, draining, and what is listed of one host."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from advisor.access.roles import Role
from advisor.tests import factories
from advisor.tests.test_api import error
from advisor.tests.test_pages_hosts import a_host, fleet
from benchmarks.jobs.engine import execute
from benchmarks.jobs.inspections import InspectionKind
from benchmarks.models import JobState, Probe
from benchmarks.tests.made_up_host import MYSQL, made_up_host, with_inventory

pytestmark = pytest.mark.django_db
V1 = "/api/v1/"
HOSTS = f"{V1}hosts/"
STUDIES = "/api/v1/studies/"
GROUPS = "/api/v1/groups/"


@pytest.fixture
def api(admin_client: Client) -> Client:
    return admin_client


def post(client: Client, address: str, body: Any = None) -> Any:
    return client.post(address, body or {}, content_type="application/json")


def test_a_host_says_what_it_does_and_what_waits(api: Client) -> None:
    busy, quiet = fleet("busy"), a_host("quiet")
    page = api.get(HOSTS).json()
    assert [(one["name"], one["state"]) for one in page["results"]] == [
        ("busy", "measuring"),
        ("quiet", "idle"),
    ]
    found = api.get(f"{HOSTS}{busy.pk}/").json()
    assert found["inventory"]["servers"][0]["version_text"] == "9.7.4"
    assert found["job"]["step"] == "warming up"
    assert (len(found["queue"]["studies"]), len(found["queue"]["probes"])) == (1, 1)
    [problem] = found["problems"]
    assert problem["code"] == "failed_study"
    assert api.get(f"{HOSTS}{quiet.pk}/").json()["job"] is None
    assert api.get(f"{HOSTS}999/").status_code == 404


def test_studies_and_devices_are_listed_by_host(api: Client) -> None:
    for name in ("one", "two"):
        factories.make_study(
            device=factories.make_device(host=factories.make_host(name)), blocks=1
        )
    for address in ("/api/v1/studies/", "/api/v1/devices/"):
        assert api.get(address).json()["count"] == 2
        [found] = api.get(address, {"host": "two"}).json()["results"]
        assert found.get("device", found)["host"] == "two"
        assert api.get(address, {"host": "three"}).json()["count"] == 0


@pytest.mark.long
def test_a_study_over_several_hosts_is_requested_as_one(api: Client, tmp_path: Path) -> None:
    for name in ("one", "two"):
        a_host(name, directories=[tmp_path])
    config = {"name": "mine", "text": "[mysqld]\ninnodb_io_capacity = 900\n"}
    body = {"template": "compare", "hosts": ["one", "two"], "configs": [config], "warehouses": 1}
    answer = post(api, GROUPS, body | {"name": "Which?"})
    assert answer.status_code == 201, answer.content
    group = answer.json()
    assert [study["host"] for study in group["studies"]] == ["one", "two"]
    assert {study["group_id"] for study in group["studies"]} == {group["id"]}
    refused = error(post(api, GROUPS, body | {"hosts": ["one", "three"]}), 400)
    assert refused["field"] == "hosts"


def test_a_request_names_its_host(api: Client, tmp_path: Path) -> None:
    config = {"name": "mine", "text": "[mysqld]\ninnodb_io_capacity = 900\n"}
    body = {"template": "compare", "configs": [config], "warehouses": 1}
    other = replace(MYSQL, version=(8, 4, 3), version_text="8.4.3")
    a_host("one", directories=[tmp_path])
    a_host("two", directories=[tmp_path], servers=[other], logical_cpus=16)
    assert error(post(api, STUDIES, body), 400)["field"] == "host"
    found = post(api, STUDIES, body | {"host": "two"}).json()
    assert (found["host"], found["server"]["version"]) == ("two", "8.4.3")
    found = post(api, "/api/v1/configs/check/", {"text": config["text"], "host": "two"}).json()
    assert "8.4.3" in found["target"]
    answer = post(api, "/api/v1/devices/", {"host": "two", "path": str(tmp_path)})
    assert answer.status_code == 201, answer.content
    device = answer.json()
    assert device["device"]["host"] == "two"
    found = post(api, STUDIES, body | {"devices": [{"id": device["device"]["id"]}]}).json()
    assert found["host"] == "two"
    templates = "/api/v1/templates/"
    sizes = [
        {one["name"]: one["connections"] for one in api.get(templates, {"host": name}).json()}
        for name in ("one", "two")
    ]
    assert sizes[0]["connections"] != sizes[1]["connections"]
    assert api.get(templates, {"host": "three"}).status_code == 400


def test_a_host_is_asked_to_look(
    api: Client, client: Client, tmp_path: Path, settings: Any
) -> None:
    settings.RUN_DIR = tmp_path
    host = a_host(directories=[tmp_path])
    address = f"{HOSTS}{host.pk}/inspections/"
    answer = post(api, address)
    assert (answer.status_code, answer.json()["subject"]) == (202, "host")
    answer = post(api, address, {"path": str(tmp_path / "x")})
    assert answer.json()["waiting"].startswith(f"host {host} looks as soon as")
    assert execute(InspectionKind(), answer.json()["id"])
    found = api.get(f"/api/v1/inspections/{answer.json()['id']}/").json()
    assert (found["state"], found["reason_code"]) == ("failed", "device_unusable")
    assert (found["reason_field"], found["waiting"]) == ("path", "")
    assert error(post(api, address, {"server": "mysqld"}), 400)["field"] == "server"
    body = {"server": "/x", "path": "/y"}
    assert error(post(api, address, body), 400)["code"] == "invalid_request"
    client.force_login(factories.make_user("ann", Role.OPERATOR))
    refused = error(post(client, address, {"server": "/opt/mysqld"}), 400)
    assert refused["code"] == "not_listed"
    assert "manage.py server add /opt/mysqld" in refused["message"]


# --- devices -------------------------------------------------------------------------------------


DEVICES = f"{V1}devices/"


@pytest.fixture
def here(admin_client: Client, settings: Any, tmp_path: Path) -> Client:
    settings.HOST_NAME = factories.make_host().name
    with_inventory(factories.make_host(), made_up_host(directories=[tmp_path]))
    return admin_client


def test_a_directory_becomes_a_device(here: Client, tmp_path: Path) -> None:
    answer = post(here, DEVICES, {"path": str(tmp_path)})
    assert answer.status_code == 201, answer.content
    found = answer.json()
    assert found["device"]["data_dir"] == str(tmp_path)
    assert found["identity"]["path"] == str(tmp_path)
    again = post(here, DEVICES, {"path": str(tmp_path)}).json()
    assert again["device"]["id"] == found["device"]["id"]


def test_a_device_is_probed_once_at_a_time(here: Client) -> None:
    device = factories.found_device()
    address = f"{DEVICES}{device.pk}/actions/probe/"
    made = post(here, address, {"seconds": 45}).json()["made"]
    found = here.get(f"{V1}probes/{made}/").json()
    assert (found["state"], found["seconds"], found["device_id"]) == ("queued", 45, device.pk)
    assert found["result"] is None
    answer = post(here, address, {})
    assert error(answer, 409)["code"] == "probe_running"
    assert answer["Retry-After"]
    assert here.get(f"{DEVICES}{device.pk}/").json()["active_probe"]["id"] == made
    assert post(here, f"{V1}probes/{made}/actions/cancel/", {}).status_code == 200
    assert Probe.objects.get(pk=made).state == JobState.CANCELLED
    assert error(post(here, address, {"seconds": 1e300}), 400)["field"] == "seconds"


def test_a_probe_s_result_is_whole_and_lists_go_without(
    here: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    device = factories.found_device()
    probe = factories.probed(device)
    found = here.get(f"{V1}probes/{probe.pk}/").json()
    assert len(found["result"]["jobs"]) > 1
    factories.probed(device)
    with django_assert_max_num_queries(7):
        listed = here.get(f"{DEVICES}{device.pk}/probes/").json()
    assert [one["id"] for one in listed["results"]] == [probe.pk + 1, probe.pk]
    assert all("result" not in one for one in listed["results"])


def test_all_devices_are_listed_in_as_many_queries_as_one(
    here: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(3):
        factories.probed(factories.found_device(data_dir=f"/srv/{number}"))
    with django_assert_max_num_queries(12):
        page = here.get(DEVICES).json()
    assert page["count"] == 3
    assert all(one["last_probe"] for one in page["results"])

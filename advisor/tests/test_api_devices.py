"""The API on devices: found behind real directories, corrected, probed, and chosen for studies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from advisor.tests import factories
from advisor.tests.test_api import Service, error
from benchmarks.inventory.host import Refused
from benchmarks.inventory.inspection import inspect_directory
from benchmarks.models import Device, Host, JobState, Probe
from benchmarks.storage.identify import identify_device
from benchmarks.storage.kinds import DeviceKind
from benchmarks.tests.made_up_host import MYSQL, made_up_host, with_inventory
from tuning.models import Study
from tuning.requests.device import DeviceRequest
from tuning.requests.study import StudyRequest

pytestmark = pytest.mark.django_db
V1 = "/api/v1/"
DEVICES = f"{V1}devices/"
STUDIES = f"{V1}studies/"


@pytest.fixture
def api(
    admin_client: Client,
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
    tmp_path: Path,
) -> Client:
    # Whatever Redis this machine runs hears nothing of a test's probe.
    monkeypatch.setattr("celery.Celery.send_task", lambda *args, **kwargs: None)
    settings.HOST_NAME = factories.make_host().name
    proc = Refused(
        path=Path("/proc"), code="device_unusable", reason="/proc: cannot be written to"
    )
    there = [tmp_path / "usual", tmp_path]
    with_inventory(
        factories.make_host(),
        made_up_host(directories=there, refused_directories=(proc,)).with_directory(
            inspect_directory(Path("/dev/shm"))
        ),
    )
    return admin_client


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Service:
    fake = Service()
    monkeypatch.setattr("advisor.api.views.create_study", fake)
    return fake


def post(api: Client, address: str, body: Any) -> Any:
    return api.post(address, json.dumps(body), content_type="application/json")


def patch(api: Client, device: Device, body: Any) -> Any:
    where = f"{DEVICES}{device.pk}/"
    return api.patch(where, json.dumps(body), content_type="application/json")


# --- devices -------------------------------------------------------------------------------------


def test_a_directory_becomes_a_device_with_what_is_behind_it(api: Client, tmp_path: Path) -> None:
    answer = post(api, DEVICES, {"path": str(tmp_path)})
    assert answer.status_code == 201, answer.content
    found, device = answer.json(), Device.objects.get()
    there = identify_device(tmp_path)
    assert answer["Location"] == f"http://testserver{DEVICES}{device.pk}/"
    assert (found["data_dir"], found["kind"]) == (str(there.path), there.kind)
    assert (found["emulated"], found["emulation"], found["retired_at"]) == (False, "", None)
    assert found["identity"]["file_system"] == there.file_system
    assert found["identity"]["block_device"] == there.block_device
    assert (found["log_identity"], found["emulation_profile"]) == (None, None)
    assert (found["last_probe"], found["recommendations"]) == (None, [])
    assert api.get(answer["Location"]).json() == found
    again = post(api, DEVICES, {"path": f"{tmp_path}/."})
    assert (again.status_code, again.json()["id"]) == (201, device.pk)


def test_without_a_path_it_is_the_usual_one(api: Client, tmp_path: Path) -> None:
    assert post(api, DEVICES, {}).json()["data_dir"] == str(tmp_path / "usual")


def test_two_emulated_devices_on_one_directory_are_distinguished(
    api: Client, tmp_path: Path
) -> None:
    bodies = [
        {"path": str(tmp_path)},
        {"path": str(tmp_path), "emulate": "hdd", "memory_mb": 700},
        {"path": str(tmp_path), "emulate": "hdd", "memory_mb": 800},
        {"path": str(tmp_path), "emulate": "native", "memory_mb": 700},
    ]
    found = [post(api, DEVICES, body).json() for body in bodies]
    assert len({one["id"] for one in found}) == 4
    assert len({one["name"] for one in found}) == 4
    assert {one["data_dir"] for one in found} == {str(tmp_path)}
    assert [one["emulated"] for one in found] == [False, True, True, True]
    assert found[1]["emulation"] == "emulated hdd (200 IOPS read, 200 IOPS write, 700 MB memory)"
    assert found[2]["emulation_profile"]["memory_bytes"] == 800_000_000
    assert (found[1]["kind"], found[1]["discovered_kind"]) == ("hdd", found[0]["kind"])
    assert (found[3]["kind"], found[3]["emulation_profile"]["read_iops"]) == (
        found[0]["kind"],
        None,
    )


@pytest.mark.parametrize(
    ("body", "code", "field", "said"),
    [
        ({"path": "/nowhere/at/all"}, "not_listed", "path", "device add /nowhere/at/all"),
        ({"path": "/proc"}, "device_unusable", "path", "cannot be written to"),
        ({"path": "~nobody-here/x"}, "invalid_request", "path", "not an absolute path"),
        ({"log_dir": "/nowhere/at/all"}, "not_listed", "log_dir", "may be measured"),
        ({"log_dir": "{here}"}, "device_unusable", "log_dir", "the data directory"),
        ({"path": "/dev/shm", "emulate": "hdd"}, "emulation_unavailable", "emulate", "tmpfs"),
        ({"emulate": "floppy"}, "invalid_request", "emulate", "no emulated device"),
        ({"memory_mb": 64}, "invalid_request", "memory_mb", "greater than or equal to 68"),
        ({"memory_mb": 2**70}, "invalid_request", "memory_mb", "less than or equal to"),
        ({"emulate": "hdd", "kind": "nvme"}, "invalid_request", "kind", "it emulates"),
        ({"kind": "floppy"}, "invalid_request", "kind", "must be"),
        ({"path": "/\0"}, "invalid_request", "path", "null characters"),
        ({"path": 7 * ["x"]}, "invalid_request", "path", "not a valid path"),
        ({"memory_limit": 700}, "invalid_request", "memory_limit", "no such field"),
    ],
)
def test_a_device_that_cannot_be_had_is_refused_and_not_kept(
    api: Client, tmp_path: Path, body: dict[str, Any], code: str, field: str, said: str
) -> None:
    body = {"path": str(tmp_path)} | body
    if body.get("log_dir") == "{here}":
        body["log_dir"] = str(tmp_path)
    found = error(post(api, DEVICES, body), 400)
    assert found["code"] == code
    [message] = found["details"][field]
    assert said in message
    assert not Device.objects.exists()


def test_the_refused_directory_is_named_by_its_whole_path(
    api: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    below = {"path": str(tmp_path / "mysql"), "log_dir": str(tmp_path)}
    assert list(error(post(api, DEVICES, below), 400)["details"]) == ["path"]
    for logs in ("nowhere", "~/nowhere", "~nobody-here/x"):
        body = {"path": str(tmp_path), "log_dir": logs}
        assert list(error(post(api, DEVICES, body), 400)["details"]) == ["log_dir"], logs


def test_your_word_for_the_kind_counts_until_it_is_taken_back(api: Client) -> None:
    device = factories.found_device()
    found = patch(api, device, {"kind": "raid"}).json()
    assert (found["kind"], found["discovered_kind"]) == ("raid", "nvme")
    assert found["kind_correction"] == "raid"
    assert "RAID at" in found["name"]
    found = patch(api, device, {"kind": None}).json()
    assert (found["kind"], found["kind_correction"]) == ("nvme", None)


def test_a_device_of_which_nothing_was_discovered_has_a_kind_all_the_same(api: Client) -> None:
    device = factories.make_device(kind="nvme", kind_correction="nvme", discovered_kind="")
    found = patch(api, device, {"kind": None}).json()
    assert (found["kind"], found["kind_correction"]) == ("other", None)


def test_the_kind_of_an_emulated_device_is_that_of_its_limits(api: Client) -> None:
    device = factories.emulated_device()
    found = error(patch(api, device, {"kind": "nvme"}), 400)
    assert found["code"] == "device_unusable"
    assert "an emulated device" in found["details"]["kind"][0]
    device.refresh_from_db()
    assert (device.kind, device.kind_correction) == ("hdd", "")


@pytest.mark.parametrize("body", [{"kind": "floppy"}, {"kind": "hdd", "id": 1}])
def test_a_correction_names_a_kind(api: Client, body: Any) -> None:
    found = error(patch(api, factories.found_device(), body), 400)
    assert found["code"] == "invalid_request"


def test_the_list_is_of_all_hosts_with_the_retired_flagged(api: Client) -> None:
    old = factories.found_device(retired_at=factories.BEGIN)
    new = factories.probed_device()
    far = factories.found_device(data_dir="/elsewhere")
    Device.objects.filter(pk=far.pk).update(host=Host.objects.create(name="far"))
    found = api.get(DEVICES).json()
    assert [one["id"] for one in found["results"]] == [far.pk, new.pk, old.pk]
    assert [one["retired_at"] is None for one in found["results"]] == [True, True, False]
    assert found["results"][1]["last_probe"]["summary"]["random_read_iops"] > 0
    assert api.get(f"{DEVICES}{far.pk}/").json()["host"] == "far"


def test_the_list_takes_as_many_queries_for_three_devices_as_for_one(
    api: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    factories.probed_device()
    with django_assert_max_num_queries(9) as one:
        api.get(DEVICES)
    factories.probed_device(data_dir="/srv/b")
    factories.emulated_device()
    with django_assert_max_num_queries(len(one)):
        assert api.get(DEVICES).json()["count"] == 3


def test_a_device_shows_what_was_best_on_it(api: Client) -> None:
    study = factories.raced_study()
    [best] = api.get(f"{DEVICES}{study.devices.get().pk}/").json()["recommendations"]
    assert (best["study_id"], best["config"]) == (study.pk, "whitepaper-3")
    assert (best["connections"], best["durability"]) == (8, "D0")
    assert best["confirmation"] == "confirmed"
    assert best["interval_low"] < best["ratio_to_baseline"] < best["interval_high"]


def test_the_profiles_have_their_rated_limits_and_their_source(api: Client) -> None:
    native, *shipped = api.get(f"{V1}emulation-profiles/").json()
    assert (native["name"], native["read_iops"]) == ("native", None)
    assert [one["name"] for one in shipped] == ["hdd", "sata-ssd", "sas-ssd"]
    assert (shipped[0]["read_iops"], shipped[0]["write_iops"], shipped[0]["scaled"]) == (
        200,
        200,
        False,
    )
    assert shipped[1]["scaled"]
    assert all(one["source"] for one in shipped)


# --- probes --------------------------------------------------------------------------------------


def test_a_probe_is_queued_and_only_one_at_a_time(api: Client) -> None:
    device = factories.found_device()
    address = f"{DEVICES}{device.pk}/probes/"
    answer = post(api, address, {"seconds": 45})
    assert answer.status_code == 202, answer.content
    found, probe = answer.json(), Probe.objects.get()
    assert answer["Location"] == f"http://testserver{V1}probes/{probe.pk}/"
    assert (found["state"], found["seconds"], found["device_id"]) == ("queued", 45, device.pk)
    assert (found["result"], found["innodb_io_capacity"]) == (None, None)
    assert probe.created_by is not None
    assert error(post(api, address, {}), 409)["code"] == "probe_running"
    assert api.get(f"{DEVICES}{device.pk}/").json()["active_probe"]["id"] == probe.pk
    cancelled = api.post(f"{V1}probes/{probe.pk}/cancel/").json()
    assert (cancelled["state"], cancelled["reason"]) == ("cancelled", "cancelled by the user")
    assert post(api, address, {}).status_code == 202


def test_a_running_probe_is_asked_to_stop(api: Client) -> None:
    device = factories.found_device()
    probe = Probe.objects.create(
        device=device,
        seconds=50,
        state=JobState.RUNNING,
        fraction=0.41,
        step="random reads",
        heartbeat_at=timezone.now(),
    )
    found = api.post(f"{V1}probes/{probe.pk}/cancel/").json()
    assert found["state"] == "running"
    assert found["progress"] == {"fraction": 0.41, "step": "random reads"}
    probe.refresh_from_db()
    assert probe.stop_request == "cancelled"


def test_an_ended_probe_stays_as_it_is(api: Client) -> None:
    probe = factories.probed(factories.found_device())
    assert api.post(f"{V1}probes/{probe.pk}/cancel/").json()["state"] == "ok"
    address = f"{V1}probes/{probe.pk}/"
    known = {"If-None-Match": api.get(address)["ETag"]}
    assert api.get(address, headers=known).status_code == 304
    Device.objects.update(kind="hdd", kind_correction="hdd")
    assert api.get(address, headers=known).status_code == 200
    running = Probe.objects.create(device=probe.device, seconds=50)
    assert not api.get(f"{V1}probes/{running.pk}/").has_header("ETag")


def test_a_probe_s_result_is_whole_and_lists_go_without(
    api: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    device = factories.found_device()
    probe = factories.probed(device)
    found = api.get(f"{V1}probes/{probe.pk}/").json()
    assert probe.found is not None
    assert found["result"] == json.loads(json.dumps(probe.found.as_json()))
    assert found["innodb_io_capacity"] == {
        "low": probe.io_capacity_low,
        "high": probe.io_capacity_high,
    }
    factories.probed(device)
    with django_assert_max_num_queries(6) as asked:
        listed = api.get(f"{DEVICES}{device.pk}/probes/").json()
    assert listed["count"] == 2
    assert [one["id"] for one in listed["results"]] == [probe.pk + 1, probe.pk]
    assert all("result" not in one for one in listed["results"])
    assert not any('"result"' in query["sql"] for query in asked.captured_queries)


@pytest.mark.parametrize("seconds", [29, 61, -1, "soon", 1e300, 2**70, [30]])
def test_a_time_out_of_range_is_said_beside_its_field(api: Client, seconds: Any) -> None:
    device = factories.found_device()
    found = error(post(api, f"{DEVICES}{device.pk}/probes/", {"seconds": seconds}), 400)
    assert (found["code"], list(found["details"])) == ("invalid_request", ["seconds"])
    assert not Probe.objects.exists()


def test_a_retired_device_is_not_probed(api: Client) -> None:
    device = factories.found_device(retired_at=factories.BEGIN)
    found = error(post(api, f"{DEVICES}{device.pk}/probes/", {}), 400)
    assert found["code"] == "device_retired"
    assert not Probe.objects.exists()


# --- studies on devices --------------------------------------------------------------------------


def test_the_devices_of_a_study_reach_the_service(api: Client, service: Service) -> None:
    kept = factories.found_device(kind_correction="raid", kind="raid", log_dir="/logs")
    limited = factories.emulated_device()
    body = {
        "devices": [
            {"path": "/srv/a"},
            {
                "path": "/srv/b",
                "log_dir": "/srv/c",
                "emulate": "sata-ssd",
                "memory_mb": 420,
            },
            {"path": "/srv/d", "emulate": "native", "kind": "nvme"},
            {"emulate": "native", "path": None, "memory_mb": None},
            {"id": kept.pk},
            {"id": limited.pk},
        ]
    }
    answer = post(api, STUDIES, body)
    assert answer.status_code == 201, answer.content
    assert service.request == StudyRequest(
        devices=[
            DeviceRequest(path=Path("/srv/a")),
            DeviceRequest(
                path=Path("/srv/b"), log_dir=Path("/srv/c"), emulate="sata-ssd", memory_mb=420
            ),
            DeviceRequest(path=Path("/srv/d"), emulate="native", kind=DeviceKind.NVME),
            DeviceRequest(emulate="native"),
            DeviceRequest(id=kept.pk),
            DeviceRequest(id=limited.pk),
        ]
    )


@pytest.mark.parametrize("body", [{"devices": None}, {"devices": []}, {}])
def test_no_devices_are_the_usual_one(api: Client, service: Service, body: Any) -> None:
    assert post(api, STUDIES, body).status_code == 201
    assert service.request == StudyRequest()


@pytest.mark.parametrize(
    "devices",
    [
        [{"id": 2**70}],
        [{"id": 0}],
        [{"id": 1, "path": "/srv"}],
        [{"id": 1, "emulate": "hdd"}],
        [{"path": "/srv"}, {"emulate": "floppy"}],
        [{"path": "/srv", "memory": 1}],
        [{"path": "/srv", "emulate": "hdd", "kind": "nvme"}],
        [{"path": "x" * 2000}],
        [{}] * 21,
        "/srv",
        ["/srv"],
        {"path": "/srv"},
    ],
)
def test_devices_that_cannot_be_meant_are_refused(
    api: Client, service: Service, devices: Any
) -> None:
    found = error(post(api, STUDIES, {"devices": devices}), 400)
    assert (found["code"], list(found["details"])) == ("invalid_request", ["devices"])
    assert service.request is None


def test_a_kept_device_that_is_not_here_any_more_is_refused(api: Client) -> None:
    old = factories.found_device(retired_at=factories.BEGIN)
    found = error(post(api, STUDIES, {"devices": [{"id": old.pk}]}), 400)
    assert found["code"] == "device_unusable"
    assert "another device is in its place" in found["message"]
    assert found["details"] == {"devices": {"0": {"id": [found["message"]]}}}
    assert not Study.objects.exists()


def test_the_real_service_takes_two_devices_on_one_directory(api: Client, tmp_path: Path) -> None:
    here = {"path": str(tmp_path)}
    base = {"server": str(MYSQL.path), "driver": "sysbench", "warehouses": 1, "blocks": 2}
    body = base | {"devices": [here, here | {"emulate": "hdd", "memory_mb": 700}]}
    answer = post(api, STUDIES, body)
    assert answer.status_code == 201, answer.content
    devices = answer.json()["devices"]
    assert {one["data_dir"] for one in devices} == {str(tmp_path)}
    assert sorted(one["emulated"] for one in devices) == [False, True]
    assert len({one["name"] for one in devices}) == 2
    body = base | {"devices": [{"id": one["id"]} for one in devices]}
    again = post(api, STUDIES, body)
    assert again.json()["devices"] == devices
    found = error(post(api, STUDIES, base | {"devices": [here, here]}), 400)
    assert found["code"] == "bad_request"
    assert "same device twice" in found["message"]
    assert (Study.objects.count(), Device.objects.count()) == (2, 2)


def test_the_real_service_says_why_limits_cannot_be_had(api: Client) -> None:
    body = {
        "server": str(MYSQL.path),
        "driver": "sysbench",
        "warehouses": 1,
        "devices": [{"path": "/dev/shm", "emulate": "hdd"}],
    }
    found = error(post(api, STUDIES, body), 400)
    assert found["code"] == "emulation_unavailable"
    assert "tmpfs" in found["message"]
    assert not Study.objects.exists()
    assert not Device.objects.exists()


def test_everything_that_a_study_answers_says_which_device_it_is(api: Client) -> None:
    study = factories.study_on_two_devices()
    factories.race(study)
    one = f"{STUDIES}{study.pk}/"
    state, rows = api.get(one).json(), api.get(f"{one}ranking/").json()
    boards, runs = api.get(f"{one}results/").json()["boards"], api.get(f"{one}runs/").json()
    names = {device["id"]: device["name"] for device in state["devices"]}
    assert len(set(names.values())) == 2
    real, limited = study.devices.order_by("pk")
    for found in (rows, boards, runs):
        assert {row["device_id"] for row in found} == {real.pk, limited.pk}
        for row in found:
            assert row["device_name"] == names[row["device_id"]]
            assert row["emulated"] is (row["device_id"] == limited.pk)
            assert row["emulation"] == (limited.emulation_label if row["emulated"] else "")
            assert row["device_kind"] == ("hdd" if row["emulated"] else "nvme")
    which = api.get(f"{one}recommendation/")
    assert names[limited.pk] in error(which, 400)["message"]
    best = api.get(f"{one}recommendation/", {"device": limited.pk}).json()
    assert (best["emulated"], best["device_name"]) == (True, names[limited.pk])

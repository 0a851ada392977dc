"""The devices of a new study: ticked, named, put under limits, and what is wrong beside them."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from advisor.tests import factories
from advisor.tests.test_pages_new_study import BLANK, beside
from benchmarks.emulation.profile import EmulationProfile
from benchmarks.errors import DeviceUnusable, EmulationUnavailable
from benchmarks.models import Device, Host
from benchmarks.storage.kinds import DeviceKind
from benchmarks.tests.made_up_host import add_directories, change_host
from tuning.errors import BadRequest
from tuning.models import Study
from tuning.requests.device import DeviceRequest
from tuning.requests.study import StudyRequest

pytestmark = pytest.mark.django_db

HOST = "db-host-1"  # that of the factories
HDD = EmulationProfile("hdd", "hdd", 200, 200, memory_bytes=420_000_000)
LIMITS = "200 IOPS read, 200 IOPS write, 420 MB memory"
NEW = "/studies/new/"


@pytest.fixture(autouse=True)
def here(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("celery.Celery.send_task", lambda *args, **kwargs: None)
    settings.HOST_NAME = factories.make_host().name


class Service:
    """Stands in for create_study: keeps the request, stores a study or refuses."""

    def __init__(self) -> None:
        self.request: StudyRequest | None = None
        self.refusal: Exception | None = None

    def __call__(self, request: StudyRequest, user: Any, also: Any = lambda _: None) -> Study:
        self.request = request
        if self.refusal:
            raise self.refusal
        study = factories.make_study(blocks=1, created_by=user)
        also(study)
        return study


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Service:
    fake = Service()
    monkeypatch.setattr("advisor.pages.new_study.answer.create_study", fake)
    return fake


def kept(path: str = "/srv/a", **values: Any) -> Device:
    return factories.found_device(data_dir=path, **values)


def emulated(path: str = "/srv/a") -> Device:
    return kept(
        path, kind="hdd", emulation=HDD.as_dict(), emulation_label=HDD.label(), model="A disk"
    )


def far(path: str = "/srv/far") -> Device:
    device = kept(path)
    Device.objects.filter(pk=device.pk).update(host=Host.objects.create(name="far"))
    return device


def text_of(client: Client, **query: Any) -> str:
    answer = client.get(reverse("study-new"), query)
    assert answer.status_code == 200
    return html.unescape(answer.content.decode())


def post(client: Client, **fields: Any) -> tuple[int, str]:
    answer = client.post(NEW, BLANK | fields)
    return answer.status_code, html.unescape(answer.content.decode())


def choices(text: str) -> dict[str, str]:
    """By id the words of each device that can be ticked; those ticked end with "(ticked)"."""
    found = {}
    part = text[text.index("<legend>2. On which device") : text.index("Another directory")]
    for tag, words in re.findall(r'(<input type="checkbox"[^>]*>)(.*?)</label>', part, re.S):
        [value] = re.findall(r'value="(\d+)"', tag)
        plain = " ".join(re.sub(r"<[^>]+>", " ", words).split())
        found[value] = plain + (" (ticked)" if " checked" in tag else "")
    return found


def devices_of(service: Service) -> list[DeviceRequest]:
    assert service.request is not None
    return service.request.devices


# --- what can be chosen --------------------------------------------------------------------------


def test_without_kept_devices_only_the_directory_is_asked_for(
    admin_client: Client, tmp_path: Path
) -> None:
    add_directories(tmp_path)
    change_host(default_directory=tmp_path)
    text = text_of(admin_client)
    assert f"<code>{tmp_path}</code></p>" in text
    assert f'<option value="{tmp_path}">' in text
    assert "device-choice" not in text
    assert re.search(r'<details id="device-more">', text)


def test_the_devices_of_this_host_in_use_can_be_ticked(admin_client: Client) -> None:
    change_host(default_directory=Path("/srv/a"))
    plain, limited = kept(), emulated()
    kept("/srv/old", retired_at=factories.BEGIN)
    found = choices(text_of(admin_client))
    assert found == {
        str(plain.pk): "/srv/a NVMe default SAMSUNG MZWLL1T6HEHP, xfs",
        str(limited.pk): f"/srv/a HDD emulated {LIMITS}",
    }
    far()  # another host: from now on each device names its own
    found = choices(text_of(admin_client))
    assert found == {
        str(plain.pk): "/srv/a on db-host-1 NVMe default SAMSUNG MZWLL1T6HEHP, xfs",
        str(limited.pk): f"/srv/a on db-host-1 HDD emulated {LIMITS}",
    }


def test_an_address_ticks_its_device(admin_client: Client) -> None:
    first, second = kept(), kept("/srv/b")
    found = choices(text_of(admin_client, device=second.pk))
    assert "(ticked)" in found[str(second.pk)]
    assert "(ticked)" not in found[str(first.pk)]
    page = admin_client.get(reverse("device-detail", args=[second.pk])).content.decode()
    assert f"{NEW}?device={second.pk}" in page


@pytest.mark.parametrize("wanted", ["", "x", "0", "-1", "4711", "²", "9" * 19, "9" * 5000, "\0"])
def test_an_address_with_no_such_device_says_so(admin_client: Client, wanted: str) -> None:
    device = kept()
    text = text_of(admin_client, device=wanted)
    assert "cannot be measured" in text
    assert "(ticked)" not in choices(text)[str(device.pk)]


def test_a_retired_device_is_not_ticked(admin_client: Client) -> None:
    kept()
    old = kept("/srv/old", retired_at=factories.BEGIN)
    assert "cannot be measured" in text_of(admin_client, device=old.pk)
    assert "cannot be measured" not in text_of(admin_client)


def test_an_address_of_another_host_s_device_chooses_that_host(admin_client: Client) -> None:
    here, there = kept(), far()
    assert list(choices(text_of(admin_client, device=there.pk))) == [str(there.pk)]
    assert list(choices(text_of(admin_client, device=here.pk))) == [str(here.pk)]


# --- what is asked for ---------------------------------------------------------------------------


def test_several_devices_and_a_directory_are_all_measured(
    admin_client: Client, service: Service
) -> None:
    plain, limited = kept(), emulated("/srv/b")
    status, _ = post(
        admin_client,
        devices=[plain.pk, limited.pk],
        path="/srv/c",
        log_dir="/srv/d",
        kind="raid",
    )
    assert status == 302
    assert devices_of(service) == [
        DeviceRequest(id=plain.pk),
        DeviceRequest(id=limited.pk),
        DeviceRequest(path=Path("/srv/c"), log_dir=Path("/srv/d"), kind=DeviceKind.RAID),
    ]


def test_limits_apply_to_every_device_that_has_none(
    admin_client: Client, service: Service
) -> None:
    plain, limited = kept(), emulated("/srv/b")
    fields = {"emulate": ["native", "hdd"], "memory_mb": "500"}
    post(admin_client, devices=[plain.pk, limited.pk], **fields)
    assert devices_of(service) == [
        DeviceRequest(path=Path("/srv/a"), emulate="native", memory_mb=500, host=HOST),
        DeviceRequest(path=Path("/srv/a"), emulate="hdd", memory_mb=500, host=HOST),
        DeviceRequest(id=limited.pk),
    ]


def test_limits_without_a_device_are_those_of_the_usual_one(
    admin_client: Client, service: Service
) -> None:
    post(admin_client, emulate=["hdd"], log_dir="/srv/logs")
    assert devices_of(service) == [DeviceRequest(log_dir=Path("/srv/logs"), emulate="hdd")]
    post(admin_client, memory_mb="700")
    assert devices_of(service) == [DeviceRequest(memory_mb=700)]


def test_a_check_is_for_the_devices_that_the_study_would_measure(
    admin_client: Client, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[StudyRequest] = []

    def plans(request: StudyRequest) -> Any:
        asked.append(request)
        raise BadRequest("enough")

    monkeypatch.setattr("advisor.pages.new_study.answer.plans_of", plans)
    devices = [kept().pk, emulated("/srv/b").pk]
    text = "[mysqld]\nmax_connections = 10\n"
    post(admin_client, devices=devices, warehouses="40", config_text=[text], action="check")
    assert [device.id for device in asked[0].devices] == devices
    assert asked[0].warehouses == 40


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["x", "0", "-1", "4711", "9" * 19, "9" * 5000, "<b>"])
def test_a_device_that_is_not_there_is_refused(
    admin_client: Client, service: Service, value: str
) -> None:
    kept()
    status, text = post(admin_client, devices=[value])
    assert status == 400
    assert "cannot be measured on this host" in beside(text, "devices", group=True)
    assert len(text) < 100_000
    assert service.request is None


def test_so_are_a_retired_one_and_another_host_s(admin_client: Client, service: Service) -> None:
    for device in (kept("/srv/old", retired_at=factories.BEGIN), far()):
        status, text = post(admin_client, devices=[device.pk])
        assert status == 400
        assert "cannot be measured on this host" in beside(text, "devices", group=True)
    assert service.request is None


@pytest.mark.parametrize(
    ("field", "value", "error"),
    [
        ("path", "x" * 1025, "not an absolute path"),
        ("path", "~nobody-here/x", "an absolute path"),
        ("path", "/\0", "Null characters"),
        ("log_dir", "srv/x", "an absolute path"),
        ("kind", "floppy", "Select a valid choice"),
        ("memory_mb", "67", "greater than or equal to 68"),
        ("memory_mb", "9" * 30, "less than or equal to"),
        ("memory_mb", "9" * 5000, "whole number"),
        ("memory_mb", "much", "whole number"),
    ],
)
def test_a_bad_value_is_said_beside_its_field_unfolded(
    admin_client: Client, service: Service, field: str, value: str, error: str
) -> None:
    status, text = post(admin_client, **{field: value})
    assert status == 400
    assert error in beside(text, field)
    assert service.request is None
    assert ('<details id="device-more" open>' in text) is (field != "path")


def test_an_unknown_profile_is_refused(admin_client: Client, service: Service) -> None:
    status, text = post(admin_client, emulate=["floppy"])
    assert status == 400
    assert "Select a valid choice" in beside(text, "emulate", group=True)


def test_too_many_devices_are_refused(admin_client: Client, service: Service) -> None:
    devices = [kept(f"/srv/{number}").pk for number in range(6)]
    status, text = post(admin_client, devices=devices, emulate=["native", "hdd", "sata-ssd"])
    assert status == 302
    profiles = ["native", "hdd", "sata-ssd", "sas-ssd"]
    status, text = post(admin_client, devices=devices, emulate=profiles)
    assert status == 400
    assert "at most 20 items" in beside(text, "devices", group=True)


def test_an_emulated_device_takes_no_kind(admin_client: Client, service: Service) -> None:
    fields = {"path": "/srv/x", "kind": "nvme"}
    status, text = post(admin_client, emulate=["hdd"], **fields)
    assert status == 400
    assert "has the kind that it emulates" in beside(text, "kind")
    # The real device takes it, the other one has no use for it.
    assert post(admin_client, emulate=["native", "hdd"], **fields)[0] == 302
    assert devices_of(service) == [
        DeviceRequest(path=Path("/srv/x"), emulate="native", kind=DeviceKind.NVME),
        DeviceRequest(path=Path("/srv/x"), emulate="hdd"),
    ]


def test_limits_need_a_device_that_has_none(admin_client: Client, service: Service) -> None:
    limited = [emulated().pk, emulated("/srv/b").pk]
    fields: dict[str, Any]
    for fields in ({"emulate": ["sata-ssd"]}, {"memory_mb": "700"}):
        [field] = fields
        status, text = post(admin_client, devices=limited, **fields)
        assert status == 400
        assert "are already emulated" in beside(text, field, group=field == "emulate")
    assert service.request is None
    both = {"emulate": ["sata-ssd"], "memory_mb": "700", "path": "/srv/c"}
    assert post(admin_client, devices=limited, **both)[0] == 302


@pytest.mark.parametrize("field", ["log_dir", "kind"])
def test_what_goes_with_a_directory_needs_one(
    admin_client: Client, service: Service, field: str
) -> None:
    values = {"log_dir": "/srv/logs", "kind": "nvme"}
    status, text = post(admin_client, devices=[kept().pk], **{field: values[field]})
    assert status == 400
    assert "Applies to a directory entered above only" in beside(text, field)
    assert service.request is None


@pytest.mark.parametrize(
    ("refusal", "fields", "field"),
    [
        (DeviceUnusable("no", field="devices[0].path"), {"path": "/srv/x"}, "path"),
        (
            DeviceUnusable("no", field="devices[0].log_dir"),
            {"path": "/srv/x", "log_dir": "/srv/y"},
            "log_dir",
        ),
        (DeviceUnusable("no", field="devices[0].path"), {"devices": True}, "devices"),
        (
            DeviceUnusable("no", field="devices[1].path"),
            {"devices": True, "path": "/srv/x"},
            "path",
        ),
        # Each under both limits: the kept one twice, then the directory twice.
        (
            DeviceUnusable("no", field="devices[1].path"),
            {"devices": True, "path": "/srv/x", "emulate": ["native", "hdd"]},
            "devices",
        ),
        (
            DeviceUnusable("no", field="devices[2].path"),
            {"devices": True, "path": "/srv/x", "emulate": ["native", "hdd"]},
            "path",
        ),
        (
            EmulationUnavailable("no", field="devices[0].emulate"),
            {"emulate": ["hdd"]},
            "emulate",
        ),
        (
            EmulationUnavailable("no", field="devices[0].memory_mb"),
            {"memory_mb": "700"},
            "memory_mb",
        ),
        (EmulationUnavailable("no", field="devices[0]"), {"devices": True}, "devices"),
        (BadRequest("no", field="devices"), {"devices": True}, "devices"),
        (BadRequest("no", field="devices[0].log_dir"), {}, "log_dir"),
    ],
)
def test_what_the_service_refuses_of_devices_is_said_beside_its_field(
    admin_client: Client, service: Service, refusal: Exception, fields: Any, field: str
) -> None:
    service.refusal = refusal
    if "devices" in fields:
        fields = fields | {"devices": [kept().pk]}
    status, text = post(admin_client, **fields)
    assert status == 400
    found = beside(text, field, group=field in ("devices", "emulate"))
    assert str(refusal) in found


def test_a_file_system_in_memory_cannot_be_slowed_down(admin_client: Client) -> None:
    add_directories(Path("/dev/shm"), throttle_problem="/dev/shm: a tmpfs has no block device")
    fields = {"path": "/dev/shm", "emulate": ["hdd"]}
    status, text = post(admin_client, driver="sysbench", warehouses="1", **fields)
    assert status == 400
    assert "tmpfs" in beside(text, "emulate", group=True)
    assert not Study.objects.exists()
    assert not Device.objects.exists()

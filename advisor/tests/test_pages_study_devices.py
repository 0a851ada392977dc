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
from advisor.tests.drawn import words
from advisor.tests.test_pages_new_study import BLANK, Service, beside
from benchmarks.emulation.profile import EmulationProfile
from benchmarks.models import Device, Host
from benchmarks.storage.kinds import DeviceKind
from benchmarks.tests.made_up_host import add_directories, change_host
from tuning.requests.device import DeviceRequest

pytestmark = pytest.mark.django_db

HOST = "db-host-1"  # that of the factories
HDD = EmulationProfile("hdd", "hdd", 200, 200, memory_bytes=420_000_000)
LIMITS = "200 IOPS read, 200 IOPS write, 420 MB memory"
NEW = "/studies/new/"


@pytest.fixture(autouse=True)
def here(settings: Any) -> None:
    settings.HOST_NAME = factories.make_host().name


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
    part = text[text.index("<legend>On which device") : text.index("Another directory")]
    for tag, label in re.findall(r'(<input type="checkbox"[^>]*>)(.*?)</label>', part, re.S):
        [value] = re.findall(r'value="(\d+)"', tag)
        found[value] = words(label) + (" (ticked)" if " checked" in tag else "")
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


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "value", "error"),
    [
        ("path", "~nobody-here/x", "an absolute path"),
        ("log_dir", "srv/x", "an absolute path"),
        ("memory_mb", "9" * 5000, "whole number"),
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

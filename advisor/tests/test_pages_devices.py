"""The device pages: what they show of rows, and what the forms ask the services for."""

from __future__ import annotations

import html
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from advisor.pages.devices.probe import ProbeView, probe_view
from advisor.tests import factories, probes
from advisor.tests.drawn import flat
from benchmarks.emulation.profile import EmulationProfile
from benchmarks.models import Device, JobState, Probe
from benchmarks.storage.kinds import DeviceKind
from benchmarks.tests.made_up_host import this_host
from tuning.requests.device import DeviceRequest

pytestmark = pytest.mark.django_db

SSD = "Samsung SSD 850 PRO 1TB"
HDD = EmulationProfile("hdd", "hdd", 200, 200, memory_bytes=420_000_000, note="as in SYSTOR 2015")


def text_of(client: Client, name: str, *numbers: int, **query: str) -> str:
    answer = client.get(reverse(name, args=numbers), query)
    assert answer.status_code == 200
    return html.unescape(flat(answer)).replace("\N{NO-BREAK SPACE}", " ")


def emulated(**values: Any) -> Device:
    facts = {"emulation": HDD.as_dict(), "emulation_label": HDD.label(), "kind": "hdd"}
    return factories.found_device(**(facts | values))


def unfinished(device: Device, **values: Any) -> Probe:
    facts: dict[str, Any] = {"seconds": 50, "state": JobState.RUNNING}
    return Probe.objects.create(device=device, **(facts | values))


# --- the list --------------------------------------------------------------------------------


def test_the_list_shows_what_a_probe_found_and_what_was_best(admin_client: Client) -> None:
    device = factories.probed_device(
        result=probes.probe_result(reads=68_000, writes=34_000, flush_us=100)
    )
    study = factories.measured_study(device=device)
    text = text_of(admin_client, "device-list")
    for figure in ("64,000", "32,000", "97.0", "190", "2026-11-21 04:30"):
        assert f">{figure}<" in text
    assert study.recommendations.get().candidate.name in text
    assert reverse("study-detail", args=[study.pk]) in text
    assert "10 warehouses, 8 connections" in text
    assert reverse("device-detail", args=[device.pk]) in text
    assert reverse("device-comparison") in text


def test_the_list_marks_what_is_emulated_corrected_and_probing(admin_client: Client) -> None:
    emulated(data_dir="/srv/slow")
    corrected = factories.found_device(data_dir="/srv/known", kind="sas-ssd")
    Device.objects.filter(pk=corrected.pk).update(kind_correction="sas-ssd")
    unfinished(corrected, fraction=0.42)
    text = text_of(admin_client, "device-list")
    assert text.count(">emulated<") == 1
    assert text.count(">corrected<") == 1
    assert "200 IOPS read" in text
    assert ">probing<" in text
    assert "42 %" in text
    assert text.count('hx-trigger="every') == 1
    rows = text[text.index('<tbody role="rowgroup" id="device-rows"') :]
    assert "hx-trigger" in rows[: rows.index(">")], "it follows the probe, and stays scrolled"
    assert f'id="device-{corrected.pk}"' in rows, "the link keeps the focus"


def test_a_probe_that_failed_after_a_good_one_is_shown_beside_it(admin_client: Client) -> None:
    device = factories.probed_device()
    failed = unfinished(device, state=JobState.FAILED, reason="no room")
    assert "last probe failed" in text_of(admin_client, "device-list")
    factories.probed(device)
    assert "last probe" not in text_of(admin_client, "device-list")
    assert "no room" in text_of(admin_client, "probe-detail", device.pk, failed.pk)


# --- adding one ------------------------------------------------------------------------------


def test_a_device_is_added_as_the_form_names_it(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[DeviceRequest] = []
    device = factories.found_device()

    def register(request: DeviceRequest) -> Device:
        asked.append(request)
        return device

    monkeypatch.setattr("advisor.pages.devices.views.register_device", register)
    answer = admin_client.post(
        reverse("device-list"),
        {
            "path": "/srv/x",
            "log_dir": "/srv/logs",
            "emulate": "hdd",
            "memory_mb": "420",
        },
    )
    assert answer.status_code == 302
    admin_client.post(reverse("device-list"), {"path": "/srv/y", "kind": "nvme"})
    assert asked == [
        DeviceRequest(
            path=Path("/srv/x"), log_dir=Path("/srv/logs"), emulate="hdd", memory_mb=420
        ),
        DeviceRequest(path=Path("/srv/y"), kind=DeviceKind.NVME),
    ]


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("path", "/does/not/exist", "/does/not/exist"),
        ("path", "/" + "x/" * 600, "at most 1024"),
        ("log_dir", "/does/not/exist/either", "/does/not/exist/either"),
    ],
)
def test_what_is_wrong_stands_beside_its_field(
    admin_client: Client, tmp_path: Path, field: str, value: str, said: str
) -> None:
    this_host(directories=[tmp_path])
    answer = admin_client.post(reverse("device-list"), {"path": str(tmp_path), field: value})
    assert answer.status_code == 400
    text = html.unescape(answer.content.decode())
    errors = text[text.index(f'id="id_{field}_error"') :]
    assert said in errors[: errors.index("</ul>")]
    assert not Device.objects.exists()
    assert "No device was added" in text


# --- one device ------------------------------------------------------------------------------


def test_the_page_shows_what_is_behind_the_directory(admin_client: Client) -> None:
    logs = probes.identity(path=Path("/srv/logs"), model=SSD, block_device="sdb", layers=())
    device = factories.found_device(log_dir="/srv/logs", log_identity=logs.as_json())
    text = text_of(admin_client, "device-detail", device.pk)
    order = ["<strong>xfs<", "LVM volume vg-data", "partition nvme0n1p2", "<strong>nvme0n1<"]
    places = [text.index(word) for word in order]
    assert places == sorted(places)
    for word in ("write back", "rw,noatime", "1.2 TB of 1.6 TB", device.model, SSD):
        assert word in text


def test_a_good_probe_is_shown_with_charts_jobs_and_range(admin_client: Client) -> None:
    device = factories.probed_device(result=probes.probe_result(writes=42_500))
    text = text_of(admin_client, "device-detail", device.pk)
    assert "1,000 to 20,000" in text
    address = reverse("probe-charts", args=[device.pk, device.probes.get().pk])
    for key in ("iops", "read-latency", "write-latency", "split", "commit"):
        assert f'data-chart="{key}" data-chart-url="{address}"' in text
    jobs = text[text.index('<table class="values jobs">') :].partition("</table>")[0]
    rows = [row.count("<td") + row.count("<th ") for row in jobs.split("<tr>")[1:]]
    assert rows == [18] * 20, "a head and 19 jobs, each with a cell in each column"
    assert probes.NOT_MOUNTED in text
    charts = admin_client.get(address).json()["charts"]
    assert set(charts) == {"iops", "read-latency", "write-latency", "split", "commit"}


def test_an_emulated_device_is_labelled_wherever_it_is_shown(admin_client: Client) -> None:
    device = emulated()
    result = replace(probes.probe_result(), emulated=f"{HDD.label()} on nvme0n1")
    probe = factories.probed(device, result)
    for text in (
        text_of(admin_client, "device-detail", device.pk),
        text_of(admin_client, "probe-detail", device.pk, probe.pk),
    ):
        assert ">emulated<" in text
        assert f"{HDD.label()} on nvme0n1" in text
    text = text_of(admin_client, "device-detail", device.pk)
    assert "--emulate hdd --memory-limit 420" in text
    assert reverse("device-kind", args=[device.pk]) not in text


# --- probes ----------------------------------------------------------------------------------


def test_a_running_probe_is_followed_and_brings_its_result(admin_client: Client) -> None:
    device = factories.probed_device()
    old = device.probes.get()
    probe = unfinished(device, fraction=0.42, step="randread 16k, depth 16, direct")
    page = text_of(admin_client, "device-detail", device.pk)
    assert "Random read 16k, depth 16, direct" in page
    assert "42 % of about 50 s" in page
    assert reverse("probe-charts", args=[device.pk, old.pk]) in page, "the older result stays"
    stamp = f"{probe.pk}.False"
    assert f"?seen={stamp}" in page

    live = text_of(admin_client, "device-live", device.pk, seen=stamp)
    assert "hx-trigger" in live
    assert "hx-swap-oob" not in live
    probe.delete()
    done = factories.probed(device)
    live = text_of(admin_client, "device-live", device.pk, seen=stamp)
    assert "hx-trigger" not in live
    assert live.count('hx-swap-oob="true"') == 2
    assert reverse("probe-charts", args=[device.pk, done.pk]) in live


def test_a_probe_that_ends_while_the_page_is_made_is_asked_for_again(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = factories.probed_device()
    unfinished(device)

    def just_before_the_end(shown: Probe) -> ProbeView | None:
        Probe.objects.update(state=JobState.OK)
        return probe_view(shown)

    monkeypatch.setattr("advisor.pages.devices.views.probe_view", just_before_the_end)
    assert "hx-trigger" in text_of(admin_client, "device-detail", device.pk)


def test_a_probe_that_ended_otherwise_says_why(admin_client: Client) -> None:
    device = factories.found_device()
    why = {"reason": "the worker died", "reason_code": "some_code"}
    probe = unfinished(device, state=JobState.LOST, **why)
    for text in (
        text_of(admin_client, "device-detail", device.pk),
        text_of(admin_client, "probe-detail", device.pk, probe.pk),
    ):
        assert all(word in text for word in (*why.values(), JobState.LOST.label))
    charts = admin_client.get(reverse("probe-charts", args=[device.pk, probe.pk]))
    assert charts.json() == {"charts": {}}


def test_a_probe_is_found_below_its_own_device_only(admin_client: Client) -> None:
    probe = factories.probed_device().probes.get()
    other = factories.found_device(data_dir="/srv/other")
    for name in ("probe-detail", "probe-charts"):
        assert admin_client.get(reverse(name, args=[other.pk, probe.pk])).status_code == 404


# --- arrays ----------------------------------------------------------------------------------


def test_an_array_is_compared_with_a_probed_disk_of_its_members_model(
    admin_client: Client,
) -> None:
    found = probes.array("raid5", 4)
    result = probes.probe_result(found, reads=255_000, writes=21_250)  # 240000 and 20000
    device = factories.probed_device(found, result=result)
    disk = probes.identity(kind=DeviceKind.SATA_SSD, model=SSD, path=Path("/srv/one"))
    result = probes.probe_result(disk, reads=106_250, writes=85_000)  # 100000 and 80000 at most
    one = factories.probed_device(disk, result=result)
    text = text_of(admin_client, "device-detail", device.pk)
    rows = text[text.index('id="array"') :]
    # (N - 1) x 100000 and (N - 1) / 4 x 80000 are expected
    for figure in ("300,000", "240,000", "60,000", "20,000"):
        assert f">{figure}<" in rows
    assert reverse("probe-detail", args=[one.pk, one.probes.get().pk]) in rows


# --- studies ---------------------------------------------------------------------------------


def test_the_page_lists_the_best_config_by_workload_and_class(admin_client: Client) -> None:
    device = factories.found_device()
    older = factories.measured_study(device=device, name="The older")
    unsafe = factories.unsafe_study(device=device, name="The unsafe", blocks=1)
    many = factories.make_workload(connections=64)
    more = factories.measured_study(device=device, name="With more", workloads=[many], blocks=1)
    text = text_of(admin_client, "device-detail", device.pk)
    best = text[text.index('id="answers"') : text.index("Studies on this device")]
    assert "The older" not in best, "the newest counts"
    assert best.count("The unsafe") == 3
    assert best.count("With more") == 1
    for name in ("D1", "D2", ">64<"):
        assert name in best
    rest = text[text.index("Studies on this device") :]
    for study in (older, unsafe, more):
        assert reverse("study-detail", args=[study.pk]) in rest

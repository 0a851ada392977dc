"""The page that compares devices: tables, charts, the published layer beside them."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest
from django.core.management import load_command_class
from django.test import Client
from django.urls import reverse

from advisor.pages.compare.device_charts import CHARTS
from advisor.tests import factories
from advisor.tests.device_rows import EMULATED, HDD, NVME, SATA, measured_on
from advisor.tests.drawn import words
from benchmarks.models import Run
from tuning.comparison.run_sets import run_sets
from tuning.models import Study, StudyGroup

pytestmark = pytest.mark.django_db

LIMITS = "200 IOPS read, 200 IOPS write, 420 MB memory"
LABEL = f"emulated HDD ({LIMITS})"


def page(client: Client, query: str = "") -> str:
    answer = client.get(f"{reverse('device-comparison')}{query}")
    assert answer.status_code == 200
    return answer.content.decode()


def figures(client: Client, query: str = "") -> dict[str, Any]:
    answer = client.get(f"{reverse('device-comparison-charts')}{query}")
    found: dict[str, Any] = answer.json()["charts"]
    return found


NAMES = ("server-default", "whitepaper-1", "whitepaper-a")


@pytest.fixture
def three() -> None:
    make_three(samples=False)


@pytest.fixture
def three_with_seconds() -> None:
    make_three(samples=True)


def make_three(*, samples: bool) -> None:
    # The candidates of the factories differ in nothing but innodb_io_capacity.
    shown: dict[str, Any] = {"emulation": EMULATED, "emulation_label": LABEL}
    for place, values in ((HDD, shown), (SATA, {}), (NVME, {})):
        measured_on(place, names=NAMES, samples=samples, **values)


def test_a_config_that_was_not_measured_is_not_passed_over_in_silence(
    admin_client: Client, three: None
) -> None:
    said = "That config was not measured here. The best config so far is shown instead."
    html = page(admin_client, "?config=0123456789ab")
    assert said in html
    assert "0123456789ab" not in html
    for query in ("", "?config=best"):
        assert said not in page(admin_client, query)


def test_tables_have_devices_ratios_and_the_page_of_a_run(
    admin_client: Client, three: None
) -> None:
    html = page(admin_client)
    text = words(html)
    for pair in ("emulated HDD → SATA SSD", "SATA SSD → NVMe", "emulated HDD → NVMe"):
        assert pair in text
    assert text.count("42.86") == 3, "the factor of the rows, with 4, 8 and 16 connections"
    assert f"emulated {LIMITS}" in text
    assert LABEL not in text
    runs = Run.objects.filter(device__kind="nvme", slot__candidate__name="whitepaper-a")
    addresses = {reverse("run-detail", args=[run.pk]) for run in runs}
    assert len(addresses & set(re.findall(r'href="([^"]+)"', html))) == 3


def test_the_figures_of_the_paper_are_there(
    admin_client: Client, three_with_seconds: None
) -> None:
    html = page(admin_client)
    numbers = {number for chart in CHARTS for number in chart.figures}
    assert numbers == {10, *range(12, 20)}
    found = figures(admin_client)
    assert set(found) == {chart.key for chart in CHARTS}
    for chart in CHARTS:
        assert f'data-chart="{chart.key}"' in html
        drawn = found[chart.key]
        assert [line["name"] for line in drawn["data"]] == ["emulated HDD", "SATA SSD", "NVMe"]
        assert chart.unit.split("/")[0].split()[0] in drawn["layout"]["yaxis"]["title"]["text"]


@pytest.mark.long
def test_the_published_layer_is_switched_on_and_stays_apart(
    admin_client: Client, three: None
) -> None:
    own = figures(admin_client)
    both = figures(admin_client, "?published=1")
    assert len(own["throughput"]["data"]) == 3
    layer = [line for line in both["throughput"]["data"] if line["name"].startswith("published")]
    assert [line["name"] for line in layer] == [
        f"published, whitepaper 2016: {device}"
        for device in ("SAS-HDD", "SATA-SSD", "SAS-SSD", "NVMe")
    ]
    assert {line["line"]["color"] for line in layer} == {"#8a94a0"}
    assert all(line["line"]["dash"] != "solid" for line in layer)
    assert layer[0]["x"] == [50, 100, 150], "the run with 200 could not be completed"
    mine = [line for line in both["throughput"]["data"] if line not in layer]
    assert [line["y"] for line in mine] == [line["y"] for line in own["throughput"]["data"]]
    computed = [
        line["name"] for line in both["path-length"]["data"] if "(computed)" in line["name"]
    ]
    assert len(computed) == 4
    assert both["p95"] == own["p95"], "printed as a picture: nothing to draw"

    before, after = page(admin_client), page(admin_client, "?published=1")
    assert 'class="published"' not in before
    for value in ("741.99", "110,357"):
        assert value in after
    # Outside of its boxes the layer changes nothing: same rows, same ratios.
    rows = re.compile(r'<table class="compared">.*?</table>', re.S)
    tables = rows.findall(after)
    assert [table for table in tables if "published" not in table] == rows.findall(before)
    assert 'class="published"' in after


def test_another_run_set_is_chosen_by_its_key(admin_client: Client, three: None) -> None:
    device = factories.make_device(kind="tmpfs", data_dir="/dev/shm")
    workload = factories.make_workload(connections=8, measure_s=600)
    factories.measured_study(device=device, workloads=[workload], blocks=1)
    usual = page(admin_client)
    assert "12 s measured, on" in words(usual), "it has something to compare"
    newest = run_sets()[0].key
    assert f'value="{newest}"' in usual
    text = words(page(admin_client, f"?run_set={newest}"))
    assert "600 s measured, on" in text
    assert "manage.py advise --template connections" in text


@pytest.mark.long
def test_charts_over_time_are_of_the_number_of_connections_that_is_chosen(
    admin_client: Client, three_with_seconds: None
) -> None:
    assert "Transactions over time, 8 connections" in words(page(admin_client))
    assert "Transactions over time, 16 connections" in words(page(admin_client, "?connections=16"))
    eight, sixteen = (figures(admin_client, f"?connections={n}")["over-time"] for n in (8, 16))
    assert eight != sixteen
    assert len(eight["data"][0]["y"]) == 12, "the measured seconds, without the warm-up"


def test_the_commands_that_it_shows_are_ones_the_program_takes(admin_client: Client) -> None:
    commands = re.findall(r"manage\.py advise ([^<]+)</pre>", page(admin_client))
    assert len(commands) == 2
    for arguments in commands:
        parser = load_command_class("advisor", "advise").create_parser("manage.py", "advise")
        options = parser.parse_args(shlex.split(arguments))
        assert options.template == "connections"
        assert len(options.device or options.emulate) == 2


@pytest.mark.long
def test_devices_of_several_hosts_are_compared_from_the_page_of_their_study(
    admin_client: Client,
) -> None:
    other = factories.make_host("db-host-2")
    measured_on(SATA)
    measured_on(NVME)
    measured_on(HDD, host=other)
    group = StudyGroup.objects.create(name="Which host?")
    Study.objects.exclude(devices__kind="nvme").update(group=group)
    larger = factories.FINGERPRINT | {"memory_bytes": str(64 * 2**30)}
    Run.objects.filter(host=other).update(fingerprint=larger, comparability_key="d4" * 32)
    link = f"{reverse('device-comparison')}?group={group.pk}"
    assert link in admin_client.get(reverse("group-detail", args=[group.pk])).content.decode()
    assert reverse("device-comparison") in admin_client.get(reverse("host-list")).content.decode()
    text = words(page(admin_client, f"?group={group.pk}"))
    assert "on hosts db-host-1 and db-host-2." in text
    assert "db-host-2: HDD → db-host-1: NVMe" in text
    assert "db-host-1 db-host-2 memory 25.2 GB 68.7 GB" in text
    measured_on(HDD, host=factories.make_host("db-host-3"), study={"group": group})
    assert ", on 3 hosts." in words(page(admin_client, f"?group={group.pk}"))
    one = next(one for one in run_sets() if len(one.hosts) == 1)
    assert "on hosts" not in words(page(admin_client, f"?group={group.pk}&run_set={one.key}"))
    assert page(admin_client, "?group=999")

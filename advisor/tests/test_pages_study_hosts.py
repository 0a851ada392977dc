"""The hosts of a new study: chosen in the form, which then offers what they have."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from advisor.tests import factories
from advisor.tests.test_pages_hosts import a_host, quiet_broker, text_of
from advisor.tests.test_pages_new_study import BLANK
from benchmarks.inventory.stored import inventory_of
from benchmarks.models import Device, Host
from benchmarks.tests.made_up_host import MYSQL, with_inventory
from tuning.models import Study, StudyGroup
from tuning.study_templates.loader import load_template

__all__ = ["quiet_broker"]
pytestmark = pytest.mark.django_db
NEW = "/studies/new/"
OLD = replace(MYSQL, version=(8, 4, 3), version_text="8.4.3", path=Path("/opt/8.4/mysqld"))


@pytest.fixture
def hosts(tmp_path: Path) -> None:
    a_host("one", directories=[tmp_path / "one"], servers=[OLD, MYSQL])
    a_host("two", directories=[tmp_path / "two"], logical_cpus=16, driver="tpcc-mysql")


def posted(client: Client, **fields: Any) -> tuple[Any, str]:
    values = BLANK | {"template": "connections", "warehouses": "1"} | fields
    answer = client.post(NEW, values, follow=True)
    return answer, html.unescape(answer.content.decode())


def ticked(text: str) -> list[str]:
    found = re.findall(r'<input type="checkbox" name="host" value="(\w+)"([^>]*)>', text)
    return [name for name, rest in found if "checked" in rest]


def test_with_one_host_there_is_nothing_to_choose(admin_client: Client) -> None:
    text = text_of(admin_client, NEW)
    assert "No host is known yet" in text
    host = a_host()
    text = text_of(admin_client, NEW)
    assert 'name="host"' not in text
    assert "This host has: MySQL 9.7.4 (<code>/usr/sbin/mysqld</code>)." in text
    assert 'value="/usr/sbin/mysqld">MySQL 9.7.4</option>' in text
    Host.objects.filter(pk=host.pk).update(drained_at=timezone.now())
    assert "The study waits until it takes work again." in text_of(admin_client, NEW)
    with_inventory(host, inventory_of(host).model_copy(update={"directories": ()}))
    text = text_of(admin_client, NEW)
    will = text[text.index("What will happen") :][:400]
    assert "is not a directory that may be measured on host db-host-1" in will


def test_a_host_whose_worker_is_gone_is_said_to_be_silent(
    admin_client: Client, hosts: None
) -> None:
    Host.objects.filter(name="one").update(worker_seen_at="2026-11-21T09:30Z")
    Host.objects.filter(name="two").update(worker_seen_at=Now())
    text = text_of(admin_client, f"{NEW}?host=one")
    assert re.findall(
        r'value="(\w+)"[^>]*><span class="wraps">\w+ <span class="badge warn">(\w+)', text
    ) == [("one", "silent")]
    assert "Host one has not been seen since 2026-11-21 09:30:00 UTC. The study waits" in text
    assert "The study waits" not in text_of(admin_client, f"{NEW}?host=two")


@pytest.mark.parametrize("lacks", ["default_directory", "servers.version"])
def test_a_host_that_another_version_inspected_is_named_with_what_to_do(
    admin_client: Client, hosts: None, lacks: str
) -> None:
    host = Host.objects.get(name="one")
    name, _, part = lacks.partition(".")
    if part:
        del host.inventory[name][0][part]
    else:
        del host.inventory[name]
    host.save()
    two = Host.objects.get(name="two")
    with_inventory(two, inventory_of(two).model_copy(update={"load_address": "10.0.0.2"}))
    why = "was inspected by another version: start its worker again"
    assert f"one {why}" in text_of(admin_client, f"{NEW}?host=one")
    assert why not in text_of(admin_client, f"{NEW}?host=two")
    for fields in ({"host": ["one"]}, {"host": ["one", "two"]}, {"load_hosts": ["one"]}):
        answer, text = posted(admin_client, **({"host": ["two"]} | fields))
        assert answer.status_code == 400
        assert f"one {why}" in text, fields
    there = {"template": "connections", "host": "one"}
    refused = admin_client.post("/api/v1/studies/", there, content_type="application/json")
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "host_not_inspected")
    for address in ("/", "/hosts/", f"/hosts/{host.pk}/", "/devices/", "/configs/check/"):
        assert admin_client.get(address).status_code == 200, address
    assert not Study.objects.exists()


def test_the_form_offers_what_the_chosen_hosts_have(
    admin_client: Client, hosts: None, tmp_path: Path, settings: Any
) -> None:
    settings.HOST_NAME = "one"  # the one that the advisor itself runs on
    text = text_of(admin_client, NEW)
    assert ticked(text) == ["one"]
    assert "one has: MySQL 8.4.3" in text
    assert f"<code>{tmp_path}/one</code> on one" in text
    settings.HOST_NAME = "web"
    text = text_of(admin_client, f"{NEW}?host=two&path=/typed&emulate=hdd")
    assert ticked(text) == ["two"]
    assert "two has: MySQL 9.7.4" in text
    assert f"{tmp_path}/one" not in text
    assert 'value="/typed"' in text
    assert re.search(r'name="emulate" value="hdd"[^>]* checked', text)
    sizes = ", ".join(map(str, load_template("connections").connections_on(16)))
    assert f'"connections": "{sizes}"' in text
    text = text_of(admin_client, f"{NEW}?host=two&host=one")
    assert ticked(text) == ["one", "two"]
    assert "On the other hosts the same version is used" in text
    # What htmx replaces when other hosts are ticked is there, each part once.
    for part in re.findall(r"#([\w-]+)", re.findall(r'hx-select-oob="([^"]+)"', text)[0]):
        assert text.count(f'id="{part}"') == 1


def test_a_study_is_measured_on_the_chosen_host(admin_client: Client, hosts: None) -> None:
    answer, _ = posted(admin_client, host=["two"])
    study = Study.objects.get()
    assert answer.redirect_chain[-1][0] == reverse("study-detail", args=[study.pk])
    assert (study.host.name, study.group) == ("two", None)


@pytest.mark.long
def test_another_host_can_drive_the_measured_one(
    admin_client: Client, hosts: None, tmp_path: Path
) -> None:
    text = text_of(admin_client, f"{NEW}?host=two")
    assert re.findall(r'name="load_hosts" value="(\w*)"', text) == ["one"]
    text = text_of(admin_client, f"{NEW}?host=two&load_hosts=one")
    assert re.search(r'name="load_hosts" value="one"[^>]* checked', text)
    _, text = posted(admin_client, host=["two"], load_hosts="one")
    assert "needs one of its addresses in ADVISOR_LOAD_ADDRESS" in text
    a_host("open", directories=[tmp_path], load_address="10.0.0.11")
    _, text = posted(admin_client, host=["open"], load_hosts=["one", "two"], connections="1, 8")
    assert "2 load hosts cannot share 1 connection: each needs at least one" in text
    posted(admin_client, host=["open"], load_hosts=["two"])
    study = Study.objects.get()
    assert {one.load_hosts_text for one in study.workloads.all()} == {"two"}
    assert {one.driver for one in study.workloads.all()} == {"tpcc-mysql"}
    assert "driven by two" in " ".join(text_of(admin_client, reverse("study-list")).split())
    _, text = posted(admin_client, host=["open"], load_hosts=["two", "one"], connections="4, 8")
    assert "the load hosts one, two have no driver in common" in text
    a_host("three", driver="tpcc-mysql")
    posted(admin_client, host=["open"], load_hosts=["three", "two"], connections="4, 8")
    newest = Study.objects.latest("pk")
    assert {one.load_hosts_text for one in newest.workloads.all()} == {"two, three"}
    again = text_of(admin_client, f"{NEW}?again={newest.pk}")
    assert len(re.findall(r'name="load_hosts" value="\w+"[^>]* checked', again)) == 2


def test_a_study_over_several_hosts_has_one_page(admin_client: Client, hosts: None) -> None:
    a_host("three", directories=[Path("/tmp")], servers=[MYSQL])
    answer, _ = posted(admin_client, host=["one", "three"], name="Which?")
    group = StudyGroup.objects.get()
    assert answer.redirect_chain[-1][0] == reverse("group-detail", args=[group.pk])
    assert {study.host.name for study in group.studies.all()} == {"one", "three"}
    assert {str(study.server) for study in group.studies.all()} == {"MySQL 9.7.4"}


def test_the_preview_of_several_hosts_names_each(
    admin_client: Client, hosts: None, tmp_path: Path
) -> None:
    host = a_host("three", directories=[tmp_path / "three"], servers=[MYSQL])
    text = text_of(admin_client, f"{NEW}?host=one&host=three")
    preview = text[text.index('id="preview"') :]
    assert "use one and three for nothing else" in preview
    # What is the same for both stands there once.
    assert "one and three, each" in preview
    assert preview.count("Candidates") == 1
    assert f"{tmp_path}/one</code> on one" in preview
    assert f"{tmp_path}/three</code> on three" in preview
    device = factories.make_device(host=host, data_dir=str(tmp_path / "three"))
    asked = {"host": ["one", "three"], "devices": [str(device.pk)], "action": "preview"}
    _, text = posted(admin_client, **asked)
    assert "use one and three for nothing else" in text
    # What no host could do is said before the start.
    _, text = posted(admin_client, host=["one", "two"], action="preview")
    assert "no workload driver in common" in text[text.index('id="id_driver_error"') :][:400]
    assert not Study.objects.exists()


def test_a_device_is_added_to_the_chosen_host(
    admin_client: Client, hosts: None, tmp_path: Path
) -> None:
    address = reverse("device-list")
    there = Host.objects.get(name="two")
    text = text_of(admin_client, reverse("host-detail", args=[there.pk]))
    link = re.findall(r'href="([^"]+#add-device)"', text)[0]
    text = text_of(admin_client, link)
    assert '<option value="two" selected>' in text
    assert f'name="path" value="{tmp_path}/two"' in text
    assert f'<option value="{tmp_path}/two">' in text
    values = {"path": str(tmp_path / "two"), "host": "two"}
    answer = admin_client.post(address, values | {"host": "one"})
    assert "device add" in html.unescape(answer.content.decode())
    answer = admin_client.post(address, values, follow=True)
    assert Device.objects.get().host == there
    text = text_of(admin_client, address)
    assert f'{reverse("host-detail", args=[there.pk])}">two</a>' in text


def test_a_file_is_checked_for_the_server_of_the_chosen_host(
    admin_client: Client, hosts: None
) -> None:
    values = {"config_text": "[mysqld]\ninnodb_io_capacity = 900\n", "durability": "D0"}
    for name, version in (("one", "8.4.3"), ("two", "9.7.4")):
        answer = admin_client.post(reverse("config-check"), values | {"host": name})
        text = html.unescape(answer.content.decode())
        assert f"Result for MySQL {version} on host {name}" in text
    answer = admin_client.post(reverse("config-check"), values | {"host": "four"})
    assert "There is no host of that name" in answer.content.decode()


@pytest.mark.parametrize(
    ("fields", "field", "said"),
    [
        ({"host": ["one", "two"]}, "driver", "no workload driver in common"),
        ({"host": ["one", "two"], "server": str(OLD.path)}, "server", "no server version in"),
        ({"host": ["four"]}, "host", "There is no host of that name"),
        ({"host": ["one"], "path": "/elsewhere"}, "path", "device add /elsewhere"),
    ],
)
def test_what_is_wrong_stands_beside_its_field(
    admin_client: Client, hosts: None, fields: dict[str, Any], field: str, said: str
) -> None:
    answer, text = posted(admin_client, **fields)
    assert answer.status_code == 400
    assert said in text[text.index(f'id="id_{field}_error"') :][:400]
    assert not Study.objects.exists()

"""The hosts of a new study: chosen in the form, which then offers what they have."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from advisor.tests import factories
from advisor.tests.test_pages_hosts import a_host, text_of
from advisor.tests.test_pages_new_study import BLANK
from benchmarks.tests.made_up_host import MYSQL
from tuning.models import Study
from tuning.study_templates.loader import load_template

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
    chosen = r'<select name="load_host".*?<option value="one"( selected)?>'
    assert re.search(chosen, text_of(admin_client, f"{NEW}?host=two"), re.DOTALL)
    text = text_of(admin_client, f"{NEW}?host=two&load_host=one")
    assert (found := re.search(chosen, text, re.DOTALL))
    assert found[1]
    a_host("open", directories=[tmp_path], load_address="10.0.0.11")
    posted(admin_client, host=["open"], load_host="two")
    study = Study.objects.get()
    assert {str(one.load_host) for one in study.workloads.all()} == {"two"}
    assert {one.driver for one in study.workloads.all()} == {"tpcc-mysql"}
    assert "driven by two" in " ".join(text_of(admin_client, reverse("study-list")).split())
    again = text_of(admin_client, f"{NEW}?again={study.pk}")
    assert re.search(r'<option value="two" selected>', again)


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

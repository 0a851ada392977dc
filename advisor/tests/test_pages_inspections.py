"""A path that is typed in is asked of its host; the answer stands beside the field."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from advisor.access.roles import Role
from advisor.tests import factories
from advisor.tests.test_pages_hosts import a_host, text_of
from advisor.tests.test_pages_new_study import BLANK
from benchmarks.jobs.engine import execute
from benchmarks.jobs.inspections import InspectionKind
from benchmarks.models import Host, Inspection
from tuning.models import Study

pytestmark = pytest.mark.django_db


@pytest.fixture
def host(settings: Any, tmp_path: Path) -> Host:
    settings.RUN_DIR = tmp_path
    return a_host(directories=[tmp_path])


def ask(client: Client, field: str, path: Path | str, **values: Any) -> str:
    answer = client.post(reverse("path-inspect"), {"field": field, field: str(path), **values})
    assert answer.status_code == 200
    return html.unescape(answer.content.decode()).replace("\N{NO-BREAK SPACE}", " ")


def test_what_the_host_has_is_said_at_once(
    admin_client: Client, host: Host, tmp_path: Path
) -> None:
    assert "found</span> MySQL 9.7.4" in ask(admin_client, "server", "/usr/sbin/mysqld")
    assert " free</p>" in ask(admin_client, "path", tmp_path)
    assert ask(admin_client, "path", " ").strip() == ""
    assert not Inspection.objects.exists()
    assert admin_client.post(reverse("path-inspect"), {"field": "name"}).status_code == 400


def test_another_directory_is_inspected_and_then_measured(
    admin_client: Client, host: Host, tmp_path: Path
) -> None:
    place = tmp_path / "new"
    place.mkdir()
    text = ask(admin_client, "path", place)
    row = Inspection.objects.get()
    live = reverse("inspection-live", args=[row.pk])
    assert f'hx-get="{live}"' in text
    assert f"asked</span> host {host} looks as soon as" in text
    assert "asked</span>" in text_of(admin_client, live)
    assert "HX-Trigger" not in admin_client.get(live).headers
    assert execute(InspectionKind(), row.pk)
    assert "HX-Trigger" in admin_client.get(live).headers, "the form looks ahead again"
    text = text_of(admin_client, live)
    assert "found</span>" in text
    assert "hx-get" not in text
    values = BLANK | {"template": "connections", "warehouses": "1", "path": str(place)}
    admin_client.post("/studies/new/", values)
    assert Study.objects.get().devices.get().data_dir == str(place)


def test_a_host_looks_again_and_its_page_shows_what_it_found(
    admin_client: Client, host: Host
) -> None:
    page = reverse("host-detail", args=[host.pk])
    stamp = admin_client.get(page).context["stamp"]
    live = f"{reverse('host-live', args=[host.pk])}?seen={stamp}"
    assert "What this host has" not in text_of(admin_client, live)
    address = reverse("host-inspect", args=[host.pk])
    admin_client.post(address)
    assert Inspection.objects.get().subject == "host"
    Host.objects.update(inventory=host.inventory | {"logical_cpus": 3})
    assert "3 of 2 at" in text_of(admin_client, live)
    Host.objects.update(retired_at=timezone.now())
    answer = admin_client.post(address, follow=True)
    for offer in ("/actions/inspect/", ">Register</a>", "Studies on this host choose"):
        assert offer not in answer.content.decode()


def test_only_administrators_ask_about_what_the_host_has_not(
    client: Client, host: Host, tmp_path: Path
) -> None:
    client.force_login(factories.make_user("ann", Role.OPERATOR))
    assert f"manage.py device add {tmp_path / 'x'}" in ask(client, "path", tmp_path / "x")
    assert not Inspection.objects.exists()

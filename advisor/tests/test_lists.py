"""All pages that list rows: empty, filtered, in pages, and for whom."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from django.test import Client
from django.urls import reverse

from advisor.access.roles import Role
from advisor.pages.devices.context import DEVICES
from advisor.pages.gates.views import GATES
from advisor.pages.hosts.views import HOSTS
from advisor.pages.lists import MIN_FILTERED, Listing
from advisor.pages.study.views import STUDIES
from advisor.tests import factories
from benchmarks.models import Device, Host, Server
from tuning.models import Study, StudyState
from tuning.statistics.gate import GatePlan

pytestmark = pytest.mark.django_db


@dataclass(frozen=True)
class Made:
    """A list and how to make its rows, each with the name that it is given."""

    listing: Listing
    make: Callable[[list[str]], object]


def make_hosts(names: list[str]) -> None:
    Host.objects.bulk_create(Host(name=name) for name in names)


def make_devices(names: list[str]) -> None:
    host = factories.make_host()
    Device.objects.bulk_create(
        Device(host=host, data_dir=f"/srv/{name}", kind="nvme") for name in names
    )


def make_studies(names: list[str], gate: bool = False) -> None:
    plan = GatePlan().as_json() if gate else None
    server = Server.objects.first() or factories.make_server()
    Study.objects.bulk_create(
        Study(
            name=name,
            template="quick",
            host=server.host,
            server=server,
            blocks=1,
            seed=1,
            gate=plan,
            state=StudyState.FAILED,
        )
        for name in names
    )


LISTS = pytest.mark.parametrize(
    "made",
    [
        Made(STUDIES, make_studies),
        Made(GATES, lambda names: make_studies(names, gate=True)),
        Made(HOSTS, make_hosts),
        Made(DEVICES, make_devices),
    ],
    ids=lambda made: made.listing.url_name,
)


def read(client: Client, made: Made, **asked: str | int) -> str:
    answer = client.get(reverse(made.listing.url_name), asked)
    assert answer.status_code == 200
    return answer.content.decode()


def names_in(text: str) -> set[str]:
    return set(re.findall(r"row-\d+", text))


@LISTS
def test_without_rows_the_list_says_what_to_do(made: Made, admin_client: Client) -> None:
    text = read(admin_client, made)
    assert 'class="card empty"' in text
    assert 'role="search"' not in text


@LISTS
def test_a_list_has_a_filter_from_some_rows_on(made: Made, admin_client: Client) -> None:
    made.make([f"row-{number:03}" for number in range(MIN_FILTERED - 1)])
    assert 'role="search"' not in read(admin_client, made)
    made.make(["Special-1"])
    assert 'role="search"' in read(admin_client, made)
    text = read(admin_client, made, find="SPECIAL 1")
    assert "Special-1" in text
    assert names_in(text) == set()
    assert f"1 {made.listing.noun} found" in text
    text = read(admin_client, made, find="nothing\0like this")
    assert f"0 {made.listing.nouns} found" in text
    assert 'class="card empty"' not in text
    assert 'value="&lt;b&gt;"' in read(admin_client, made, find="<b>")
    read(admin_client, made, find="x " * 3000)


@LISTS
def test_pages_have_each_row_once_and_keep_the_filter(made: Made, admin_client: Client) -> None:
    made.make([f"row-{number:03}" for number in range(made.listing.per_page + 1)])
    first = read(admin_client, made, find="row")
    second = read(admin_client, made, find="row", page=2)
    assert len(names_in(first)) == made.listing.per_page
    assert len(names_in(first) | names_in(second)) == made.listing.per_page + 1
    assert 'href="?find=row&amp;page=2"' in first
    assert 'href="?find=row&amp;page=1"' in second
    for wrong in ("0", "x", "9" * 40):
        read(admin_client, made, page=wrong)


@LISTS
def test_a_viewer_reads_it_and_nobody_else_without_an_account(made: Made, client: Client) -> None:
    address = reverse(made.listing.url_name)
    assert client.get(address)["Location"].startswith(reverse("login"))
    client.force_login(factories.make_user("eve", Role.VIEWER))
    assert client.get(address).status_code == 200

"""A study over several hosts: its page shows the hosts side by side and changes all of them."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from advisor.tests import factories
from advisor.tests.drawn import flat
from advisor.tests.test_pages_hosts import a_host, measuring, text_of
from benchmarks.models import Run, RunState
from tuning.models import Study, StudyGroup
from tuning.stored_documents import document_of

pytestmark = pytest.mark.django_db


def a_group() -> StudyGroup:
    """A finished study on a slow disk of one host, a running one on a fast disk of another."""
    group = StudyGroup.objects.create(name="Which disks?")
    slow = factories.make_device(host=a_host("db-1"), kind="hdd")
    factories.measured_study(device=slow, blocks=2)
    measuring(a_host("db-2"))
    Study.objects.update(group=group)
    return group


def test_the_hosts_stand_side_by_side_each_with_its_own_verdict(admin_client: Client) -> None:
    group = a_group()
    finished, running = group.studies.order_by("pk")
    text = text_of(admin_client, reverse("group-detail", args=[group.pk]))
    for study in (finished, running):
        assert reverse("study-detail", args=[study.pk]) in text
        assert reverse("host-detail", args=[study.host_id]) in text
    assert "Verdict of each host, so far" in text
    [answer] = document_of(finished).answers
    assert answer.title in text
    assert "0 of 6 runs finished" in text
    assert "The hosts may differ in more than their devices" in text
    assert "not known yet" in text
    live = reverse("group-live", args=[group.pk])
    known = admin_client.get(reverse("group-detail", args=[group.pk])).context["revisions"]
    assert "Verdict of each host" not in text_of(admin_client, f"{live}?revisions={known}")
    assert "Verdict of each host" in text_of(admin_client, f"{live}?revisions=other")


def test_an_open_page_asks_little_while_nothing_changes(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = a_group()
    # The clock stands still, of which a mark has a part.
    monkeypatch.setattr("tuning.studies.revision.REFRESH_S", 1e12)
    page = flat(admin_client.get(reverse("group-detail", args=[group.pk])))
    [poll] = re.findall(r'data-poll hx-get="([^"]*)"', page)
    with CaptureQueriesContext(connection) as asked:
        assert admin_client.get(html.unescape(poll)).status_code == 204
    assert sum("tuning_" in one["sql"] and "SELECT" in one["sql"] for one in asked) <= 2
    running = group.studies.latest("pk")
    runs = Run.objects.filter(slot__study=running, state=RunState.RUNNING)
    assert runs.update(step="stopping the server") == 1
    assert "stopping the server" in text_of(admin_client, html.unescape(poll))


def test_more_hosts_take_no_more_queries(admin_client: Client) -> None:
    driven = factories.make_workload(load_host=a_host("load-1"))

    def queries(hosts: int) -> int:
        group = StudyGroup.objects.create(name=f"{hosts} hosts")
        for number in range(hosts):
            device = factories.make_device(host=a_host(f"db-{hosts}-{number}"))
            facts: dict[str, Any] = {"blocks": 1, "group": group, "workloads": [driven]}
            factories.measured_study(device=device, **facts)
        address = reverse("group-detail", args=[group.pk])
        with CaptureQueriesContext(connection) as asked:
            text = text_of(admin_client, address)
        assert text.count("6 of 6 runs finished") == hosts
        assert text.count("; driven by load-1<") == hosts
        return len(asked)

    few, many = queries(2), queries(4)
    assert few == many
    assert many <= 25


def test_devices_of_two_hosts_are_compared_when_both_are_measured(admin_client: Client) -> None:
    group = StudyGroup.objects.create(name="Which disks?")
    for name, kind in (("db-1", "hdd"), ("db-2", "nvme")):
        device = factories.make_device(host=a_host(name), kind=kind)
        factories.measured_study(device=device, blocks=2, group=group)
    text = text_of(admin_client, reverse("group-detail", args=[group.pk]))
    assert "HDD on db-1" in text
    assert re.search(
        r"Whether \w+ on db-\d is faster than .* is not known: their runs overlap", text
    )
    assert " times as many transactions as " not in text
    assert "Cancel all" not in text


def test_pages_name_the_host_where_there_is_more_than_one(admin_client: Client) -> None:
    device = factories.make_device(host=a_host("db-1"))
    study = factories.measured_study(device=device, blocks=1)
    probe = factories.probed(device)
    addresses = [
        reverse("study-detail", args=[study.pk]),
        reverse("probe-detail", args=[device.pk, probe.pk]),
        reverse("study-list"),
    ]
    link = reverse("host-detail", args=[device.host_id])
    for address in addresses:
        assert link not in text_of(admin_client, address)
    a_host("db-2")
    for address in addresses:
        assert f'{link}">db-1</a>' in text_of(admin_client, address)
    assert "Quick comparison" in text_of(admin_client, f"{addresses[-1]}?host=db-1")
    assert "Quick comparison" not in text_of(admin_client, f"{addresses[-1]}?host=db-2")
    assert admin_client.get(addresses[-1], {"host": "db-3"}).status_code == 404

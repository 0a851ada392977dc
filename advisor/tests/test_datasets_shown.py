"""Golden datasets on pages and in the API; what administrators ask for is done by the host."""

from __future__ import annotations

import html
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from advisor.tests.test_housekeeping import home, host, left
from benchmarks.jobs.engine import execute
from benchmarks.models import Host, Inspection
from benchmarks.tests.made_up_host import MYSQL, made_up_host, with_inventory
from tuning.studies.datasets import note_datasets
from tuning.studies.jobs import HostInspectionKind

__all__ = ["home", "host"]


pytestmark = pytest.mark.django_db


@pytest.fixture
def shown(admin_client: Client, host: Host) -> Any:
    """What an administrator reads on the page, after the host has noted its datasets."""
    there = made_up_host(servers=[replace(MYSQL, digest="d1")])
    note_datasets(with_inventory(host, there))

    def read(answer: Any = None) -> str:
        answer = answer or admin_client.get(reverse("host-datasets", args=[host.pk]))
        assert answer.status_code == 200
        text = html.unescape(answer.content.decode())
        return " ".join(text.replace("\N{NO-BREAK SPACE}", " ").split())

    return read


def ask(client: Client, host: Host, **fields: str) -> Any:
    name = "dataset-delete" if fields else "dataset-prune"
    return client.post(reverse(name, args=[host.pk]), fields, follow=True)


def work() -> Inspection:
    """What the host's worker does."""
    row = Inspection.objects.latest("pk")
    assert execute(HostInspectionKind(), row.pk)
    row.refresh_from_db()
    return row


def deleted() -> list[Any]:
    """What the host's worker says that it has deleted."""
    answer = work().answer
    assert answer is not None
    return list(answer["deleted"])


def test_the_host_deletes_what_it_is_asked_to(
    admin_client: Client, host: Host, shown: Any
) -> None:
    text = shown()
    assert "3 datasets, " in text
    assert "9.7.4" in text
    assert "data-poll" not in text
    assert f"Host {host} was asked to delete old." in shown(ask(admin_client, host, name="old"))
    assert left(host) == ["gone", "new", "old"], "the web process deletes nothing"
    assert "data-poll" in shown()
    assert [one["name"] for one in deleted()] == ["old"]
    assert left(host) == ["gone", "new"]
    text = shown()
    assert "2 datasets, " in text
    assert "old on " in text
    assert " was deleted" in text
    ask(admin_client, host)
    [gone] = deleted()
    assert gone["why"] == "its server is no longer on this host"
    ask(admin_client, host)
    work()
    assert "unused datasets: there was nothing to delete" in shown()

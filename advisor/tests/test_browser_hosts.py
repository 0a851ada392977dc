"""Hosts in a real browser: the form follows the chosen hosts and asks them about a path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from advisor.tests.test_browser import (
    Visitor,
    browser,
    context,
    in_browser,
    unfold,
    visitor,
    wait_until_unasked,
)
from advisor.tests.test_pages_hosts import a_host, fleet, quiet_broker
from benchmarks.jobs.engine import execute
from benchmarks.jobs.inspections import InspectionKind
from benchmarks.models import Host, Inspection
from tuning.study_templates.loader import load_template

__all__ = ["browser", "context", "quiet_broker", "visitor", "wait_until_unasked"]


pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
LONG = "measurement-box-with-an-unusually-long-name.dc-2.example.com"


def sizes(cpus: int) -> str:
    return ", ".join(map(str, load_template("connections").connections_on(cpus)))


def test_the_form_follows_its_hosts_and_loses_nothing_that_was_typed(
    visitor: Visitor, settings: Any, tmp_path: Path
) -> None:
    settings.RUN_DIR = tmp_path
    settings.HOST_NAME = "one"
    a_host("one", directories=[tmp_path])
    a_host("two", directories=[tmp_path], logical_cpus=16)
    fleet(LONG)
    Host.objects.bulk_create(Host(name=f"spare-{number}") for number in range(8))
    page = visitor.page

    def type_and_choose() -> None:
        visitor.open(reverse("study-new"))
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.method))
        find = page.locator("#host-boxes-find")
        find.press_sequentially("spare")
        expect(page.get_by_role("status").get_by_text("8 of 11 found")).to_be_visible()
        find.clear()
        page.wait_for_timeout(1000)
        assert "POST" not in asked, "a filter changes nothing of what will happen"
        unfold(page)
        page.get_by_label("Name", exact=True).fill("My study")
        page.get_by_label("Warehouses").fill("7")
        page.get_by_label("Template").select_option("connections")
        connections = page.get_by_label("Connections")
        expect(connections).to_have_attribute("placeholder", sizes(2))
        hosts = page.get_by_role("group", name="Hosts")
        find.press_sequentially("two")
        expect(hosts.get_by_role("checkbox")).to_have_count(2)  # and "one", which is ticked
        expect(page.get_by_role("status").get_by_text("1 of 11 found")).to_be_visible()
        expect(find).to_be_focused()
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        page.keyboard.press("Space")
        hosts.get_by_label("one", exact=True).uncheck()
        expect(connections).to_have_attribute("placeholder", sizes(16))
        expect(page.get_by_label("Template")).to_have_value("connections")
        page.locator("#id_path").fill("/elsewhere")
        page.locator("#id_path").blur()
        expect(page.locator("#path-answer")).to_contain_text("two: host two is looking")
        assert set(visitor.overflow().values()) == {0}

    def read_the_answer() -> None:
        expect(page.locator("#path-answer")).to_contain_text("/elsewhere: does not exist")
        # What the form says of the same path is less.
        expect(page.get_by_text("not a directory that may be measured")).to_be_hidden()
        expect(page.get_by_label("Name", exact=True)).to_have_value("My study")
        expect(page.get_by_label("Warehouses")).to_have_value("7")
        visitor.open(reverse("host-list"))
        expect(page.get_by_text("8 silent, 1 measuring, 2 idle.")).to_be_visible()
        assert set(visitor.overflow().values()) == {0}

    in_browser(type_and_choose)
    assert execute(InspectionKind(), Inspection.objects.get().pk)
    in_browser(read_the_answer)

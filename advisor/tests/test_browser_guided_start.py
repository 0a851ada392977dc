"""The guided start in the real browser: checked while it is typed, and nothing typed is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from advisor.tests.test_browser import (
    Visitor,
    browser,
    in_browser,
    unfold,
    visitor,
    wait_until_unasked,
)
from benchmarks.tests.made_up_host import this_host

__all__ = ["browser", "visitor", "wait_until_unasked"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_fields_are_checked_while_they_are_typed_and_outlive_the_session(
    visitor: Visitor, tmp_path: Path
) -> None:
    this_host(driver="sysbench", directories=[tmp_path])
    page = visitor.page

    def type_in() -> None:
        visitor.open("/studies/new/")
        page.get_by_role("link", name="Compare my files").click()
        expect(page.locator("#outlook")).to_contain_text("Candidates1")
        unfold(page)
        page.get_by_label("Connections").fill("many")
        expect(page.locator("#id_connections_error")).to_contain_text("Enter whole numbers")
        page.get_by_label("Connections").fill("4, 8")
        expect(page.locator("#outlook")).to_contain_text("2 rankings")
        expect(page.locator("#id_connections_error")).to_have_count(0)
        expect(page.get_by_label("Connections")).to_be_focused()
        page.get_by_label("Name of the candidate").fill("mine")
        page.get_by_label("Text of its my.cnf").fill("[mysqld]\nback_log = 90")
        expect(page.locator("#outlook")).to_contain_text("Candidates2")
        assert set(visitor.overflow().values()) == {0}

    def lose_the_session() -> None:
        page.context.clear_cookies(name="sessionid")
        page.get_by_role("button", name="Start study").click()
        page.get_by_label("Username").fill("dba")
        page.get_by_label("Password").fill("a password")
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_label("Connections")).to_have_value("4, 8")
        expect(page.get_by_label("Text of its my.cnf")).to_have_value("[mysqld]\nback_log = 90")
        expect(page.locator("#outlook")).to_contain_text("2 rankings")

    in_browser(type_in)
    in_browser(lose_the_session)

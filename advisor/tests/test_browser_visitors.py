"""Visitors in the real browser: two at once, sessions that end, and without JavaScript."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect

from advisor.pages.new_study import answer
from advisor.tests import factories
from advisor.tests.browsing import (
    Visitor,
    enter,
    in_browser,
    log_in,
    make_administrator,
    show,
    unfold,
)
from advisor.tests.test_browser import begin_to_measure
from benchmarks.models import Run, RunState
from benchmarks.tests.made_up_host import this_host
from tuning.models import Study, StudyState
from tuning.studies.scheduler import advance_host

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

MINE = "[mysqld]\nback_log = 90"


def address(study: Study) -> str:
    return reverse("study-detail", args=[study.pk])


def type_in(page: Page) -> None:
    # A click does not wait for the page that it leads to.
    expect(page.get_by_label("Template")).to_have_value("compare")
    unfold(page)
    page.get_by_label("Connections").fill("4, 8")
    page.get_by_label("Name of the candidate").fill("mine")
    page.get_by_label("Text of its my.cnf").fill(MINE)


def lose_the_session_and_start(page: Page) -> None:
    page.context.clear_cookies(name="sessionid")
    page.get_by_role("button", name="Start study").click()
    log_in(page, "dba")


def see_what_was_typed(page: Page) -> None:
    expect(page.get_by_label("Connections")).to_have_value("4, 8")
    expect(page.get_by_label("Name of the candidate")).to_have_value("mine")
    expect(page.get_by_label("Text of its my.cnf")).to_have_value(MINE)
    expect(page.locator("#preview")).to_contain_text("2 rankings")


def test_fields_are_checked_while_they_are_typed_and_outlive_the_session(
    visitor: Visitor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    this_host(driver="sysbench", directories=[tmp_path])
    page = visitor.page
    preview, is_slow = answer._preview, threading.Event()

    def preview_slowly(*given: Any) -> None:
        time.sleep(1.5 * is_slow.is_set())
        preview(*given)

    monkeypatch.setattr(answer, "_preview", preview_slowly)

    def look() -> None:
        visitor.open("/studies/new/")
        page.get_by_role("link", name="Compare my files").click()
        expect(page.locator("#preview")).to_contain_text("add your my.cnf")
        type_in(page)
        expect(page.locator("#preview")).to_contain_text("Candidates2")
        page.get_by_label("Connections").fill("many")
        expect(page.locator("#id_connections_error")).to_contain_text("must be whole numbers")
        # What is typed before an answer has come is checked after it; nothing is given up.
        is_slow.set()
        with page.expect_request(lambda request: request.method == "POST"):
            page.get_by_label("Connections").fill("4")
        page.get_by_label("Connections").fill("4, 8")
        expect(page.locator("#preview")).to_contain_text("2 rankings")
        expect(page.locator("#id_connections_error")).to_have_count(0)
        is_slow.clear()
        expect(page.get_by_label("Connections")).to_be_focused()
        assert set(visitor.overflow().values()) == {0}
        lose_the_session_and_start(page)
        see_what_was_typed(page)

    in_browser(look)


def test_from_the_guided_start_to_an_answer_and_on(
    visitor: Visitor,
    tmp_path: Path,
    wait_until_unasked: Callable[[], None],
) -> None:
    this_host(driver="sysbench", directories=[tmp_path])
    page = visitor.page

    def start() -> None:
        visitor.open(reverse("home"))
        page.get_by_role("link", name="Start the first study").click()
        page.get_by_role("link", name="Compare my files").click()
        type_in(page)
        page.get_by_label("Connections").fill("8")
        page.get_by_label("Blocks", exact=True).fill("2")
        with page.expect_request(lambda request: request.method == "POST") as asked:
            page.keyboard.press("Enter")  # shows what will happen, and starts nothing
        assert "preview" in (asked.value.post_data or "")
        expect(page.locator("#preview")).to_contain_text("at most 16")
        page.get_by_role("button", name="Start study").click()
        expect(page.locator("#study-live")).to_contain_text(
            "0 of at most 16 runs finished, the last 10"
        )
        # It has the test's connection to the database.
        show(page, "hidden")

    def go_on() -> None:
        show(page, "visible")
        expect(page.get_by_role("link", name="Download my.cnf")).to_be_visible()
        # More than 6 if a config looked better than the baseline: it was measured in pairs.
        expect(page.locator("#study-live")).to_contain_text(
            f"{measured} of {measured} runs finished"
        )
        names = page.locator("table.ranking .name > a")
        page.get_by_role("link", name="Candidate", exact=True).click()
        expect(page.locator("th[aria-sort=ascending]")).to_contain_text("Candidate")
        assert names.all_text_contents() == sorted(names.all_text_contents())
        page.locator("#tab-charts > summary").click()
        page.get_by_text("Response times, seconds, and what a transaction costs").click()
        page.get_by_role("link", name="The same side by side").click()
        sides = page.get_by_role("region", name="Variables that differ", exact=True)
        expect(sides).to_contain_text("back_log")
        page.go_back()
        page.get_by_role("spinbutton", name="Blocks", exact=True).fill("1")
        page.once("dialog", lambda dialog: dialog.accept())
        page.get_by_role("button", name="Measure more blocks").click()
        expect(page.get_by_text("is measured further (blocks: 1)")).to_be_visible()
        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_role("button", name="Log in")).to_be_visible()
        page.goto(f"{visitor.server}{address(study)}")
        assert reverse("login") in page.url

    in_browser(start)
    wait_until_unasked()
    study = Study.objects.get()
    running = {"state": StudyState.RUNNING, "started_at": timezone.now()}
    Study.objects.filter(pk=study.pk).update(**running)  # the dataset is there
    advance_host(study.host_id)
    while (run := factories.begin(study)) is not None:
        factories.finish(run)
        advance_host(study.host_id)
    study.refresh_from_db()
    assert study.state == StudyState.FINISHED
    measured = study.slots.count()
    in_browser(go_on)
    assert study.slots.count() > measured


def test_without_javascript_nothing_typed_is_lost_and_the_ranking_is_shown(
    browser: Browser, visitor: Visitor, tmp_path: Path
) -> None:
    study = factories.measured_study(blocks=2, samples=True)
    this_host(driver="sysbench", directories=[tmp_path])

    def look() -> None:
        plain = enter(browser, visitor.server, "dba", java_script_enabled=False)
        page = plain.page
        plain.open("/studies/new/")
        page.get_by_role("link", name="Compare my files").click()
        type_in(page)
        page.get_by_role("button", name="Show what will happen").click()
        see_what_was_typed(page)
        plain.open(address(study))
        expect(page.locator("table.ranking")).to_contain_text("whitepaper-a")
        expect(page.locator(".chart").first).to_be_hidden()
        assert plain.complaints == []
        page.close()

    in_browser(look)
    assert Study.objects.get() == study


def test_two_users_at_once_see_what_the_other_did(browser: Browser, visitor: Visitor) -> None:
    study = begin_to_measure()
    make_administrator("eva")

    def look() -> None:
        other = enter(browser, visitor.server, "eva")
        first, second = visitor.page, other.page
        for one in (visitor, other):
            one.open(address(study))
            one.page.evaluate("window.loadedOnce = true")
        state = "#study-live .badge >> nth=0"
        expect(second.locator(state)).to_have_text("Measuring")
        first.get_by_label("Reason (Pause study)").fill("nightly backup")
        first.get_by_role("button", name="Pause study").click()
        resume = first.get_by_role("button", name="Resume study")
        expect(resume).to_be_focused()
        expect(resume).to_have_accessible_description(re.compile("current run is finished first"))
        expect(second.locator(state)).to_have_text("Paused")
        expect(second.locator("#study-live")).to_contain_text("nightly backup")
        expect(second.get_by_role("button", name="Resume study")).to_be_visible()
        assert second.evaluate("window.loadedOnce"), "the page was loaded again"
        # Behind another tab the page does not follow: its button is of a moment ago.
        show(second, "hidden")
        second.wait_for_load_state("networkidle")
        resume.press("Enter")
        expect(first.locator(state)).to_have_text("Measuring")
        expect(first.get_by_role("button", name="Pause study")).to_be_focused()
        second.get_by_role("button", name="Resume study").click()
        said = second.get_by_text("Resume study: ")
        expect(said).to_be_visible()
        expect(second.locator(state)).to_have_text("Measuring")
        assert other.complaints == []
        second.close()
        first.once("dialog", lambda dialog: dialog.accept())
        first.get_by_role("button", name="Cancel study").press("Enter")
        expect(first.get_by_role("button", name="Cancel study")).to_be_focused()

    def look_again() -> None:
        # The part of the page in which the button was is another one by now.
        expect(visitor.page.get_by_role("button", name="Run again")).to_be_focused()

    in_browser(look)
    study.refresh_from_db()
    assert not study.is_paused
    Run.objects.filter(state=RunState.RUNNING).update(state=RunState.CANCELLED)
    advance_host(study.host_id)
    in_browser(look_again)

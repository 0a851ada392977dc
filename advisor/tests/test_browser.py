"""The pages in the real browser: they draw, stay inside the window and follow a study live."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from advisor.tests import factories
from advisor.tests.browsing import Visitor, in_browser, show
from advisor.tests.test_api_contract import committed
from benchmarks.tests.made_up_host import this_host
from tuning.models import Study, StudyState

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

# Of the charts of a board the one with every run.
RUNS_CHART = ".chart[data-chart$='-D0']"


def test_a_finished_study_draws_its_chart(visitor: Visitor) -> None:
    study = factories.measured_study(fails=["whitepaper-1"])

    def look() -> None:
        visitor.open(reverse("study-detail", args=[study.pk]))
        visitor.page.locator("#tab-charts > summary").click()
        chart = visitor.page.locator(RUNS_CHART)
        expect(chart.locator("svg.main-svg").first).to_be_visible()
        # Five medians and the runs that ended well; the baseline runs twice in each block.
        expect(chart.locator(".points .point")).to_have_count(2 * (5 + 15))
        expect(chart).to_contain_text("tpmP")
        assert set(visitor.overflow().values()) == {0}

    in_browser(look)


def test_a_run_draws_its_seconds(visitor: Visitor) -> None:
    study = factories.measured_study(blocks=1, names=["server-default"], samples=True)
    run = study.slots.earliest("order").run

    def look() -> None:
        visitor.open(reverse("run-detail", args=[run.pk]))
        charts = visitor.page.locator(".chart")
        expect(charts).to_have_count(7)
        expect(visitor.page.locator(".chart svg.main-svg .xtitle")).to_have_count(7)
        assert set(visitor.overflow().values()) == {0}

    in_browser(look)


def test_the_other_pages_fit_into_every_window(visitor: Visitor, settings: Any) -> None:
    settings.HOST_NAME = factories.make_host().name
    factories.measured_study(blocks=1, name="A study with a rather long name " * 4)
    factories.found_device(data_dir="/a-rather-long-mount-point" * 4, log_dir="/logs" * 20)
    paths = committed()["paths"]
    operations = sum(len(methods) for methods in paths.values())

    def look() -> None:
        for name in (
            "home",
            "study-list",
            "study-new",
            "config-check",
            "account-token",
            "account-password",
        ):
            visitor.open(reverse(name))
            assert set(visitor.overflow().values()) == {0}, name
        visitor.open(reverse("api:openapi-view"))
        expect(visitor.page.locator(".opblock")).to_have_count(operations)
        assert set(visitor.overflow().values()) == {0}

    in_browser(look)


def begin_to_measure() -> Study:
    study = factories.make_study(
        state=StudyState.RUNNING,
        names=factories.NAMES[:2],
        blocks=2,
        started_at=timezone.now() - timedelta(seconds=30),
    )
    factories.begin(study)
    return study


def test_a_study_is_followed_live_without_loading_the_page_again(visitor: Visitor) -> None:
    study = begin_to_measure()
    current = study.slots.select_related("candidate", "run").get(order=1)
    page = visitor.page
    top = "document.getElementById('study-rankings').getBoundingClientRect().top + scrollY"
    tops: list[float] = []

    def open_page() -> None:
        visitor.open(reverse("study-detail", args=[study.pk]))
        page.evaluate("window.loadedOnce = true")
        live = page.locator("#study-live")
        expect(live).to_contain_text(current.candidate.name)
        expect(live).to_contain_text("0 of 6 runs finished")
        expect(page.locator("#announcer")).to_have_text(re.compile("Run 1 of 6"))
        expect(page.locator("#study-verdict")).to_contain_text("The first figures")
        for empty in (".chart[data-chart^=board]", "#study-rankings table", "input[name=only]"):
            expect(page.locator(empty)).to_have_count(0)
        tops.append(page.evaluate(top))
        page.locator("#tab-configs > summary").click()
        page.locator("details.candidate summary").first.click()
        page.locator("#tab-ranking > summary").click()

    def see_first_run() -> None:
        expect(page.locator("#study-live")).to_contain_text("1 of 6 runs finished")
        expect(page.locator(".board .num >> text=/^\\d,\\d{3}$/").first).to_be_visible()
        expect(page.get_by_label("Names with")).to_be_visible()
        expect(page.locator("#study-verdict")).not_to_contain_text("The first figures")
        expect(page.locator("#announcer")).to_have_text(re.compile("Run 2 of 6"))
        tops.append(page.evaluate(top))
        assert abs(tops[1] - tops[0]) < 30, tops
        page.locator("#tab-charts > summary").click()
        expect(page.locator(f"{RUNS_CHART} svg.main-svg").first).to_be_visible()
        page.evaluate("document.querySelector('.chart').dataset.kept = 'yes'")

    def see_the_end() -> None:
        expect(page.locator("#study-live")).to_contain_text("Finished")
        expect(page.get_by_role("link", name="Download my.cnf")).to_be_visible()
        expect(page.get_by_role("button", name="Cancel study")).to_have_count(0)
        assert page.locator("[hx-trigger]").count() == 0
        assert page.evaluate("window.loadedOnce"), "the page was loaded again"
        assert page.locator(".chart[data-kept=yes]").count() == 1, "the chart was swapped"
        assert page.locator("details.candidate").first.get_attribute("open") is not None
        # Two medians, two runs of the candidate and four of the baseline, in both panels.
        expect(page.locator(f"{RUNS_CHART} .points .point")).to_have_count(16)

    in_browser(open_page)
    factories.finish(current.run)
    factories.begin(study)
    in_browser(see_first_run)
    for slot in study.slots.filter(order__gt=1):
        factories.finish(slot.run)
    factories.recommend(study)
    Study.objects.filter(pk=study.pk).update(state=StudyState.FINISHED, finished_at=timezone.now())
    in_browser(see_the_end)


def test_a_hidden_tab_does_not_poll_and_asks_when_it_is_shown(visitor: Visitor) -> None:
    study = begin_to_measure()
    page = visitor.page
    polls: list[str] = []

    def look() -> None:
        page.on("request", lambda request: polls.append(request.url))
        visitor.open(reverse("study-detail", args=[study.pk]))
        show(page, "hidden")
        page.wait_for_load_state("networkidle")
        polls.clear()
        page.wait_for_timeout(2500)
        assert polls == []
        with page.expect_request("**/live/**", timeout=1000):
            show(page, "visible")

    in_browser(look)


def test_cancelling_asks_first(visitor: Visitor) -> None:
    study = begin_to_measure()

    def cancel(is_sure: bool) -> None:
        page = visitor.page
        visitor.open(reverse("study-detail", args=[study.pk]))
        page.once("dialog", lambda box: box.accept() if is_sure else box.dismiss())
        page.get_by_role("button", name="Cancel study").click()
        if is_sure:
            expect(page.get_by_text("the current run stops within seconds")).to_be_visible()

    in_browser(cancel, False)
    study.refresh_from_db()
    assert study.stop_request == ""
    in_browser(cancel, True)
    study.refresh_from_db()
    assert study.stop_request


OLD = "[mysqld]\nquery_cache_size = 64M\ninnodb_io_capacity = 2000\n"


@pytest.fixture
def server_here(db: None) -> None:
    """A host with a server."""
    this_host()


@pytest.mark.usefixtures("server_here")
def test_a_config_is_checked_translated_and_copied(visitor: Visitor) -> None:
    def check() -> None:
        page = visitor.page
        visitor.open(reverse("study-list"))
        page.get_by_role("link", name="Check a my.cnf").click()
        page.get_by_label("my.cnf", exact=True).fill(OLD)
        page.get_by_role("button", name="Check", exact=True).click()
        expect(page.locator("#check-result")).to_contain_text("1 line measured, 1 removed")
        assert set(visitor.overflow().values()) == {0}
        page.get_by_role("button", name="Copy").click()
        expect(page.get_by_role("button", name=re.compile("Copied|Selected"))).to_be_visible()

    in_browser(check)

"""A search in the real browser: asked for, followed, concluded early, read at its end."""

from __future__ import annotations

import pytest
from django.urls import reverse
from playwright.sync_api import Dialog, expect

from advisor.tests import factories
from advisor.tests.browsing import ANSWERING, Visitor, in_browser, unfold
from advisor.tests.search_study import queued_slot, searching_study
from advisor.tests.test_search_asked import host
from benchmarks.models import Run, RunState
from tuning.models import Study

__all__ = ["host"]


pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

CHARTS = ("search-best", "search-front", "search-slices", "search-parallel")


def address(study: Study) -> str:
    return reverse("study-detail", args=[study.pk])


@pytest.mark.usefixtures("host")
def test_a_search_is_asked_for_with_its_space_shown_and_a_bad_bound_beside_its_field(
    visitor: Visitor,
) -> None:
    def ask() -> None:
        page = visitor.page
        visitor.open(reverse("study-new"))
        unfold(page)
        for label in ("Blocks", "Race", "Confirm the winner"):
            expect(page.get_by_label(label, exact=True)).to_be_hidden()
        for label in ("Time crash recovery", "Test each line"):
            expect(page.get_by_label(label, exact=True)).to_be_visible()
        note = page.get_by_text("A search has no number of blocks")
        expect(note).to_be_visible()
        page.get_by_label("Template").select_option("compare")
        expect(note).to_be_hidden()
        blocks = page.get_by_label("Blocks", exact=True)
        expect(blocks).to_be_visible()
        blocks.fill("3")
        expect(page.locator("#id_search_bounds")).to_be_disabled()
        page.get_by_label("Template").select_option("search")
        expect(blocks).to_be_disabled()
        page.get_by_role("button", name="Show search space").click()
        table = page.get_by_role("region", name="Search space")
        expect(table).to_contain_text("innodb_io_capacity")
        page.get_by_label("Bounds").fill("innodb_io_capacity=9000..100")
        page.get_by_role("button", name="Show search space").click()
        expect(page.locator("#search-space .errorlist")).to_contain_text("Bounds: ")
        expect(page.locator("#id_search_bounds_error")).to_be_visible()
        start = page.get_by_role("button", name="Start study")
        expect(start).to_be_disabled()
        page.get_by_label("Bounds").fill("innodb_io_capacity=100..9000")
        expect(start).to_be_enabled()
        assert visitor.complaints == []
        assert set(visitor.overflow().values()) == {0}

    in_browser(ask)


def test_a_running_search_is_followed_and_concluded(visitor: Visitor) -> None:
    study = searching_study()

    def begin() -> None:
        page = visitor.page
        visitor.open(address(study))
        expect(page.locator("#search-now")).to_contain_text("Explore")
        expect(page.locator("#search-now")).to_contain_text("search-25")
        page.locator("#tab-charts > summary").click()
        for name in CHARTS:
            expect(page.locator(f"[data-chart={name}] .main-svg").first).to_be_visible()
        page.evaluate("window.isSamePage = true")

    in_browser(begin)
    with ANSWERING:
        running = study.slots.get(run__state=RunState.RUNNING)
        factories.finish(running.run)
        Run.objects.filter(pk=running.run_id).update(throughput=24_000.0)
        again = queued_slot(study, running.candidate, 99)
        baseline = study.candidates.get(is_baseline=True)
        factories.finish(queued_slot(study, baseline, 99).run)
        factories.begin(study)

    def follow() -> None:
        page = visitor.page
        expect(page.locator("#search-now")).to_contain_text("Repeat")
        expect(page.locator("#study-search")).to_contain_text("Best so far: search-25")
        assert page.evaluate("window.isSamePage")
        questions: list[str] = []

        def refuse(dialog: Dialog) -> None:
            questions.append(dialog.message)
            dialog.dismiss()

        page.once("dialog", refuse)
        page.get_by_role("button", name="Conclude now").click()
        expect(page.get_by_role("button", name="Conclude now")).to_be_visible()
        assert "the best few race for at most 5 blocks" in questions[0]
        page.once("dialog", lambda dialog: dialog.accept())
        page.get_by_role("button", name="Conclude now").click()
        expect(page.locator("#study-live .badge").first).to_have_text("Concluding")
        expect(page.get_by_role("button", name="Conclude now")).to_have_count(0)
        assert visitor.complaints == []

    in_browser(follow)
    study.refresh_from_db()
    assert study.is_concluding
    again.refresh_from_db()
    assert again.run.state == RunState.RUNNING

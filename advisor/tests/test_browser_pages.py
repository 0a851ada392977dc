"""Every page in both themes: axe-core, keyboard, charts, no shift while polling."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, expect

from advisor.tests import dashboard_scene, factories
from advisor.tests.axe import CONTRAST, complaints
from advisor.tests.browsing import Visitor, enter, in_browser
from tuning.models import Study, StudyState

pytestmark = [pytest.mark.browser, pytest.mark.long, pytest.mark.django_db(transaction=True)]

FEW_ARE_DRAWN = """(() => {
    let plotly;
    const set = (given) => {
        const { react } = plotly = given;
        plotly.react = (element, data, layout, ...more) => {
            const kind = element.dataset.chart.replace(/[0-9]+/g, "");
            const isOther = document.querySelector(".js-plotly-plot") && kind in sessionStorage;
            if (isOther && !element.matches(".js-plotly-plot")) {
                Object.assign(element, { data, layout, on: () => {} });
                return;
            }
            sessionStorage[kind] = "drawn";
            react(element, data, layout, ...more);
        };
    };
    Object.defineProperty(window, "Plotly", { get: () => plotly, set });
})()"""
# With all that is folded left so.
MAX_PHONE_PX = 8_000
# axe-core takes seconds for each thousand elements. Of the rows of a table, the items of a list,
# the charts of a group and the marks of a drawing that differ in text and addresses alone two are
# looked at, and one drawing, for axe-core hardly judges their insides. It need not be drawn again
# in the other theme.
ALIKE_ARE_TAKEN_OUT = """() => {
    [...document.querySelectorAll(".chart svg")].slice(1).forEach((one) => one.remove());
    const lists = "tbody, ol, ul, .chart-grid, #study-candidates, .chart svg, .chart svg g";
    for (const body of document.querySelectorAll(lists)) {
        const seen = {};
        for (const row of [...body.children]) {
            const parts = [row, ...row.querySelectorAll("*")];
            const kind = parts.map((one) => [
                one.tagName, ...["class", "role", "type"].map((name) => one.getAttribute(name)),
                ...one.getAttributeNames().sort()].join()).join(";");
            seen[kind] = (seen[kind] ?? 0) + 1;
            if (seen[kind] > 2) row.remove();
        }
    }
    if (window.Plotly) Plotly.react = () => {};
}"""
# Charts of folded parts are fetched when these are opened. Below each chart its figures are a
# table: thousands of cells of one kind, of which one table is looked at.
ALL_OPEN_AND_DRAWN = """() => {
    const [table, ...alike] = document.querySelectorAll(".chart-tools details");
    for (const one of document.querySelectorAll("main details")) {
        one.removeAttribute("name"); // tabs, of which one is open at a time
        one.open = !alike.includes(one);
    }
    return ![...document.querySelectorAll(".chart .placeholder")].some(
        (note) => note.textContent.startsWith("Loading"));
}"""


def one_of_each_kind() -> dict[str, str]:
    """The pages of the scene; of its studies that differ in the device alone the first."""
    pages = dashboard_scene.pages()
    seen: set[str] = set()
    for study in Study.objects.order_by("pk"):
        if study.name in seen:
            pages = {
                name: page
                for name, page in pages.items()
                if name not in (f"study-{study.pk}", f"gate-{study.pk}")
            }
        seen.add(study.name)
    return pages


@pytest.mark.timeout(600)
def test_axe_reports_nothing_on_any_page_in_either_theme(visitor: Visitor, settings: Any) -> None:
    dashboard_scene.fill(in_full=False, with_user=False)
    settings.HOST_NAME = factories.make_host().name
    pages = one_of_each_kind()
    assert len(pages) > 15
    found: dict[str, list[str]] = {}

    def look() -> None:
        page = visitor.page
        page.add_init_script(FEW_ARE_DRAWN)
        for name, address in pages.items():
            page.emulate_media(color_scheme="light")
            visitor.open(address)
            page.wait_for_function(ALL_OPEN_AND_DRAWN, polling=100)
            page.evaluate(ALIKE_ARE_TAKEN_OUT)
            found[name] = complaints(page)
            page.emulate_media(color_scheme="dark")
            found[f"{name}, dark"] = complaints(page, CONTRAST)

    in_browser(look, timeout=500)
    assert {name: said for name, said in found.items() if said} == {}


def test_charts_follow_the_theme_of_the_system(visitor: Visitor) -> None:
    study = factories.measured_study(blocks=2)
    page = visitor.page

    def look() -> None:
        page.emulate_media(color_scheme="light")
        visitor.open(f"{reverse('study-detail', args=[study.pk])}?whole=1")
        title = page.locator(".chart .xtitle").first
        expect(title).to_be_visible()
        light = title.evaluate("title => getComputedStyle(title).fill")
        page.emulate_media(color_scheme="dark")
        expect(title).not_to_have_css("fill", light)

    in_browser(look)


def test_a_chart_is_a_table_and_files_by_keyboard_alone(visitor: Visitor) -> None:
    study = factories.measured_study(blocks=2, samples=True)
    page = visitor.page

    def look() -> None:
        visitor.open(reverse("study-detail", args=[study.pk]))
        page.locator("#tab-charts > summary").focus()
        page.keyboard.press("Enter")
        more = page.get_by_text("Response times, seconds, and what a transaction costs")
        more.focus()
        page.keyboard.press("Enter")
        box = page.locator("div:has(> [data-chart$='-bytes'])")
        expect(box.locator("svg.main-svg").first).to_be_visible()
        box.locator("summary").focus()
        page.keyboard.press("Enter")
        # Five candidates; the bar's end is what is written.
        expect(box.locator("tbody tr")).to_have_count(5)
        expect(box.locator("thead")).to_contain_text("written per transaction, kB")
        expect(box.locator("tbody")).to_contain_text("whitepaper-a")
        for word in ("CSV", "SVG"):
            button = box.get_by_role("button", name=f"as {word}")
            button.focus()
            with page.expect_download() as download:
                page.keyboard.press("Enter")
            assert download.value.suggested_filename.endswith(f"-bytes.{word.lower()}")
            text = download.value.path().read_text()
            assert ("41.3,whitepaper-a" if word == "CSV" else "<svg") in text
        # Whatever takes the focus shows it.
        page.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)")
        for _ in range(25):
            page.keyboard.press("Tab")
            shown = page.evaluate(
                "(() => { const style = getComputedStyle(document.activeElement);"
                " return [document.activeElement.outerHTML.slice(0, 80), style.outlineStyle,"
                " parseFloat(style.outlineWidth)]; })()"
            )
            if shown[0].startswith("<body"):
                break  # past the last one
            assert shown[1] != "none", shown[0]
            assert shown[2] >= 1, shown[0]

    in_browser(look)


def test_a_study_of_many_candidates_on_four_devices_is_short_on_a_phone(
    browser: Browser, visitor: Visitor
) -> None:
    disk, *others = (
        factories.make_device(kind=kind, data_dir=f"/srv/{kind}-" + "long-mount-point/" * 3)
        for kind in ("hdd", "sata-ssd", "nvme", "raid")
    )
    names = ["server-default", *(dashboard_scene.LONG_NAME.format(n) for n in range(1, 25))]
    study = factories.measured_study(
        names=names, device=disk, others=others, blocks=1, samples=False
    )
    address = reverse("study-detail", args=[study.pk])
    room = "[document.documentElement.scrollHeight, document.documentElement.scrollWidth]"

    def look() -> None:
        page = visitor.page
        page.set_viewport_size({"width": 390, "height": 800})
        visitor.open(address)
        height, width = page.evaluate(room)
        assert (height < MAX_PHONE_PX, width) == (True, 390), height
        boards = page.locator("details.board-fold")
        assert [one.get_attribute("open") for one in boards.all()] == ["", None, None, None]
        # A line has three columns, and unfolds to the rest of it.
        line = boards.first.locator("tbody tr").nth(3)
        runs = line.locator("td[data-label=Runs]")
        expect(runs).to_be_hidden()
        line.locator(".row-more > summary").focus()
        page.keyboard.press("Enter")
        expect(runs).to_be_visible()
        expect(line.locator("details.changes")).to_be_visible()
        page.evaluate(ALIKE_ARE_TAKEN_OUT)
        assert complaints(page) == []
        page.reload()
        # Another device is opened with the keyboard too.
        boards.nth(2).locator("> summary").focus()
        page.keyboard.press("Enter")
        expect(boards.nth(2).locator("table")).to_be_visible()
        # Who sorts a ranking that was folded sees it.
        boards.nth(2).locator("a.sort", has_text="p95").click()
        expect(boards.nth(2).locator("th[aria-sort=ascending]")).to_be_visible()
        expect(boards.nth(1).locator("table")).to_be_hidden()
        # A link to a candidate opens the list that it is in.
        line.locator("a").first.click()
        expect(page.locator("#tab-configs .candidate[open]")).to_be_visible()
        # Where there is room a line has all its columns; a hundred of them are still too many.
        page.set_viewport_size({"width": 1280, "height": 800})
        page.locator("#tab-ranking > summary").click()
        expect(runs).to_be_visible()
        expect(boards.nth(1).locator("table")).to_be_hidden()

        plain = enter(browser, visitor.server, "dba", java_script_enabled=False)
        plain.page.set_viewport_size({"width": 390, "height": 800})
        plain.open(address)
        assert plain.page.evaluate(room)[0] < MAX_PHONE_PX
        last = plain.page.locator("details.board-fold").last
        last.locator("> summary").click()
        last.locator(".row-more > summary").first.click()
        expect(last.locator("td[data-label=Runs]").first).to_be_visible()
        assert plain.complaints == []
        plain.page.close()

    in_browser(look)


def test_nothing_moves_while_a_page_polls(visitor: Visitor) -> None:
    study = factories.make_study(state=StudyState.RUNNING, blocks=2)
    factories.begin(study)
    page = visitor.page

    def look() -> None:
        visitor.open(reverse("study-detail", args=[study.pk]))
        page.wait_for_load_state("networkidle")
        page.evaluate(
            "window.moved = 0; new PerformanceObserver(list => list.getEntries().forEach("
            "entry => { if (!entry.hadRecentInput) window.moved += entry.value; }))"
            ".observe({type: 'layout-shift'});"
        )
        for _ in range(2):
            with page.expect_response("**/live/**"):
                pass
        # A clock that grows by a digit moves its neighbours by a few pixels; nothing else moves.
        assert page.evaluate("window.moved") < 0.02

    in_browser(look)
    assert Study.objects.get().state == StudyState.RUNNING


@pytest.mark.timeout(600)
def test_a_study_is_printed_on_few_sheets(visitor: Visitor) -> None:
    raced, wide = dashboard_scene.raced_study(), dashboard_scene.wide_study()
    empty = factories.make_study(name="Waits for its host", blocks=1)
    sheets: dict[str, int] = {}

    def look() -> None:
        page = visitor.page
        for name, study in (("raced", raced), ("wide", wide), ("empty", empty)):
            visitor.widen()
            visitor.open(f"{reverse('study-detail', args=[study.pk])}?whole=1")
            page.wait_for_load_state("networkidle")
            if name == "raced":
                expect(page.locator(".chart svg.main-svg .xtitle").first).to_be_visible()
            sheets[name] = len(
                re.findall(rb"/Type\s*/Page\b", page.pdf(prefer_css_page_size=True))
            )
            assert set(visitor.overflow().values()) == {0}

    in_browser(look, timeout=400)
    assert sheets["empty"] <= 2
    assert 2 <= sheets["raced"] <= 4
    assert sheets["wide"] <= 6, sheets

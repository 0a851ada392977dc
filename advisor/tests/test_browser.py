"""The pages in the real browser: they draw, stay inside the window and follow a study live."""

from __future__ import annotations

import platform
import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from typing import Any, TypeVar

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.signals import request_finished, request_started
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Page,
    Response,
    expect,
    sync_playwright,
)
from pytest_django.live_server_helper import LiveServer

from advisor.access.roles import Role, set_role
from advisor.tests import factories
from advisor.tests.harness import find_browser
from advisor.tests.test_api_contract import committed
from benchmarks.tests.made_up_host import this_host
from tuning.models import Study, StudyState

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PHONE, DESK = 390, 1280
WIDTHS = (PHONE, DESK, 2560)
# Of the charts of a board the one with every run.
RUNS_CHART = ".chart[data-chart$='-D0']"
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
T = TypeVar("T")

# On a host that is busy with other tests.
PATIENCE_MS = 30_000
expect.set_options(timeout=PATIENCE_MS)

# Playwright runs an event loop in its thread, in which Django's ORM refuses to work: so the
# browser has a thread of its own, and the test's thread keeps the database.
browser_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="browser")


def in_browser(work: Callable[..., T], *arguments: Any, timeout: float = 120) -> T:
    return browser_thread.submit(work, *arguments).result(timeout=timeout)


@dataclass
class Visitor:
    """A logged-in browser tab that notes whatever goes wrong in it."""

    page: Page
    server: str
    complaints: list[str] = field(default_factory=list)

    def listen(self) -> None:
        self.page.set_default_timeout(PATIENCE_MS)
        self.page.on("console", self._on_console)
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on("response", self._on_response)
        self.page.on("request", lambda request: self._on_request(request.url))

    def _on_console(self, message: Any) -> None:
        # Violations of the content security policy are console errors, too.
        if message.type in ("error", "warning"):
            self.complaints.append(f"console: {message.text}")

    def _on_response(self, response: Response) -> None:
        if response.status >= 400:
            self.complaints.append(f"{response.status} {response.url}")

    def _on_request(self, url: str) -> None:
        if not url.startswith((self.server, "data:", "blob:")):
            self.complaints.append(f"foreign: {url}")

    def open(self, address: str) -> None:
        self.page.goto(self.server + address)

    def widen(self) -> None:
        """A desk's window, in which no chart is folded."""
        self.page.set_viewport_size({"width": DESK, "height": 900})

    def overflow(self) -> dict[int, int]:
        """By window width, the pixels by which the page is wider; first by that of the window, for
        in another one all charts are drawn anew. A window that was not a phone's ends as one.
        """
        found = {}
        size = self.page.viewport_size
        for width in WIDTHS if size and size["width"] == PHONE else (*WIDTHS[1:], PHONE):
            self.page.set_viewport_size({"width": width, "height": 900})
            # Two frames: the charts follow the window in the first.
            self.page.evaluate(
                "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
            )
            found[width] = self.page.evaluate(
                "document.documentElement.scrollWidth - window.innerWidth"
            )
        return found


def unfold(page: Page) -> None:
    """Open all that is folded."""
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")


def installed_browser() -> str:
    """Ubuntu packages none that can be driven from outside a snap; anywhere else `make setup`
    installs one, so its absence is an error.
    """
    found = find_browser()
    if found is None and platform.freedesktop_os_release().get("ID") == "ubuntu":
        pytest.skip("no chromium or google-chrome on PATH (Ubuntu has Chromium as a snap only)")
    if found is None:
        raise RuntimeError("no chromium on PATH: run `make test`, which installs it")
    return found


@pytest.fixture(scope="module")
def browser(pytestconfig: pytest.Config) -> Browser:
    return browser_of(pytestconfig)


class AtTheEnd:
    """Ends the browser, which takes its processor time among that of the tests."""

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        in_browser(self._stop)


@cache
def browser_of(config: pytest.Config) -> Browser:
    """One for all modules, and what it keeps: to start one takes seconds of the processor."""
    program = installed_browser()

    def start() -> tuple[Any, Browser]:
        playwright = sync_playwright().start()
        # No sandbox: as root, as in most CI, chromium has none; it only sees our own pages.
        # Windows of a visitor share a process: each new one has everything to warm up.
        arguments = ["--no-sandbox", "--disable-dev-shm-usage", "--renderer-process-limit=1"]
        return playwright, playwright.chromium.launch(executable_path=program, args=arguments)

    playwright, started = in_browser(start)

    def stop() -> None:
        started.close()
        playwright.stop()

    config.pluginmanager.register(AtTheEnd(stop))
    return started


#: Held by a request of the live server; by a test while it changes what an open page asks for.
ANSWERING = threading.Lock()


@pytest.fixture
def wait_until_unasked() -> Iterator[Callable[[], None]]:
    """Waits until the live server has answered all it was asked: it shares the connection to
    the database with the test, which nobody may use while the database is flushed. What it is
    asked meanwhile it answers one after the other: two requests at once would be in each other's
    transactions, and find tables locked.
    """
    asked: list[object] = []

    def begin(**_: object) -> None:
        asked.append(None)
        ANSWERING.acquire()

    def end(**_: object) -> None:
        ANSWERING.release()
        asked.pop()

    def wait() -> None:
        # Asked for a while, because a request on its way is not seen yet.
        quiet_since = time.monotonic()
        deadline = quiet_since + 30
        while time.monotonic() - quiet_since < 0.2:
            if asked:
                quiet_since = time.monotonic()
                assert quiet_since < deadline, "the live server did not come to an end"
            time.sleep(0.02)

    request_started.connect(begin)
    request_finished.connect(end)
    yield wait
    request_started.disconnect(begin)
    request_finished.disconnect(end)


@pytest.fixture(scope="module")
def context(browser: Browser) -> BrowserContext:
    return context_of(browser)


@cache
def context_of(browser: Browser) -> BrowserContext:
    """What all tests share: it keeps files, and plotly.js as it was compiled."""
    return in_browser(lambda: browser.new_context(viewport={"width": DESK, "height": 900}))


@pytest.fixture
def visitor(
    context: BrowserContext, live_server: LiveServer, wait_until_unasked: Callable[[], None]
) -> Iterator[Visitor]:
    """On no page yet; no log-in, theme or cookie of another test is left."""
    client = Client()
    client.force_login(make_administrator("dba"))
    name = settings.SESSION_COOKIE_NAME
    cookie = {"name": name, "value": client.cookies[name].value, "url": live_server.url}
    ready = in_browser(arrive, context, live_server.url, cookie)
    yield ready
    in_browser(forget, ready)
    wait_until_unasked()
    assert ready.complaints == []


def arrive(context: BrowserContext, server: str, cookie: Any) -> Visitor:
    context.add_cookies([cookie])
    visitor = Visitor(context.new_page(), server)
    visitor.listen()
    return visitor


def forget(visitor: Visitor) -> None:
    """Close the page, and delete what the server and the page have stored in the browser."""
    context = visitor.page.context
    stored = {"origin": visitor.server, "storageTypes": "cookies,local_storage"}
    context.new_cdp_session(visitor.page).send("Storage.clearDataForOrigin", stored)
    visitor.page.close()


def make_administrator(name: str) -> User:
    user = User.objects.create_user(name, password="a password")
    set_role(user, Role.ADMINISTRATOR)
    return user


def enter(browser: Browser, server: str, name: str, **options: Any) -> Visitor:
    """A visitor with cookies and, by `options` of the browser's context, other abilities."""
    visitor = Visitor(browser.new_page(**options), server)
    visitor.listen()
    visitor.open(reverse("login"))
    log_in(visitor.page, name)
    expect(visitor.page.get_by_role("heading", name="Home", exact=True)).to_be_visible()
    return visitor


def log_in(page: Page, name: str) -> None:
    """Fill in the log-in page that is open."""
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill("a password")
    page.get_by_role("button", name="Log in").click()


def show(page: Page, state: str) -> None:
    """Let the page be "hidden", as in a tab in the background, or "visible"."""
    page.evaluate(
        "state => {"
        " Object.defineProperty(document, 'visibilityState',"
        " {configurable: true, get: () => state});"
        " document.dispatchEvent(new Event('visibilitychange')); }",
        state,
    )


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
        expect(live).to_contain_text(f"Candidate {current.candidate.name}")
        expect(live).to_contain_text("0 of 6 runs finished")
        expect(page.locator("#announcer")).to_have_text(re.compile("Run 1 of 6"))
        expect(page.locator("#study-verdict")).to_contain_text("The first figures")
        for empty in (".chart[data-chart^=board]", "#study-rankings *", "input[name=only]"):
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


def test_cancelling_asks_first(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("celery.Celery.send_task", lambda *args, **kwargs: None)
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
        with page.expect_download() as download:
            page.get_by_role("button", name="Download my.cnf").click()
        assert download.value.suggested_filename == "my.cnf"
        page.get_by_role("button", name="Copy").click()
        expect(page.get_by_role("button", name=re.compile("Copied|Selected"))).to_be_visible()

    in_browser(check)

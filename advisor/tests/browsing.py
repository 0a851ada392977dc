"""Fixtures and helpers of tests that drive the real browser."""

from __future__ import annotations

import platform
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.signals import request_finished, request_started
from django.test import Client
from django.urls import reverse
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Page,
    Playwright,
    Response,
    expect,
    sync_playwright,
)
from pytest_django.live_server_helper import LiveServer

from advisor.access.roles import Role, set_role
from advisor.tests.harness import find_browser

PHONE, DESK = 390, 1280
WIDTHS = (PHONE, DESK, 2560)
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


@pytest.fixture(scope="session")
def browser(live_server: LiveServer) -> Iterator[Browser]:
    """One for all tests: to start one takes seconds of the processor. It ends before the server,
    which answers each of its connections in a thread.
    """
    program = installed_browser()

    def start() -> tuple[Playwright, Browser]:
        playwright = sync_playwright().start()
        # No sandbox: as root, as in most CI, chromium has none; it only sees our own pages.
        # Windows of a visitor share a process: each new one has everything to warm up.
        arguments = ["--no-sandbox", "--disable-dev-shm-usage", "--renderer-process-limit=1"]
        return playwright, playwright.chromium.launch(executable_path=program, args=arguments)

    playwright, started = in_browser(start)
    yield started
    in_browser(started.close)
    in_browser(playwright.stop)
    for thread in threading.enumerate():
        if "process_request_thread" in thread.name:
            thread.join(10)


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


@pytest.fixture(scope="session")
def context(browser: Browser) -> BrowserContext:
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

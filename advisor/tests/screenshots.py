"""Pictures of every page in both themes and three widths: `make screenshots`.

python -m advisor.tests.screenshots FOLDER [PAGE...] [--widths 390,1280,2560] [--themes light,dark]
python -m advisor.tests.screenshots docs/pictures --docs

With --docs it takes the pictures of the documents instead. The database is made in a home of its
own and filled with rows of every kind. Reports are saved as PDF as well, once in each theme.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from advisor.tests.harness import ROOT, find_browser
from benchmarks.servers.startup import free_port

if TYPE_CHECKING:
    from advisor.tests.dashboard_shots import Shot

#: Nothing answers there, such as the web server of a run that was killed.
PORT = free_port()
HEIGHT = 900
PAPER_WIDTH = 1280
DRAWN = """() => ![...document.querySelectorAll(".chart .placeholder")].some(
    (note) => note.checkVisibility() && note.textContent.startsWith("Loading"))"""

OPENED = """(details, begin) => {
    details.open = true;
    const text = details.querySelector("pre");
    const height = parseFloat(getComputedStyle(text).lineHeight);
    text.scrollTop = height * text.textContent.split("\\n").indexOf(begin);
}"""


def main() -> None:
    asked = _arguments()
    with _home() as home:
        os.environ["ADVISOR_HOME"] = str(home)
        os.environ["DJANGO_SETTINGS_MODULE"] = "advisor.settings"
        os.environ["ADVISOR_HOST_NAME"] = "db-host-1"
        # Rows are stored between two pictures, in a thread in which the browser has its loop.
        os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
        manage = [sys.executable, str(ROOT / "manage.py")]
        subprocess.run([*manage, "migrate", "--verbosity", "0"], check=True)
        import django

        django.setup()
        serve = ["setpriv", "--pdeathsig", "KILL", "--", *manage, "runserver"]
        serve += ["--noreload", "--insecure", f"127.0.0.1:{PORT}"]
        with subprocess.Popen(serve, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as web:
            try:
                _wait()
                if asked.docs:
                    _take_for_docs(asked.folder)
                else:
                    _take(asked)
            finally:
                web.terminate()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("pages", nargs="*", help="only pages whose name begins so")
    parser.add_argument("--widths", default="390,1280,2560")
    parser.add_argument("--themes", default="light,dark")
    parser.add_argument("--docs", action="store_true", help="the pictures of the documents")
    parser.add_argument("--quick", action="store_true", help="without the largest studies")
    return parser.parse_args()


@contextmanager
def _home() -> Iterator[Path]:
    home = Path(tempfile.mkdtemp(prefix="screenshots-"))
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _is_wanted(name: str, asked: list[str]) -> bool:
    return not asked or any(name.startswith(one) for one in asked)


def _wait() -> None:
    for _ in range(150):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{PORT}/login/", timeout=5)
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise RuntimeError("the web server did not come up")


def _take_for_docs(folder: Path) -> None:
    from playwright.sync_api import sync_playwright

    from advisor.tests.dashboard_scene import USER
    from advisor.tests.docs_pictures import WIDTH, pictures

    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox"])
        context = browser.new_context(
            viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light"
        )
        page = context.new_page()
        for place, picture in enumerate(pictures()):
            if not place:
                _log_in(page, USER)
            _report_workers()
            page.goto(f"http://127.0.0.1:{PORT}{picture.address}")
            page.wait_for_load_state("load")
            page.wait_for_timeout(1500)
            if picture.opens:
                page.locator(picture.opens).first.evaluate(OPENED, picture.from_line)
            box = page.locator(picture.top).bounding_box()
            top = box["y"] if box else 0
            file = folder / f"{picture.name}.png"
            area: Any = {"x": 0, "y": max(top - 8, 0), "width": WIDTH, "height": picture.height}
            page.screenshot(path=file, full_page=True, clip=area)
            print(f"{file.name}: {file.stat().st_size} bytes", flush=True)
        browser.close()


def _take(asked: argparse.Namespace) -> None:
    from playwright.sync_api import sync_playwright

    from advisor.tests.dashboard_shots import stages

    asked.folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox"])
        for stage in stages(in_full=not asked.quick):
            shots = [shot for shot in stage if _is_wanted(shot.name, asked.pages)]
            for theme in asked.themes.split(","):
                for width in map(int, asked.widths.split(",")):
                    _take_all(browser, shots, asked.folder, theme, width)
        browser.close()


def _take_all(browser: Any, shots: list[Shot], folder: Path, theme: str, width: int) -> None:
    """All of a stage in one theme and width, each user in a browser of their own."""
    for user in sorted({shot.user for shot in shots}):
        size: Any = {"width": width, "height": HEIGHT}
        context = browser.new_context(viewport=size, color_scheme=theme)
        page = context.new_page()
        if user:
            _log_in(page, user)
        for shot in shots:
            if shot.user == user:
                _take_one(page, shot, folder, theme, width)
        context.close()


def _report_workers() -> None:
    """The workers that are there report, as if they ran: those seen within an hour."""
    from django.utils import timezone

    from benchmarks.models import Host

    now = timezone.now()
    there = Host.objects.filter(worker_seen_at__gt=now - timedelta(hours=1))
    there.update(worker_seen_at=now)


def _take_one(page: Any, shot: Shot, folder: Path, theme: str, width: int) -> None:
    _report_workers()
    if shot.html:
        page.route(
            "**" + shot.address,
            lambda route: route.fulfill(body=shot.html, content_type="text/html; charset=utf-8"),
        )
    page.goto(f"http://127.0.0.1:{PORT}{shot.address}")
    page.wait_for_load_state("load")
    _wait_for_charts(page)
    try:
        shot.act(page)
    except Exception as error:  # the picture of what could not be done says more
        print(f"{shot.name}: {error}", flush=True)
    _wait_for_charts(page)
    page.unroute_all()
    file = folder / f"{shot.name}-{theme}-{width}.png"
    page.screenshot(path=file, full_page=True)
    height, beyond = page.evaluate(
        "[document.documentElement.scrollHeight,"
        " document.documentElement.scrollWidth - window.innerWidth]"
    )
    wide = f", {beyond} px too wide" if beyond > 0 else ""
    print(f"{file.name}: {height} px high{wide}", flush=True)
    if shot.is_paper and width == PAPER_WIDTH:
        page.pdf(path=folder / f"{shot.name}-{theme}.pdf", prefer_css_page_size=True)


def _wait_for_charts(page: Any) -> None:
    """Until those that can be seen are drawn; what polls never lets the network rest."""
    from playwright.sync_api import TimeoutError as TooLate

    with suppress(TooLate):
        page.wait_for_function(DRAWN, timeout=20_000)
    page.wait_for_timeout(300)


def _log_in(page: Any, name: str) -> None:
    from advisor.tests.dashboard_scene import PASSWORD, USER

    page.goto(f"http://127.0.0.1:{PORT}/login/")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(PASSWORD if name == USER else name)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_load_state("load")


if __name__ == "__main__":
    main()

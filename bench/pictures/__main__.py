"""Takes the pictures of the documents: `make pictures`, or python -m bench.pictures FOLDER.

The database is made in a home of its own and filled with made-up rows.
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
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from advisor.tests.harness import ROOT, find_browser
from benchmarks.servers.reach import free_port

#: Nothing answers there, such as the web server of a run that was killed.
PORT = free_port()
HEIGHT = 900
OPENED = """(details, begin) => {
    details.open = true;
    const text = details.querySelector("pre");
    const height = parseFloat(getComputedStyle(text).lineHeight);
    text.scrollTop = height * text.textContent.split("\\n").indexOf(begin);
}"""


def main() -> None:
    """Take all pictures."""
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
                _take(asked.folder)
            finally:
                web.terminate()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    return parser.parse_args()


@contextmanager
def _home() -> Iterator[Path]:
    home = Path(tempfile.mkdtemp(prefix="screenshots-"))
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _wait() -> None:
    for _ in range(150):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{PORT}/login/", timeout=5)
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise RuntimeError("the web server did not come up")


def _take(folder: Path) -> None:
    from playwright.sync_api import sync_playwright

    from advisor.tests.dashboard_scene import USER
    from bench.pictures.scenes import WIDTH, pictures

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


def _report_workers() -> None:
    """The workers that are there report, as if they ran: those seen within an hour."""
    from django.utils import timezone

    from benchmarks.models import Host

    now = timezone.now()
    there = Host.objects.filter(worker_seen_at__gt=now - timedelta(hours=1))
    there.update(worker_seen_at=now)


def _log_in(page: Any, name: str) -> None:
    from advisor.tests.dashboard_scene import PASSWORD, USER

    page.goto(f"http://127.0.0.1:{PORT}/login/")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(PASSWORD if name == USER else name)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_load_state("load")


if __name__ == "__main__":
    main()

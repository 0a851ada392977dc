"""Pictures of every page in both themes and three widths: `make screenshots`.

python -m advisor.tests.screenshots FOLDER [PAGE...] [--widths 390,1280,2560] [--themes light,dark]
python -m advisor.tests.screenshots docs/pictures --docs

With --docs it takes the pictures of the documents instead. The database is filled with rows of
every kind in a home of its own, unless ADVISOR_HOME names one.
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
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PORT = 8791
HEIGHT = 900


def main() -> None:
    asked = _arguments()
    with _home() as home:
        os.environ["ADVISOR_HOME"] = str(home)
        os.environ["DJANGO_SETTINGS_MODULE"] = "advisor.settings"
        manage = [sys.executable, str(ROOT / "manage.py")]
        subprocess.run([*manage, "migrate", "--verbosity", "0"], check=True)
        if asked.docs:
            # Rows are changed between two pictures, in a thread in which the browser has its loop.
            os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
            import django

            django.setup()
        else:
            pages = _fill(in_full=not asked.quick)
            wanted = {name: path for name, path in pages.items() if _is_wanted(name, asked.pages)}
        serve = [*manage, "runserver", "--noreload", "--insecure", f"127.0.0.1:{PORT}"]
        with subprocess.Popen(serve, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as web:
            try:
                _wait()
                if asked.docs:
                    _take_for_docs(asked.folder)
                else:
                    _take(asked, wanted)
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
    given = os.environ.get("ADVISOR_HOME")
    if given:
        yield Path(given)
        return
    home = Path(tempfile.mkdtemp(prefix="screenshots-"))
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _is_wanted(name: str, asked: list[str]) -> bool:
    return not asked or any(name.startswith(one) for one in asked)


def _fill(*, in_full: bool) -> dict[str, str]:
    """Rows of every kind unless there are some; the pages to take by name."""
    import django

    django.setup()
    from django.contrib.auth.models import User

    from advisor.tests.dashboard_scene import USER, fill, pages

    if not User.objects.filter(username=USER).exists():
        fill(in_full=in_full)
    return pages()


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

    from advisor.tests.docs_pictures import WIDTH, pictures

    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_program(), args=["--no-sandbox"])
        context = browser.new_context(
            viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light"
        )
        page = context.new_page()
        for place, picture in enumerate(pictures()):
            if not place:
                _log_in(page)
            page.goto(f"http://127.0.0.1:{PORT}{picture.address}")
            page.wait_for_load_state("load")
            page.wait_for_timeout(1500)
            box = page.locator(picture.top).bounding_box()
            top = box["y"] if box else 0
            file = folder / f"{picture.name}.png"
            area: Any = {"x": 0, "y": max(top - 8, 0), "width": WIDTH, "height": picture.height}
            page.screenshot(path=file, full_page=True, clip=area)
            print(f"{file.name}: {file.stat().st_size} bytes", flush=True)
        browser.close()


def _program() -> str | None:
    return shutil.which("chromium") or shutil.which("google-chrome")


def _take(asked: argparse.Namespace, pages: dict[str, str]) -> None:
    from playwright.sync_api import sync_playwright

    asked.folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_program(), args=["--no-sandbox"])
        for theme in asked.themes.split(","):
            for width in map(int, asked.widths.split(",")):
                size: Any = {"width": width, "height": HEIGHT}
                context = browser.new_context(viewport=size, color_scheme=theme)
                page = context.new_page()
                _log_in(page)
                for name, path in pages.items():
                    page.goto(f"http://127.0.0.1:{PORT}{path}")
                    page.wait_for_load_state("load")
                    page.wait_for_timeout(1500)
                    file = asked.folder / f"{name}-{theme}-{width}.png"
                    page.screenshot(path=file, full_page=True)
                    height = page.evaluate("document.documentElement.scrollHeight")
                    print(f"{file.name}: {height} px high", flush=True)
                context.close()
        browser.close()


def _log_in(page: Any) -> None:
    from advisor.tests.dashboard_scene import PASSWORD, USER

    page.goto(f"http://127.0.0.1:{PORT}/login/")
    page.get_by_label("Username").fill(USER)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_load_state("load")


if __name__ == "__main__":
    main()

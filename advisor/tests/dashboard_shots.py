"""What `make screenshots` takes pictures of: pages as they open, and after something was typed.

Each stage adds rows to those of the stage before: nothing at all, one host, several hosts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.contrib.auth.models import User
from django.template.loader import render_to_string
from django.urls import reverse

from advisor.access.roles import Role, set_role
from advisor.processes.unavailable import ASK_AGAIN_S
from advisor.responses import too_large
from advisor.tests import dashboard_scene, dashboard_states
from advisor.tests.dashboard_scene import PASSWORD, USER
from tuning.models import Candidate, Recommendation, Study

if TYPE_CHECKING:
    from playwright.sync_api import Page

OLD_FILE = (
    "[mysqld]\ninnodb_log_file_size = 1G\nquery_cache_size = 64M\ninnodb_io_capacity = 2000\n"
    "datadir = /var/lib/mysql\ninnodb_flush_log_at_trx_commit = 2\n"
)
GOOD_FILE = "[mysqld]\ninnodb_io_capacity = 2000\ninnodb_flush_neighbors = 0\n"
#: Answered by the browser itself: they follow from no request that can be made here.
BROKEN = "/broken/"


def nothing(page: Page) -> None:
    """As it opens."""


@dataclass(frozen=True)
class Shot:
    """A picture. `act` is done before it is taken; `user` is "" without a log-in.

    html: what is answered at `BROKEN` instead of what a view would answer.
    is_paper: it is saved as PDF as well.
    """

    name: str
    address: str
    act: Callable[[Page], None] = nothing
    user: str = USER
    html: str = ""
    is_paper: bool = False


def stages(*, in_full: bool) -> Iterator[list[Shot]]:
    """The rows of a stage are stored when it is asked for; its pictures are to be taken then."""
    set_role(User.objects.create_user(USER, password=PASSWORD), Role.ADMINISTRATOR)
    yield [*_empty(), *_errors()]
    dashboard_scene.fill(in_full=in_full, with_user=False)
    more = dashboard_states.fill_states()
    yield [*_shots(dashboard_scene.pages() | more), *_typed(), *_reports()]
    more = dashboard_states.fill_fleet()
    several = ("home", "studies", "new-study", "hosts", "devices", "device-comparison")
    pages = dashboard_scene.pages()
    yield _shots({f"fleet-{name}": pages[name] for name in several} | more)


def _shots(pages: dict[str, str]) -> list[Shot]:
    return [Shot(name, address) for name, address in pages.items()]


def _empty() -> list[Shot]:
    """Before anything was measured."""
    names = [
        *("home", "study-list", "study-new", "gate-list", "device-list", "host-list"),
        *("compare", "device-comparison", "config-check", "account-token"),
    ]
    return [
        *(Shot(f"empty-{name}", reverse(name)) for name in names),
        Shot("login", reverse("login"), user=""),
        Shot("login-refused", reverse("login"), _refused_login, user=""),
        Shot("api", reverse("api:openapi-view"), _swagger),
        Shot("admin", reverse("admin:index")),
        Shot("admin-user", reverse("admin:auth_user_add")),
    ]


def _errors() -> list[Shot]:
    """403 and 404 are what views answer; the others are their templates."""
    pages = {
        "400": render_to_string("400.html"),
        "400-large": render_to_string("400.html", {"reason": too_large()}),
        "403-expired": render_to_string("403_csrf.html"),
        "429": render_to_string("429.html", {"wait": 27}),
        "500": render_to_string("500.html"),
        "503": render_to_string("503.html", {"wait": ASK_AGAIN_S}),
    }
    return [
        *(Shot(f"error-{name}", BROKEN, html=text) for name, text in pages.items()),
        Shot("error-404", "/studies/999999/"),
    ]


def _typed() -> list[Shot]:
    """Forms with an answer or an error in them, and pages with all that is folded unfolded."""
    raced = Study.objects.earliest("pk")
    unsafe = Recommendation.objects.filter(durability="D2").latest("pk")
    check, new = reverse("config-check"), reverse("study-new")
    study = reverse("study-detail", args=[raced.pk])
    return [
        Shot("error-403", new, user=dashboard_states.VIEWER),
        Shot("home-of-viewer", reverse("home"), user=dashboard_states.VIEWER),
        Shot("study-of-viewer", study, user=dashboard_states.VIEWER),
        Shot("study-unfolded", study, _unfolded),
        Shot("study-by-p95", f"{study}?by=p95_ms&p95=many"),
        Shot("check-refused", check, lambda page: _checked(page, OLD_FILE)),
        Shot("check-accepted", check, lambda page: _checked(page, GOOD_FILE)),
        Shot("check-nothing", check, lambda page: _checked(page, "")),
        Shot("check-unsafe", check, _checked_unsafe),
        *(
            Shot(f"new-study-{key}", f"{new}?question={key}")
            for key in ("mine", "published", "device")
        ),
        Shot("new-study-again", f"{new}?again={raced.pk}"),
        Shot("new-study-unfolded", new, _unfolded),
        Shot("new-study-errors", new, _wrong_study),
        Shot("new-study-filled", f"{new}?question=mine", _own_file),
        Shot("new-study-refused", f"{new}?question=mine", _refused_file),
        Shot("devices-error", reverse("device-list"), _wrong_device),
        Shot("token-new", reverse("account-token"), _new_token),
        Shot("password-error", reverse("account-password"), _wrong_password),
        Shot("compare-differs", _different()),
        Shot("compare-missing", f"{reverse('compare')}?side=run-999999&side=study-{raced.pk}"),
        Shot("device-comparison-published", f"{reverse('device-comparison')}?published=1"),
        Shot(
            "export-error",
            reverse("study-export", args=[unsafe.study_id, unsafe.pk]),
            lambda page: _pressed(page, "Show"),
        ),
    ]


def _reports() -> list[Shot]:
    """Of the race there is one among the pages."""
    studies = {
        "wide": Study.objects.filter(name__startswith="Four devices").first(),
        "failed": Study.objects.filter(name="All candidates failed").first(),
        "cancelled": Study.objects.filter(name="Cancelled half way").first(),
        "large": Study.objects.filter(name="Five hundred runs").first(),
        "unsafe": Study.objects.filter(name="Faster, and less safe").first(),
        "search": Study.objects.filter(search__isnull=False).first(),
        "raced": Study.objects.earliest("pk"),
    }
    return [
        Shot(f"report-{name}", reverse("study-report", args=[study.pk]), is_paper=True)
        for name, study in studies.items()
        if study is not None
    ]


def _different() -> str:
    """Two configs that were measured on different devices."""
    first = Candidate.objects.earliest("pk")
    other = Candidate.objects.exclude(study__devices=first.study.devices.get()).earliest("pk")
    sides = f"side=candidate-{first.pk}&side=candidate-{other.pk}"
    return f"{reverse('compare')}?{sides}"


# --- what is typed and pressed ---------------------------------------------------------------


def _pressed(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).first.click()
    page.wait_for_load_state("load")
    page.wait_for_timeout(500)


def _unfolded(page: Page) -> None:
    """But of the tables below charts the first alone."""
    page.evaluate(
        "const [, ...alike] = document.querySelectorAll('.chart-tools details');"
        "for (const one of document.querySelectorAll('main details'))"
        " one.open = !alike.includes(one);"
    )


def _swagger(page: Page) -> None:
    page.locator(".opblock").first.wait_for()


def _refused_login(page: Page) -> None:
    page.get_by_label("Username").fill(USER)
    page.get_by_label("Password").fill("another password")
    _pressed(page, "Log in")


def _checked(page: Page, text: str) -> None:
    page.get_by_label("my.cnf", exact=True).fill(text)
    _pressed(page, "Check")


def _checked_unsafe(page: Page) -> None:
    page.get_by_label(re.compile("^D1")).check()
    _checked(page, GOOD_FILE + "innodb_flush_log_at_trx_commit = 2\n")
    _pressed(page, "Download my.cnf")


def _wrong_study(page: Page) -> None:
    _unfolded(page)
    page.get_by_label("Budget, minutes").fill("0")
    page.get_by_label("Connections").fill("many")
    page.get_by_label("Data of the real server").fill("large")
    page.get_by_label("Another directory").fill("here")
    page.get_by_label("Text of its my.cnf").fill(OLD_FILE)
    page.get_by_label("Name of the candidate").fill("mine")
    _pressed(page, "Start study")


def _own_file(page: Page) -> None:
    page.get_by_label("Name of the candidate").fill("mine")
    page.get_by_label("Text of its my.cnf").fill(GOOD_FILE)
    page.get_by_label("Blocks").fill("3")
    page.wait_for_timeout(2000)  # until what it would take is shown


def _refused_file(page: Page) -> None:
    page.get_by_label("Name of the candidate").fill("mine")
    page.get_by_label("Text of its my.cnf").fill(OLD_FILE)
    _pressed(page, "Start study")


def _wrong_device(page: Page) -> None:
    page.get_by_label("Data directory").fill("here")
    _pressed(page, "Add device")


def _new_token(page: Page) -> None:
    page.get_by_label("Name").fill("nightly")
    page.get_by_label("Expires after, days").fill("30")
    _pressed(page, "Create token")


def _wrong_password(page: Page) -> None:
    page.get_by_label("Old password").fill("wrong")
    page.get_by_label("New password", exact=True).fill("abc")
    page.get_by_label("New password confirmation").fill("abd")
    _pressed(page, "Change password")

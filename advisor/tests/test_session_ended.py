"""The session has ended when a form is sent: log in again, and nothing typed is lost."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from advisor.access.sizes import MAX_OF_ANYBODY, MAX_OF_KNOWN
from advisor.pages.account.typed import FILLED_IN
from advisor.tests import factories
from benchmarks.tests.made_up_host import this_host
from tuning.models import Study, StudyState

pytestmark = pytest.mark.django_db
NEW = "/studies/new/"
LOGIN = reverse("login")
MINE = "[mysqld]\ninnodb_io_capacity = 2000 # <b>&amp;\n"
WHO = {"username": "admin", "password": "password"}


@pytest.fixture
def visitor(admin_user: User, tmp_path: Path) -> Client:
    """A browser that was logged in until now."""
    this_host(driver="sysbench", directories=[tmp_path])
    client = Client()
    assert client.post(LOGIN, WHO).status_code == 302
    del client.cookies["sessionid"]
    return client


def hidden(page: str, name: str) -> str:
    [found] = re.findall(rf'<input type="hidden" name="{name}" value="([^"]*)">', page)
    return html.unescape(found)


def log_in(client: Client, page: str, **values: Any) -> Any:
    """Fill in the log-in page and follow it, with whatever is hidden in it."""
    fields = {name: hidden(page, name) for name in ("next", "typed")}
    return client.post(LOGIN, WHO | fields | values, follow=True)


def test_a_form_that_was_sent_too_late_is_filled_in_again_after_the_log_in(
    visitor: Client,
) -> None:
    long = MINE + "# much\n" * (MAX_OF_ANYBODY // 6)
    asked = {
        **{"template": "compare", "driver": "auto", "question": "mine", "blocks": "4"},
        **{"config_name": ["mine", "other"], "config_text": [long, MINE]},
    }
    answer = visitor.post(f"{NEW}?question=mine", asked, follow=True)
    assert answer.redirect_chain == [(f"{LOGIN}?next={NEW}%3Fquestion%3Dmine", 307)]
    page = answer.content.decode()
    assert "What you typed is kept" in page
    assert "This field is required" not in page
    # A wrong password loses nothing either.
    page = log_in(visitor, page, password="wrong").content.decode()
    assert "correct username" in page
    text = log_in(visitor, page).content.decode()
    assert FILLED_IN in text
    assert html.escape(long) in text
    assert text.count(html.escape(MINE)) == 2
    assert 'value="other"' in text
    assert re.search(r'name="blocks"[^>]*value="4"|value="4"[^>]*name="blocks"', text)
    assert '<option value="compare" selected>' in text
    assert "Candidates" in text
    assert not Study.objects.exists()
    # Once only.
    again = visitor.get(NEW).content.decode()
    assert FILLED_IN not in again
    assert html.escape(MINE) not in again


def test_a_my_cnf_to_be_checked_is_kept_too(visitor: Client) -> None:
    checked = reverse("config-check")
    answer = visitor.post(checked, {"config_text": MINE, "connections": "77"}, follow=True)
    text = log_in(visitor, answer.content.decode()).content.decode()
    assert html.escape(MINE) in text
    assert 'value="77"' in text
    assert "Nothing was checked. See" not in text


@pytest.mark.long
def test_only_what_is_a_form_of_this_page_is_filled_in(visitor: Client) -> None:
    for packed in ("{", "[]", '{"a": 1}', '[["a"], ["b", "c"], ["d", [1]], 7]', "[" * 5000):
        answer = visitor.post(LOGIN, WHO | {"next": NEW, "typed": packed}, follow=True)
        assert answer.status_code == 200, packed
        assert FILLED_IN not in answer.content.decode()
    packed = json.dumps([["name", ["Typed elsewhere"]]])
    visitor.post(LOGIN, WHO | {"next": reverse("home"), "typed": packed})
    assert "Typed elsewhere" not in visitor.get(NEW).content.decode()


def test_a_stranger_cannot_send_more_than_a_log_in_takes(admin_user: User) -> None:
    large = {"config_text": "x" * (MAX_OF_ANYBODY + 1)}
    assert Client().post(NEW, large, follow=True).status_code == 400
    much = {"config_text": "x" * (MAX_OF_KNOWN + 1)}
    assert Client().post(NEW, much).status_code == 302, "not even read"
    assert Client().post(LOGIN, WHO | {"typed": "x" * MAX_OF_ANYBODY}).status_code == 400
    # What is small is kept for everybody.
    assert "What you typed is kept" in Client().post(NEW, {"name": "a"}, follow=True).text


def test_after_a_button_the_log_in_leads_back_to_its_page(visitor: Client) -> None:
    study = factories.make_study(state=StudyState.RUNNING)
    page, pause = (reverse(f"study-{name}", args=[study.pk]) for name in ("detail", "pause"))
    origin = "http://testserver"
    for referer, expected in (
        (f"{origin}{page}?by=p95_ms", f"{page}?by=p95_ms"),
        ("https://elsewhere.example/", "/"),
        ("", "/"),
    ):
        answer = visitor.post(pause, headers={"Referer": referer}, follow=True)
        text = answer.content.decode()
        assert hidden(text, "next") == expected
        assert "nothing was changed" in text
    study.refresh_from_db()
    assert not study.is_paused
    # htmx is sent to the page itself, whose script keeps what was typed.
    assert visitor.post(NEW, headers={"HX-Request": "true"}).status_code == 302

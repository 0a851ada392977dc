"""`make screenshots` has a picture of every kind of page."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from django.urls import Resolver404, resolve

from advisor.access.rules import PAGES
from advisor.tests.dashboard_shots import BROKEN, Shot, stages
from advisor.tests.harness import ROOT

pytestmark = [pytest.mark.django_db, pytest.mark.long]

# Parts of pages that are polled, data of charts, and files.
NO_PAGES = ("-live", "-charts", "-my-cnf", "run-seconds")


def view_of(shot: Shot) -> str:
    return str(resolve(urlsplit(shot.address).path).url_name)


def test_every_kind_of_page_is_in_a_picture() -> None:
    shots = [shot for stage in stages(in_full=False) for shot in stage]
    assert len({shot.name for shot in shots}) == len(shots), "two would be in one file"
    pictured = {view_of(shot) for shot in shots if not shot.html}
    shown = {name for name, rule in PAGES.items() if "GET" in rule}
    assert {name for name in shown if not name.endswith(NO_PAGES)} - {"admin-login"} <= pictured
    with pytest.raises(Resolver404):
        resolve(BROKEN)  # else a view's answer would be hidden by the template's
    named = {shot.name for shot in shots}
    answered = {path.stem[:3] for path in (ROOT / "templates").glob("[0-9]*.html")}
    assert {f"error-{status}" for status in answered} <= named
    assert answered >= {"400", "403", "404", "429", "500", "503"}

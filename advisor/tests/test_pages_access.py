"""Who may see the pages, by which method, and what protects them."""

from __future__ import annotations

import sqlite3

import psycopg
import pytest
from django.contrib.auth.models import User
from django.db import OperationalError
from django.test import Client
from django.urls import reverse

from advisor.tests import factories
from tuning.models import Study

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return factories.measured_study(blocks=1)


def pages(study: Study) -> list[str]:
    """The addresses of every kind of page that is read with GET."""
    [run] = study.slots.filter(order=1).values_list("run_id", flat=True)
    device = study.devices.get()
    probe = factories.probed(device)
    of_row = {
        ("study-detail", "study-live", "study-charts"): [study.pk],
        ("study-my-cnf",): [study.pk, study.recommendations.get().pk],
        ("run-detail", "run-charts"): [run],
        ("device-detail", "device-live"): [device.pk],
        ("probe-detail", "probe-charts"): [device.pk, probe.pk],
        ("home", "home-live", "study-list", "study-new", "device-list"): [],
        ("device-comparison", "device-comparison-charts"): [],
        ("account-token", "account-password", "api:openapi-view"): [],
    }
    return [reverse(name, args=keys) for names, keys in of_row.items() for name in names]


@pytest.mark.long
def test_every_page_is_shown_with_the_content_security_policy(
    admin_client: Client, study: Study
) -> None:
    for address in pages(study):
        answer = admin_client.get(address)
        assert answer.status_code == 200, address
        policy = answer["Content-Security-Policy"]
        assert "script-src 'self';" in f"{policy};", address
        assert "default-src 'self'" in policy, address


def test_what_does_not_exist_is_404(admin_client: Client) -> None:
    response = admin_client.get(reverse("study-detail", args=[4711]))
    assert response.status_code == 404
    assert b"Page not found" in response.content


def test_a_recommendation_is_found_below_its_own_study_only(
    admin_client: Client, study: Study
) -> None:
    recommendation = study.recommendations.get()
    other = factories.make_study(blocks=1)
    response = admin_client.get(reverse("study-my-cnf", args=[other.pk, recommendation.pk]))
    assert response.status_code == 404


def test_log_in_and_out(client: Client, admin_user: User, study: Study) -> None:
    wanted = reverse("study-detail", args=[study.pk])
    answer = client.post(
        f"{reverse('login')}?next={wanted}", {"username": "admin", "password": "password"}
    )
    assert answer.status_code == 302
    assert answer["Location"] == wanted
    assert client.post(reverse("logout")).status_code == 302
    assert client.get(wanted).status_code == 302


def test_a_wrong_password_is_said_beside_the_form(client: Client, admin_user: User) -> None:
    answer = client.post(reverse("login"), {"username": "admin", "password": "wrong"})
    assert answer.status_code == 200
    assert b"Please enter a correct username and password" in answer.content


def test_forms_need_their_csrf_token(admin_user: User, study: Study) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(admin_user)
    answer = client.post(reverse("study-cancel", args=[study.pk]))
    assert answer.status_code == 403
    assert b"This form has expired" in answer.content


def test_a_bug_is_answered_with_a_page_that_needs_no_context(
    admin_user: User, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("advisor.pages.study.views.search_figures", broken)
    client = Client(raise_request_exception=False)
    client.force_login(admin_user)
    answer = client.get(reverse("study-charts", args=[study.pk]))
    assert answer.status_code == 500
    assert b"Internal error" in answer.content


def test_a_database_that_cannot_be_used_for_the_moment_is_no_bug(
    admin_user: User, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = sqlite3.OperationalError("database is locked")
    locked.sqlite_errorcode = sqlite3.SQLITE_BUSY
    wrong = sqlite3.OperationalError("no such column")
    wrong.sqlite_errorcode = sqlite3.SQLITE_ERROR
    causes = [(psycopg.errors.AdminShutdown("it restarts"), 503), (locked, 503), (wrong, 500)]
    client = Client(raise_request_exception=False)
    client.force_login(admin_user)
    # The one fails in a view, the others before any view, with the session.
    session = "django.contrib.sessions.backends.db.SessionStore.load"
    for name in ("advisor.pages.study.views.search_figures", session):
        for cause, status in causes:

            def fail(*_: object, cause: Exception = cause) -> None:
                raise OperationalError from cause

            with monkeypatch.context() as patched:
                patched.setattr(name, fail)
                page = client.get(reverse("study-charts", args=[study.pk]))
                answer = client.get("/api/v1/studies/")
            assert page.status_code == status
            if status == 503:
                assert page["Retry-After"] == "10"
                assert b"Database unavailable" in page.content
            if name.endswith("load"):
                code = {503: "database_unavailable", 500: "internal_error"}[status]
                assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
            else:
                assert answer.status_code == 200

"""A recommendation as a file: formats, other servers, and no text before it is acknowledged."""

from __future__ import annotations

import html
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from advisor.tests import factories
from tuning.models import Recommendation, Study

pytestmark = pytest.mark.django_db

BLANK = {"format": "cnf", "current": ""}
CURRENT = "[mysqld]\nport = 3306\ninnodb_io_capacity = 200\n"


def address(found: Recommendation) -> str:
    return reverse("study-export", args=[found.study_id, found.pk])


def post(client: Client, found: Recommendation, **fields: Any) -> Any:
    return client.post(address(found), BLANK | fields)


def text_of(answer: Any) -> str:
    return html.unescape(answer.content.decode())


def of_class(study: Study, given: str) -> Recommendation:
    return study.recommendations.get(durability=given)


@pytest.fixture
def safe() -> Recommendation:
    return factories.measured_study(blocks=1).recommendations.get()


def test_the_recommended_file_is_downloaded_with_a_link_to_its_study(
    admin_client: Client, safe: Recommendation
) -> None:
    answer = admin_client.get(reverse("study-my-cnf", args=[safe.study_id, safe.pk]))
    assert answer["Content-Type"].startswith("text/plain")
    assert answer["Content-Disposition"] == 'attachment; filename="my.cnf"'
    assert f"http://testserver/studies/{safe.study_id}/" in answer.content.decode()
    page = admin_client.get(reverse("study-detail", args=[safe.study_id]))
    assert answer.content.decode() in text_of(page), "shown as it is downloaded"


@pytest.mark.parametrize(
    ("name", "file", "part"),
    [
        ("cnf", "my.cnf", "innodb_io_capacity = 4000"),
        ("sql", "set-persist.sql", "SET PERSIST"),
        ("rollback-cnf", "rollback.cnf", "Rollback"),
        ("rollback-sql", "rollback.sql", "RESET PERSIST"),
        ("json", "recommendation.json", '"format": "mysql-oltp-tuning-advisor/export"'),
    ],
)
def test_every_format_is_shown_and_downloaded(
    admin_client: Client, safe: Recommendation, name: str, file: str, part: str
) -> None:
    shown = post(admin_client, safe, format=name)
    assert shown.status_code == 200
    assert part in text_of(shown)
    loaded = post(admin_client, safe, format=name, action="download")
    assert loaded["Content-Disposition"] == f'attachment; filename="{file}"'
    assert loaded.content.decode() in text_of(shown)


def test_a_diff_takes_the_pasted_or_the_uploaded_file(
    admin_client: Client, safe: Recommendation
) -> None:
    pasted = text_of(post(admin_client, safe, format="diff", current=CURRENT))
    assert "-innodb_io_capacity = 200" in pasted
    upload = SimpleUploadedFile("my.cnf", CURRENT.encode())
    loaded = post(admin_client, safe, format="diff", current_file=upload, action="download")
    assert "+innodb_io_capacity = 4000" in loaded.content.decode()
    # What was pasted stays in the form.
    assert "port = 3306\ninnodb_io_capacity = 200\n</textarea>" in pasted


@pytest.mark.parametrize(
    ("fields", "field", "error"),
    [
        ({"format": "diff"}, "current", "a diff needs your current my.cnf"),
        ({"format": "diff", "current": "[mysqld\n"}, "current", "Line 1: "),
    ],
)
def test_what_is_wrong_stands_beside_its_field(
    admin_client: Client, safe: Recommendation, fields: dict[str, str], field: str, error: str
) -> None:
    answer = post(admin_client, safe, **fields)
    assert answer.status_code == 400
    text = text_of(answer)
    place = text.index(f'id="id_{safe.pk}_{field}_error"')
    assert error in text[place : text.index("</ul>", place)]
    assert "<pre" not in text


@pytest.mark.parametrize(("given", "line"), [("D1", "sync_binlog = 0"), ("D2", "doublewrite")])
def test_no_text_of_an_unsafe_file_is_seen_before_it_is_acknowledged(
    admin_client: Client, given: str, line: str
) -> None:
    study = factories.unsafe_study(blocks=1)
    found = of_class(study, given)
    page = text_of(admin_client.get(reverse("study-detail", args=[study.pk])))
    card = page[page.index(f'id="recommendation-{found.pk}"') :].partition("</section>")[0]
    assert line in card, "what may be lost is said"
    assert "may lose" in card
    assert "[mysqld]" not in card
    assert reverse("study-my-cnf", args=[study.pk, found.pk]) not in card

    for fields in ({}, {"action": "download"}, {"format": "sql"}, {"format": "rollback-cnf"}):
        refused = post(admin_client, found, **fields)
        assert refused.status_code == 400
        assert "You must accept this to get the file." in text_of(refused)
        assert "<pre" not in text_of(refused)
    agreed = post(admin_client, found, acknowledge="on", action="download")
    assert agreed.status_code == 200
    assert "WARNING" in agreed.content.decode()
    assert line in agreed.content.decode()


def test_the_plain_address_of_an_unsafe_file_asks_first(admin_client: Client) -> None:
    study = factories.unsafe_study(blocks=1)
    found = of_class(study, "D2")
    plain = reverse("study-my-cnf", args=[study.pk, found.pk])
    for query in ({}, {"acknowledge": "D1"}, {"acknowledge": "yes"}):
        answer = admin_client.get(plain, query)
        assert answer.status_code == 409
        assert "I accept durability class D2" in text_of(answer)
        assert "[mysqld]" not in text_of(answer)
    assert admin_client.get(plain, {"acknowledge": "D2"}).status_code == 200
